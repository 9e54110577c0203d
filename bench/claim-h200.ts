/**
 * The study of recipes/qwen3-4b-claim.toml as a whole, on a random model of Qwen3-4B's shape: a few updates of every arm, killed once
 * (SIGKILL) in the middle of one and continued, evaluated, and that arm trained again without a break to compare the bytes.
 * Random weights never earn a reward, so each group is shown a solve and a hack, as a warm start does: unlike in the study, labels choose
 * these demonstrations. Problems of the file are tested on; trained on are generated ones of their lengths (bench/claim-data.ts).
 * Prints for each arm what it learned from, seconds an update and the disk of a run.
 *   node bench/claim-h200.ts --problems FILE.jsonl[.gz] [--to DIR] [--model DIR] [--shape 4b] [--device cuda] [--arms a,b] [--jobs 1]
 *                            [--killed symmetric] [--updates 3] [--tokens 64] [--train 48] [--test 8] [--set key=value] [--json FILE]
 * The model is made if its folder is absent. Called again with the same DIR after it was cut off, it goes on; with more than one job the
 * comparison run goes beside the others. Without a GPU: --shape tiny --device wasm --updates 3 --tokens 8 --set sampling.promptsPerStep=4
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isTraining } from '../src/run/index.ts';
import { gqProgram } from '../test/gq-command.ts';
import { fingerprint } from '../test/resume/kill.ts';
import { writeDemonstrations, writeProblems } from './claim-data.ts';
import { armTable, lacksOf, reportOf } from './claim-report.ts';

const { values } = parseArgs({
  options: {
    problems: { type: 'string' },
    to: { type: 'string', default: 'runs/claim-h200' },
    model: { type: 'string' },
    shape: { type: 'string', default: '4b' },
    device: { type: 'string', default: 'cuda' },
    arms: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    killed: { type: 'string', default: 'symmetric' },
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
const home = resolve(values.to);
const model = resolve(values.model ?? join(home, 'model'));
const [updates, jobs] = [Number(values.updates), Number(values.jobs)];
if (!(updates >= 2)) throw new Error(`claim-h200: expected --updates of at least 2, found ${values.updates}`);
if (!(jobs >= 1)) throw new Error(`claim-h200: expected --jobs of at least 1, found ${values.jobs}`);
mkdirSync(home, { recursive: true });

if (!existsSync(model)) {
  const { status } = spawnSync(process.execPath, ['bench/make-model.ts', '--to', model, '--shape', values.shape], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`claim-h200: bench/make-model.ts ended with ${status}`);
}

const settings = [
  `model=${model}`,
  ...writeProblems(values.problems, home, Number(values.train), Number(values.test)),
  `device.kind=${values.device}`,
  `updates=${updates}`,
  `sampling.maxNewTokens=${values.tokens}`,
  'output.checkpointEvery=1',
  `teacher.pool=${writeDemonstrations(home)}`,
  `teacher.offStep=${updates}`,
  ...values.set,
];

function startExperiment(out: string, arms: string | undefined, many: number): ChildProcess {
  const chosen = arms === undefined ? [] : ['--arms', arms];
  const set = settings.flatMap((setting) => ['--set', setting]);
  const words = ['--seeds', `${seed}`, '--jobs', `${many}`, '--out', join(home, out), ...chosen, ...set];
  return spawn(process.execPath, [gqProgram(), 'experiment', recipe, ...words], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Waits for a process; returns its exit code, or null if it was killed. */
function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((done, fail) => child.on('error', fail).on('close', done));
}

async function runToTheEnd(out: string, arms: string | undefined, many: number): Promise<void> {
  const code = await ended(startExperiment(out, arms, many));
  if (code !== 0) throw new Error(`claim-h200: gq experiment ended with ${code}`);
}

const runOf = (out: string, arm: string): string => join(home, out, `${arm}-${seed}`);
const isSealed = (run: string): boolean => existsSync(join(run, 'seal.json'));
const hasFirstUpdate = (run: string): boolean =>
  existsSync(join(run, 'checkpoints', '00001', 'adapter.safetensors')) || isSealed(run);

const runsIn = (experiment: string): string[] =>
  readdirSync(experiment).filter((name) => existsSync(join(experiment, name, 'manifest.json')));

/** Kills the processes that train runs of an experiment: each leads a group of its own, and would save if only its parent died. */
function killRuns(experiment: string): void {
  for (const run of runsIn(experiment).map((name) => join(experiment, name))) {
    if (!isTraining(run)) continue;
    const { pid } = JSON.parse(readFileSync(join(run, 'lock.json'), 'utf8'));
    process.kill(pid, 'SIGKILL');
  }
}

/** Kills the experiment, once in the life of the folder, when the arm has saved its first update and not its last. */
async function killOnce(): Promise<void> {
  const [done, run] = [join(home, 'killed.json'), runOf('claim', values.killed)];
  if (existsSync(done)) return;
  if (!hasFirstUpdate(run)) {
    const child = startExperiment('claim', values.arms, jobs);
    const watch = setInterval(() => {
      if (!hasFirstUpdate(run)) return;
      clearInterval(watch);
      child.kill('SIGKILL');
      killRuns(join(home, 'claim'));
    }, 5);
    const code = await ended(child);
    clearInterval(watch);
    if (code !== null) throw new Error(`claim-h200: the experiment ended with ${code} before it could be killed`);
  }
  if (isSealed(run)) throw new Error(`claim-h200: ${run} came to its end before it could be killed; remove ${home}`);
  const saved = readdirSync(join(run, 'checkpoints')).sort();
  writeFileSync(done, `${JSON.stringify({ arm: values.killed, saved })}\n`);
  console.log(`killed while ${values.killed} had saved ${saved.join(', ')}`);
}

/** Trains the killed arm without a break; one that was cut off begins anew. */
async function runUnbroken(): Promise<void> {
  if (!isSealed(runOf('whole', values.killed))) rmSync(join(home, 'whole'), { recursive: true, force: true });
  await runToTheEnd('whole', values.killed, 1);
}

/** Names of the files whose bytes follow from the config and differ between two runs. */
async function differences(one: string, other: string): Promise<{ files: number; differing: string[] }> {
  const [found, expected] = [await fingerprint(one), await fingerprint(other)];
  const names = [...new Set([...found.keys(), ...expected.keys()])];
  return { files: names.length, differing: names.filter((name) => found.get(name) !== expected.get(name)) };
}

await killOnce();
if (jobs === 1) {
  await runToTheEnd('claim', values.arms, 1);
  await runUnbroken();
} else await Promise.all([runToTheEnd('claim', values.arms, jobs), runUnbroken()]);

const { files, differing } = await differences(runOf('claim', values.killed), runOf('whole', values.killed));
const arms = runsIn(join(home, 'claim')).map((name) =>
  reportOf(join(home, 'claim', name), name.slice(0, -`-${seed}`.length)),
);
const lacking = arms.flatMap(lacksOf);

console.log(`\n${armTable(arms)}\n`);
const outcome = differing.length === 0 ? 'none differs' : `${differing.join(', ')} differ`;
console.log(`${values.killed}, killed and continued, beside an unbroken run: ${files} files, ${outcome}`);
console.log(lacking.length === 0 ? 'every arm had gradients, every gate both routes' : lacking.join('\n'));
const { shape, device, killed, tokens } = values;
const report = { shape, device, updates, jobs, tokens: Number(tokens), killed, files, differing, lacking, arms };
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
if (differing.length > 0 || lacking.length > 0) process.exitCode = 1;
