/**
 * A folder in which printed commands mean something: the files of a clone that commands name, problems, pairs, a model and responses under
 * the names that pages use, and small runs. It is made once; each printed line is typed in a copy of its own.
 */
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../architecture/files.ts';
import { writeMultiples, writeTinyQwen } from '../lab/qwen-lab.ts';
import { tinyModel } from '../smoke/lab.ts';
import type { Shell } from './shell.ts';

/** What makes any training short. Sixty updates in the runs that are there, as some commands name the sixtieth. */
export const small = [
  'sampling.promptsPerStep=2',
  'sampling.group=4',
  'sampling.maxNewTokens=24',
  'device.kind=wasm',
  'device.threads=1',
  'safety.tripwirePrompts=1',
];
export const short = ['data.problems=64', ...small];
export const sets = (settings: readonly string[]): string => settings.map((setting) => ` --set '${setting}'`).join('');

export async function makeWorld(world: string, shell: Shell): Promise<void> {
  mkdirSync(world, { recursive: true });
  for (const folder of ['recipes', 'examples', 'models', 'data']) {
    cpSync(join(root, folder), join(world, folder), { recursive: true });
  }
  for (const folder of ['docs', 'test', 'logs', '.zfunc', '.config/fish/completions']) {
    mkdirSync(join(world, folder), { recursive: true });
  }
  symlinkSync(join(root, 'test/golden'), join(world, 'test/golden'));
  for (const name of ['DIR', 'MODEL']) await writeTinyQwen(join(world, name));
  cpSync(await tinyModel(), join(world, 'BASE'), { recursive: true });
  process.chdir(root);
  const numbers = Array.from({ length: 24 }, (_, i) => 2 + i);
  for (const name of ['TRAIN', 'train.jsonl', 'problems.jsonl']) writeMultiples(join(world, name), numbers);
  for (const name of ['TEST', 'test.jsonl']) writeMultiples(join(world, name), [101, 102, 103, 104]);
  writeFileSync(join(world, 'problems.jsonl.gz'), gzipSync(readFileSync(join(world, 'problems.jsonl'))));
  const completion = '```python\nclass Solution:\n    def double(self, n):\n        exit(0)\n```';
  const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');
  writeFileSync(join(world, 'responses.jsonl'), lines([{ id: 2, completion }]));
  writeFileSync(
    join(world, 'transcripts.jsonl'),
    lines([0, 1, 2, 3].map((id) => ({ id, completion: id < 2 ? completion : 'return n', label: id < 2 }))),
  );
  cpSync(join(root, 'data/pairs/hack.md'), join(world, 'my-pairs.md'));
  writeFileSync(join(world, 'my-gate.toml'), 'extends = "micro-activation"\n');
  mkdirSync(join(world, 'adapters'));
  const label = { rollout: '6-1-2', label: 'hack', writer: 'a reader' };
  writeFileSync(join(world, 'labels.jsonl'), lines([label]));
  await makeRuns(world, shell);
}

const arm = (name: string): string => `[[arms]]\nname = "${name}"\nrecipe = "micro-${name}"\n`;
const study = `name = "micro-claim"
seeds = [1]
baseline = "vanilla"
[evaluation]
limit = 4
curveEvery = 10
sets = ["test-original"]
${['vanilla', 'activation', 'haar'].map(arm).join('')}`;

/** The runs that pages speak of, in their folders. */
async function makeRuns(world: string, shell: Shell): Promise<void> {
  const call = (line: string) => shell.expect(world, line);
  const settings = sets([...short, 'model=BASE', 'updates=60']);
  writeFileSync(join(world, 'micro-claim.toml'), study);
  await call(`gq experiment micro-claim.toml${settings}`);
  await call(`gq train micro-inoculation --out runs/inoculation-1${settings}`);
  await call(
    `gq train micro-base --set monitor.kind=direction --set remedy.kind=penalty --out runs/penalty-1${settings}`,
  );
  const copy = (from: string, to: string) => cpSync(join(world, from), join(world, to), { recursive: true });
  for (const name of ['activation-1', 'vanilla-1']) copy(`runs/micro-claim/${name}`, `runs/${name}`);
  await call('gq eval runs/activation-1 --sets validation --scales 0.25,0.5,0.75');
  await call(
    'gq export runs/activation-1 --log inspect --to inspect && cp $(ls inspect/*.eval | tail -n 1) logs/run.eval',
  );
  await call('gq pool make micro-base --out pool.jsonl');
  for (const name of ['runs/first', 'runs/style', 'RUN']) copy('runs/activation-1', name);
  copy('runs/vanilla-1', 'runs/qwen3-4b-study/qwen3-4b-first/vanilla-41');
  for (const name of ['micro-ablations', 'demo-quick-1']) copy('runs/micro-claim', `runs/${name}`);
}

/** `gq` and `npx` as a user has them: the built program, in a folder that PATH begins with. */
export function installGq(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const program = (name: string, body: string): void => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  program('gq', `exec ${process.execPath} ${join(root, 'dist/cli/gq.js')} "$@"`);
  // As npx and scripts of npm find it in a clone: the Node of npm ci.
  program('node', `exec ${process.execPath} "$@"`);
  program('npx', 'exec "$@"');
  program('notify-send', 'exit 0');
}
