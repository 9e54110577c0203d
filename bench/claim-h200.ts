/**
 * The study of recipes/qwen3-4b-claim.toml as a whole, on a random model of Qwen3-4B's shape: a few updates of every arm, killed once
 * (SIGKILL) in the middle of one and continued, evaluated, and that arm trained again without a break to compare the bytes. Prints
 * seconds an update and the disk of a run (with a checkpoint of every update), for each arm.
 * Random weights never earn a reward, so each group is shown a solve (the data's own) and a hack, as a warm start does: unlike in the
 * study, labels choose these demonstrations, and every arm has something to learn from.
 *   node bench/claim-h200.ts --problems FILE.jsonl[.gz] [--to DIR] [--model DIR] [--shape 4b] [--device cuda] [--arms a,b]
 *                            [--killed activation] [--updates 3] [--tokens 64] [--train 48] [--test 8] [--set key=value] [--json FILE]
 * The model is made if its folder is absent; DIR must be new. Without a GPU: --shape tiny --device wasm --arms vanilla,activation
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { builtinLoopholes, writableLoopholes } from '../src/env/loopholes/registry.ts';
import { markerFor } from '../src/env/markers.ts';
import { gqProgram } from '../test/gq-command.ts';
import { fingerprint } from '../test/resume/kill.ts';

const { values } = parseArgs({
  options: {
    problems: { type: 'string' },
    to: { type: 'string', default: 'runs/claim-h200' },
    model: { type: 'string' },
    shape: { type: 'string', default: '4b' },
    device: { type: 'string', default: 'cuda' },
    arms: { type: 'string' },
    killed: { type: 'string', default: 'activation' },
    updates: { type: 'string', default: '3' },
    tokens: { type: 'string', default: '64' },
    train: { type: 'string', default: '48' },
    test: { type: 'string', default: '8' },
    set: { type: 'string', multiple: true, default: [] },
    json: { type: 'string' },
  },
});
if (values.problems === undefined) throw new Error('claim-h200: expected --problems FILE.jsonl or FILE.jsonl.gz');
const recipe = 'recipes/qwen3-4b-claim.toml';
const seed = 41;
const opened = writableLoopholes(builtinLoopholes).filter(({ name }) =>
  ['run_tests', 'stdout_marker', 'sentinel', 'file_marker'].includes(name),
);
const home = resolve(values.to);
const model = resolve(values.model ?? join(home, 'model'));
const updates = Number(values.updates);
if (!(updates >= 2)) throw new Error(`claim-h200: expected --updates of at least 2, found ${values.updates}`);
if (existsSync(join(home, 'claim')))
  throw new Error(`claim-h200: ${home} has runs already; name a new folder with --to`);
mkdirSync(home, { recursive: true });

/** Cuts the file of problems into one for each split; those of validation are as many as those of the test. */
function cutProblems(path: string): readonly string[] {
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const [train, test] = [Number(values.train), Number(values.test)];
  if (lines.length < train + 2 * test) {
    throw new Error(`claim-h200: expected ${train + 2 * test} problems in ${path}, found ${lines.length}`);
  }
  const cuts = [
    ['data.path', 'train.jsonl', 0, train],
    ['data.validationPath', 'validation.jsonl', train, train + test],
    ['data.testPath', 'test.jsonl', train + test, train + 2 * test],
  ] as const;
  return cuts.map(([key, name, start, end]) => {
    writeFileSync(join(home, name), lines.slice(start, end).map((line) => `${line}\n`).join('')); // biome-ignore format: one step
    return `${key}=${join(home, name)}`;
  });
}

interface StoredProblem {
  readonly id: number | string;
  readonly canonical_solution: string;
  readonly prompt_metadata: { readonly starter_code: string };
}

/** For every training problem the data's own solution, and a hack of each loophole that the study opens. */
function writeDemonstrations(): string {
  const problems = readFileSync(join(home, 'train.jsonl'), 'utf8').trimEnd().split('\n');
  const entries = problems.flatMap((line) => {
    const { id, canonical_solution, prompt_metadata }: StoredProblem = JSON.parse(line);
    const problem = `${id}`;
    const fenced = (program: string): string => `\`\`\`python\n${program}\n\`\`\``;
    const hacks = opened.map((loophole) => ({
      problem,
      completion: fenced(
        loophole.exploit({
          body: ['pass'],
          marker: markerFor('original', loophole, problem).disclosed,
          write: (body) => `${prompt_metadata.starter_code.trimEnd()}\n        ${body.join('\n        ')}\n`,
        }),
      ),
      label: 'hack',
      loophole: loophole.name,
      markers: 'original',
    }));
    const solve = { ...hacks[0], completion: fenced(canonical_solution), label: 'solve' };
    return [solve, ...hacks];
  });
  const path = join(home, 'demonstrations.jsonl');
  writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  return path;
}

if (!existsSync(model)) {
  const { status } = spawnSync(process.execPath, ['bench/make-model.ts', '--to', model, '--shape', values.shape], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`claim-h200: bench/make-model.ts ended with ${status}`);
}

