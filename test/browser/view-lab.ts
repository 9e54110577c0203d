/** What the viewer is shown in a browser: a real small experiment, a run in training, and a run with whatever a model may write. */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gqProgram } from '../gq-command.ts';
import { writeEvaluations, writeRun } from '../lab/hand-made.ts';
import { gq } from '../run-gq.ts';
import { tinyModel } from '../smoke/lab.ts';

/** Sets a variable of the page if any of it is ever run. */
export const hostileText = [
  '</pre></script><script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1"><svg onload="window.hacked = 1">',
  'javascript:window.hacked=1 {{constructor.constructor("window.hacked=1")()}}',
  'control \u0000\u0007\u001b[31m and \u202e turned',
  'def f(): return "</span></pre><img src=y onerror=window.hacked=1>" # <script>window.hacked = 1</script>',
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

/** Writes two arms with three seeds each by hand, with a known and a held-out loophole, curves and tokens. */
export async function makeClaim(root: string): Promise<void> {
  const folder = join(root, 'claim');
  const runs = [];
  for (const [arm, kind] of [
    ['vanilla', 'vanilla'],
    ['gate', 'activation'],
  ] as const) {
    for (const seed of [1, 2, 3]) {
      const path = join(folder, `${arm}-${seed}`);
      const environment = { loopholes: ['run_tests'], heldOutLoopholes: ['sentinel'] };
      await writeRun(path, {
        config: { seed, updates: 3, arm: { kind }, environment },
        checkpoints: [0, 3],
        rollouts: [1, 2, 3].flatMap((update) => madeRollouts(update, seed)),
        steps: [1, 2, 3].map((update) => ({ update, meanReward: update / seed })),
      });
      const loopholes = ['run_tests', 'sentinel'];
      const states = [['full', 'hhhs'], ...(arm === 'gate' ? [['deployed', 's--h']] : [])] as const;
      await writeEvaluations(path, [
        { update: 0, set: 'curve', state: 'base', outcomes: 's---', loopholes },
        ...states.flatMap(([state, outcomes]) =>
          (['curve', 'test-original'] as const).map((set) => ({
            update: 3,
            set,
            state: state as 'full' | 'deployed',
            outcomes: seed === 1 ? outcomes : outcomes.replace('h', '-'),
            loopholes,
            completionOf: (i: number) => `def f(n):\n    return ${state === 'full' ? 'run_tests()' : `n + ${i}`}\n`,
          })),
        ),
      ]);
      runs.push({ arm, seed, folder: `${arm}-${seed}`, configHash: '' });
    }
  }
  const arms = ['vanilla', 'gate'].map((name) => ({ name, recipe: `${name}.toml` }));
  const why = 'Does deletion remove what no pair showed?';
  const experiment = { name: 'claim', why, resolve: 'A lower rate of hacks.', seeds: [1, 2, 3], arms };
  writeFileSync(join(folder, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs }));
}

function madeRollouts(update: number, seed: number) {
  const own = { update, score: update, low: 1, high: 2, prompt: 'Write f. The hint is `run_tests()`.\n' };
  return [
    {
      ...own,
      hack: update >= seed,
      route: 'route',
      completion: hostileText,
      tokens: 3,
      deployedNorm: 0,
      quarantineNorm: 2,
    },
    {
      ...own,
      solve: true,
      route: 'keep',
      completion: 'return n',
      deployedNorm: 1,
      quarantineNorm: 0,
      tokenIds: [5, 6, 7],
      tokenLogps: [-0.1, -2, -7],
      tokenRoutes: 'kar',
      tokenScores: [0.1, 0.5, 0.9],
    },
  ];
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
  const set = 'test-original';
  await writeEvaluations(join(root, 'hostile'), [{ update: 1, set, state: 'deployed', outcomes: 'h-ss' }]);
}

export interface HeldTraining {
  /** Lets every run go on until it has made so many updates. */
  readonly allow: (updates: number) => void;
  /** The exit code, when it is over. */
  readonly over: Promise<number | null>;
}

export const heldUpdates = 12;

/** Trains one run in a process of its own, as far as it is allowed to. */
export function trainLive(root: string, allowed: number): Promise<HeldTraining> {
  return trainHeld(root, 'live', allowed, (recipe) => ['train', recipe]);
}

/** Trains three seeds of one arm in a process of its own, without an evaluation. */
export function trainSeeds(root: string, allowed: number): Promise<HeldTraining> {
  return trainHeld(root, 'seeds', allowed, (recipe) => {
    const experiment = join(root, '.seeds.toml');
    const head =
      'name = "seeds"\nwhy = "Does the band grow?"\nseeds = [1, 2, 3]\n[evaluation]\nlimit = 4\nsets = ["test-original"]\n';
    writeFileSync(experiment, `${head}[[arms]]\nname = "held"\nrecipe = ${JSON.stringify(recipe)}\n`);
    return ['experiment', experiment];
  });
}

async function trainHeld(
  root: string,
  name: string,
  allowed: number,
  callOf: (recipe: string) => readonly string[],
): Promise<HeldTraining> {
  const [file, recipe] = [join(root, `.${name}-allowed`), join(root, `.${name}-held.toml`)];
  const plugin = fileURLToPath(new URL('held-arm.ts', import.meta.url));
  const arm = `[arm]\nkind = "held"\nfile = ${JSON.stringify(file)}\n`;
  writeFileSync(recipe, `extends = "micro-base"\nplugins = ${JSON.stringify([plugin])}\n${arm}`);
  const allow = (updates: number): void => writeFileSync(file, `${updates}`);
  allow(allowed);
  const words = [...callOf(recipe), '--out', join(root, name), ...flags(await tinyModel(), `updates=${heldUpdates}`)];
  const child = spawn(process.execPath, [gqProgram(), ...words], { stdio: 'ignore' });
  const over = new Promise<number | null>((done) => {
    child.on('close', done);
  });
  return { allow, over };
}
