/** What the viewer is shown in a browser: a real small experiment, a run in training, and a run with whatever a model may write. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gqProgram } from '../gq-command.ts';
import { writeRun } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';

/** Sets a variable of the page if any of it is ever run. */
const hostileText = [
  '</pre></script><script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1"><svg onload="window.hacked = 1">',
  'javascript:window.hacked=1 {{constructor.constructor("window.hacked=1")()}}',
  'control \u0000\u0007\u001b[31m and \u202e turned',
].join('\n');

const longText = `long ${'x'.repeat(2_000_000)} end`;

const settings = (model: string): string[] => [
  `model=${model}`,
  'data.problems=64',
  'sampling.promptsPerStep=6',
  'sampling.group=4',
  'output.checkpointEvery=2',
  'output.storeTokens=true',
  'device.threads=1',
];

const flags = (model: string, ...more: readonly string[]): string[] =>
  [...settings(model), ...more].flatMap((setting) => ['--set', setting]);

/** Trains two arms of the tiny model for six updates and evaluates them. */
export async function makeExperiment(root: string): Promise<void> {
  const recipe = join(root, '.tryout.toml');
  const arm = (name: string, set: readonly string[] = []): string =>
    `[[arms]]\nname = "${name}"\nrecipe = "${resolve('recipes', `micro-${name}.toml`)}"\nset = ${JSON.stringify(set)}\n`;
  const head = 'name = "tryout"\nwhy = "Does the page show what was trained?"\nseeds = [1]\n';
  const evaluation = '[evaluation]\nlimit = 12\ncurveEvery = 2\nsets = ["test-original"]\n';
  const arms = [arm('vanilla'), arm('activation', ['arm.warmupRows=8'])];
  writeFileSync(recipe, head + evaluation + arms.join(''));
  const { code, err } = await gq(
    ...['experiment', recipe, '--out', join(root, 'tryout')],
    ...flags(await tinyModel(), 'updates=6'),
  );
  if (code !== 0) throw new Error(err);
}

export async function makeHostile(root: string): Promise<void> {
  mkdirSync(root, { recursive: true });
  const texts = [hostileText, longText, ...Array.from({ length: 500 }, (_, i) => `plain ${i}`)];
  await writeRun(join(root, 'hostile'), {
    config: { seed: 1, updates: 1, arm: { kind: 'activation' } },
    checkpoints: [0, 1],
    rollouts: texts.map((completion, i) => ({
      update: 1,
      hack: i % 3 === 0,
      route: i % 2 === 0 ? 'keep' : 'route',
      score: i / 100,
      low: 1,
      high: 3,
      completion,
      prompt: i === 0 ? hostileText : 'ask',
      problem: i === 0 ? hostileText : `problem-${i}`,
    })),
    steps: [{ update: 1, meanReward: 1 }],
  });
}

/** Trains a run in a process of its own; it is over when the promise is. */
export async function trainLive(root: string): Promise<number | null> {
  const model = await tinyModel();
  const words = [
    'train',
    resolve('recipes', 'micro-vanilla.toml'),
    '--out',
    join(root, 'live'),
    ...flags(model, 'updates=60'),
  ];
  const child = spawn(process.execPath, [gqProgram(), ...words], { stdio: 'ignore' });
  return new Promise((done) => {
    child.on('close', done);
  });
}