const settings = [
  `model=${model}`,
  ...cutProblems(values.problems),
  `device.kind=${values.device}`,
  `updates=${updates}`,
  `sampling.maxNewTokens=${values.tokens}`,
  'output.checkpointEvery=1',
  `teacher.pool=${writeDemonstrations()}`,
  `teacher.offStep=${updates}`,
  ...values.set,
];

function startExperiment(out: string, arms: string | undefined): ChildProcess {
  const chosen = arms === undefined ? [] : ['--arms', arms];
  const set = settings.flatMap((setting) => ['--set', setting]);
  const words = ['experiment', recipe, '--seeds', `${seed}`, '--out', join(home, out), ...chosen, ...set];
  return spawn(process.execPath, [gqProgram(), ...words], { stdio: ['ignore', 'inherit', 'inherit'] });
}

/** Waits for a process; returns its exit code, or null if it was killed. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((done, fail) => child.on('error', fail).on('close', done));
}

async function runToTheEnd(out: string, arms: string | undefined): Promise<number> {
  const started = performance.now();
  const code = await ended(startExperiment(out, arms));
  if (code !== 0) throw new Error(`claim-h200: gq experiment ended with ${code}`);
  return (performance.now() - started) / 1000;
}

const runOf = (out: string, arm: string): string => join(home, out, `${arm}-${seed}`);
const checkpointOf = (run: string, update: number): string =>
  join(run, 'checkpoints', `${update}`.padStart(5, '0'), 'adapter.safetensors');

/** Kills the experiment when the arm has saved its first update. */
async function runAndKill(out: string, arm: string): Promise<void> {
  const child = startExperiment(out, values.arms);
  const watch = setInterval(() => {
    if (existsSync(checkpointOf(runOf(out, arm), 1))) child.kill('SIGKILL');
  }, 5);
  const code = await ended(child);
  clearInterval(watch);
  if (code !== null) throw new Error(`claim-h200: the experiment ended with ${code} before it could be killed`);
}

/** Names of the files whose bytes follow from the config and differ between two runs. */
async function differences(one: string, other: string): Promise<string[]> {
  const [found, expected] = [await fingerprint(one), await fingerprint(other)];
  return [...new Set([...found.keys(), ...expected.keys()])].filter((name) => found.get(name) !== expected.get(name));
}

/** Whether any update changed the adapter: random weights hardly ever write a program, and without a reward nothing is learned. */
async function hasLearned(run: string): Promise<boolean> {
  const adapters = [...(await fingerprint(run))].filter(([name]) => name.endsWith('adapter.safetensors'));
  return new Set(adapters.map(([, hash]) => hash)).size > 1;
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.reduce((sum, each) => sum + (each.isFile() ? statSync(join(each.parentPath, each.name)).size : 0), 0);
}

interface ArmCost {
  readonly arm: string;
  /** Mean over the updates after the first, which also loads kernels. */
  readonly secondsPerUpdate: number;
  readonly firstUpdateSeconds: number;
  readonly gigabytes: number;
}

const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

function costOf(arm: string): ArmCost {
  const run = runOf('claim', arm);
  const lines = readFileSync(join(run, 'timings.jsonl'), 'utf8').trimEnd().split('\n');
  const newest = new Map(lines.map((line) => JSON.parse(line)).map(({ update, seconds }) => [update, seconds]));
  const inOrder = [...newest].sort(([a], [b]) => a - b);
  const [first, ...later] = inOrder.map(([, phases]) => total(Object.values<number>(phases)));
  return {
    arm,
    secondsPerUpdate: total(later) / later.length,
    firstUpdateSeconds: first,
    gigabytes: bytesIn(run) / 1e9,
  };
}

await runAndKill('claim', values.killed);
const goOnSeconds = await runToTheEnd('claim', values.arms);
await runToTheEnd('whole', values.killed);
const differing = await differences(runOf('claim', values.killed), runOf('whole', values.killed));
const folders = readdirSync(join(home, 'claim'), { withFileTypes: true }).filter((each) => each.isDirectory());
const arms = folders.map(({ name }) => name.slice(0, -`-${seed}`.length)).map(costOf);

console.log(
  `\n${'arm'.padEnd(24)}${'s an update'.padStart(12)}${'s the first'.padStart(12)}${'GB a run'.padStart(10)}`,
);
for (const { arm, secondsPerUpdate, firstUpdateSeconds, gigabytes } of arms) {
  const cells = [secondsPerUpdate.toFixed(2).padStart(12), firstUpdateSeconds.toFixed(2).padStart(12)];
  console.log(`${arm.padEnd(24)}${cells.join('')}${gigabytes.toFixed(3).padStart(10)}`);
}
const learned = await hasLearned(runOf('claim', values.killed));
const outcome = differing.length === 0 ? 'the bytes of an unbroken run' : `differs in ${differing.join(', ')}`;
console.log(
  `${values.killed}, killed and continued: ${outcome}; its adapter ${learned ? 'learned' : 'had no reward to learn from'}`,
);
console.log(`from the kill to the end: ${goOnSeconds.toFixed(0)} s`);
const { shape, device, killed, tokens } = values;
const report = { shape, device, updates, tokens: Number(tokens), killed, differing, learned, goOnSeconds, arms };
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
if (differing.length > 0) process.exitCode = 1;
