/**
 * Every arm of every experiment of recipes/qwen3-4b-study.toml for a few updates and its evaluation, on a random model of one of Qwen3's
 * shapes: what each took in seconds, memory of the GPU and disk, beside what the plan said, as JSON lines and as CSV. Random weights earn
 * nothing, so each group is shown a solve and a hack, as a warm start does; with `--rewards chance` none is, and answers are paid by chance
 * (bench/paid-by-chance.ts), so that as many are sampled as in the study. Problems of the file are tested on; trained on are generated
 * ones of their lengths (bench/claim-data.ts). Evaluation has no curve, and two sets unless `--sets` names others.
 *   node bench/study-rehearsal.ts --problems FILE.jsonl[.gz] --to DIR --results FILE.jsonl [--model DIR] [--shape 4b] [--device cuda] [--updates 2]
 *     [--tokens 48] [--jobs 1] [--seconds 500] [--experiments seeds,claim] [--arms a,b] [--kill-at 20] [--rank 32] [--train 16] [--test 8]
 *     [--sets test-original] [--rewards chance] [--set key=value]
 *   node bench/study-rehearsal.ts --measure kinds,long --problems FILE --to DIR --results FILE.jsonl [--seconds 560] [any of the above]
 * `--measure`: one after the other in the time of the call, each with a folder, results (FILE-memory.jsonl) and usual values of its own.
 * `memory`: at the shape of 0.6B, completions of 24 tokens. `gate`: one at 4B, up to 15 updates of 512 tokens. `kinds`: a run of each kind
 * that steps have, at 4B, 6 updates of 512 tokens, one of which builds directions again, and evaluations of 119 problems. `long`: three updates
 * of the full preset, paid by chance.
 * At the end each figure is told as a share of what the plan said (`--against`: which), and which are more than 20% apart.
 * The model is made if its folder is absent. Ends before `--seconds` are over. Each arm has its line as it ends; one that the time ended has
 * the updates until then. Others that the results have are not tried again, on another machine neither, so a later call goes on with the rest. Exit code 1: an arm failed, which is named; 75: the time did not suffice for all.
 * `--kill-at N` kills each run (SIGKILL) once it has saved update N and continues it.
 * Checkpoints of finished runs are deleted: a study of this size would fill the disk. Without a GPU: --shape tiny --device wasm
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { planCheckpoints } from '../src/lab/index.ts';
import { assumedUpdateSeconds } from '../src/study/forecast.ts';
import { planStudy, readStudy, type StudyStep } from '../src/study/steps.ts';
import { gqProgram } from '../test/gq-command.ts';
import { writeDemonstrations, writeProblems } from './claim-data.ts';
import { foundNoMemory, reportOf } from './claim-report.ts';
import { peakVariable } from './device-peak.ts';

const { values: given } = parseArgs({
  options: {
    problems: { type: 'string' },
    to: { type: 'string' },
    results: { type: 'string' },
    model: { type: 'string' },
    shape: { type: 'string' },
    device: { type: 'string' },
    updates: { type: 'string' },
    tokens: { type: 'string' },
    jobs: { type: 'string' },
    seconds: { type: 'string' },
    experiments: { type: 'string' },
    arms: { type: 'string' },
    'kill-at': { type: 'string' },
    rank: { type: 'string' },
    train: { type: 'string' },
    test: { type: 'string' },
    sets: { type: 'string' },
    rewards: { type: 'string' },
    measure: { type: 'string' },
    against: { type: 'string' },
    set: { type: 'string', multiple: true },
  },
});
const usual = {
  to: 'runs/study-rehearsal',
  shape: '4b',
  device: 'cuda',
  updates: '2',
  tokens: '48',
  jobs: '1',
  seconds: '500',
  rank: '32',
  train: '16',
  test: '8',
  sets: 'test-original,test-unhinted',
  rewards: 'demonstrations',
  against: 'memory,disk',
};

interface Measurement {
  /** Of the time that is left when it begins. */
  readonly share: number;
  /** Values that are usual then. */
  readonly usual: Readonly<Record<string, string>>;
  readonly set?: readonly string[];
}

const whole = {
  shape: '4b',
  updates: '6',
  tokens: '512',
  test: '119',
  sets: 'test-original',
  against: 'seconds,evaluation,memory,disk',
};

/** What `--measure` may name. */
const measurements: Readonly<Record<string, Measurement>> = {
  memory: {
    share: 0.45,
    usual: {
      shape: '0.6b',
      tokens: '24',
      experiments: 'first,seeds',
      arms: 'vanilla,symmetric,gradient,gradient-token,pair-band',
    },
  },
  gate: { share: 1, usual: { ...whole, updates: '15', experiments: 'seeds', arms: 'gradient' } },
  kinds: {
    share: 1,
    usual: { ...whole, experiments: 'first,seeds,claim,baselines,recall,warm', arms: 'vanilla,symmetric,gradient,gradient-token,own-absorb,oracle,penalty-probe,penalty-judge,gradient-regularisation,oracle-0.4,own-absorb-half-by-labels' }, // biome-ignore format: one line
  },
  long: {
    share: 1,
    usual: { ...whole, ...{ updates: '3', tokens: '1536', train: '96', rewards: 'chance' }, experiments: 'long', arms: 'vanilla,symmetric,gradient' }, // biome-ignore format: one line
    set: ['sampling.promptsPerStep=64', 'sampling.group=4'],
  },
};

/** Does each of them in a process of its own; the code is the worst that any ended with. */
function measureAll(names: readonly string[]): never {
  const { measure: _measure, set = [], ...rest } = given;
  const to = rest.to ?? usual.to;
  const codes = names.map((name) => {
    const own = measurements[name];
    if (own === undefined) throw new Error(`study-rehearsal: --measure knows ${Object.keys(measurements).join(', ')}`);
    const seconds = (Number(rest.seconds ?? usual.seconds) - performance.now() / 1000) * own.share;
    const results = (rest.results ?? join(to, 'results.jsonl')).replace(/(?:\.jsonl)?$/, `-${name}.jsonl`);
    const words = { ...own.usual, ...rest, to: join(to, name), results, seconds: `${Math.max(0, seconds)}` };
    const call = Object.entries(words).flatMap(([key, value]) => [`--${key}`, value]);
    const changes = [...(own.set ?? []), ...set].flatMap((setting) => ['--set', setting]);
    console.log(`${name}: ${results}`);
    return spawnSync(process.execPath, [...process.argv.slice(1, 2), ...call, ...changes], { stdio: 'inherit' }).status ?? 1; // biome-ignore format: one line
  });
  process.exit(codes.find((code) => code !== 0 && code !== 75) ?? Math.max(...codes));
}
if (given.measure !== undefined) measureAll(given.measure.split(','));

const values = { ...usual, set: [], ...given };
if (values.problems === undefined) throw new Error('study-rehearsal: expected --problems FILE.jsonl or FILE.jsonl.gz');
const seed = 41;
const home = resolve(values.to);
const model = resolve(values.model ?? join(home, 'model'));
const results = resolve(values.results ?? join(home, 'results.jsonl'));
const [jobs, seconds] = [values.jobs, values.seconds].map(Number);
const passed = (): number => performance.now() / 1000;
const say = (text: string): void => console.log(`[${passed().toFixed(0)} s] ${text}`);
mkdirSync(home, { recursive: true });

if (!existsSync(join(model, 'config.json'))) {
  const { status } = spawnSync(process.execPath, ['bench/make-model.ts', '--to', model, '--shape', values.shape], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`study-rehearsal: bench/make-model.ts ended with ${status}`);
  say('model made');
}

/** The recipes with a smaller evaluation and adapter, in a folder of their own. */
function copyRecipes(): string {
  const folder = join(home, 'recipes');
  cpSync('recipes', folder, { recursive: true });
  for (const name of readdirSync(folder).filter((each) => each.startsWith('qwen3-4b-'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    const smaller = `[evaluation]\ncurveEvery = 0\nsets = ${JSON.stringify(values.sets.split(','))}\n\n`;
    // What a bar or prediction is about may not be evaluated here.
    const ranked = text.replace(/^rank = 32$/m, `rank = ${values.rank}`).replace(/^set = ".*"\n/gm, '');
    writeFileSync(join(folder, name), ranked.replace(/^\[evaluation\]\n(?:(?!\[).*\n)*/m, smaller));
  }
  return folder;
}

/** Where the rewards of a group come from that differ. */
const rewards: Readonly<Record<string, () => readonly string[]>> = {
  demonstrations: () => ['teacher.makeProblems=0', `teacher.pool=${writeDemonstrations(home)}`, `teacher.offStep=${values.updates}`], // biome-ignore format: one line
  chance: () => ['data.kind=paid-by-chance', `plugins=["${resolve('bench/paid-by-chance.ts')}"]`, 'environment.loopholes=["by_chance"]'], // biome-ignore format: one line
};
const rewarded = rewards[values.rewards];
if (rewarded === undefined) throw new Error(`study-rehearsal: --rewards knows ${Object.keys(rewards).join(', ')}`);

const problems = writeProblems(values.problems, home, Number(values.train), Number(values.test));
// A kind of problems begins the table of data anew.
const settings = [
  `model=${model}`,
  ...rewarded(),
  ...problems,
  `device.kind=${values.device}`,
  `updates=${values.updates}`,
  `sampling.maxNewTokens=${values.tokens}`,
  'sampling.promptsPerStep=8',
  'sampling.group=8',
  `output.checkpointEvery=${values['kill-at'] ?? values.updates}`,
  ...values.set,
];

const isSealed = (run: string): boolean => existsSync(join(run, 'seal.json'));

interface Call {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly text: string;
  /** Of the process's device: what the plan took for it, and the most that was in use. */
  readonly memory: { readonly plannedBytes: number; readonly peakBytes: number } | null;
}

/** Runs a command to its end, or until `stop` says so (SIGKILL) or the time is over (SIGINT: it saves). */
async function called(words: readonly string[], name: string, stop: () => boolean): Promise<Call> {
  const [log, peak] = [join(home, `${name}.log`), join(home, `${name}.memory.json`)];
  rmSync(peak, { force: true });
  const file = openSync(log, 'w');
  const hook = pathToFileURL(resolve('bench/device-peak.ts')).href;
  const child = spawn(process.execPath, ['--import', hook, gqProgram(), ...words], {
    stdio: ['ignore', file, file],
    env: { ...process.env, [peakVariable]: peak },
  });
  closeSync(file);
  const end = setTimeout(() => child.kill('SIGINT'), Math.max(1, 1000 * (seconds - 12 - passed())));
  const watch = setInterval(() => stop() && child.kill('SIGKILL'), 20);
  const { code, signal } = await new Promise<Pick<Call, 'code' | 'signal'>>((done, fail) => {
    child.on('error', fail).on('close', (code, signal) => done({ code, signal }));
  });
  clearInterval(watch);
  clearTimeout(end);
  const memory = existsSync(peak) ? JSON.parse(readFileSync(peak, 'utf8')) : null;
  return { code, signal, text: readFileSync(log, 'utf8'), memory };
}

interface Arm {
  readonly step: StudyStep;
  readonly arm: string;
}

/** Trains and evaluates an arm of a step, and writes what it took. False: others had the GPU's memory, and it is to be tried again. */
async function rehearse({ step, arm }: Arm): Promise<boolean> {
  const experiment = step.plan.experiment.name;
  const run = join(step.directory, `${arm}-${seed}`);
  const set = settings.flatMap((setting) => ['--set', setting]);
  const call = ['experiment', step.recipe, '--seeds', `${seed}`, '--arms', arm, '--out', step.directory, '--jobs', '1', '--pack', '1', ...set]; // biome-ignore format: one line
  const name = `${experiment}-${arm}`;
  const began = passed();
  const killAt = values['kill-at'];
  let killed: number | null = null;
  if (killAt !== undefined && !isSealed(run)) {
    const saved = join(run, 'checkpoints', killAt.padStart(5, '0'), 'adapter.safetensors');
    const { code } = await called(call, `${name}-killed`, () => existsSync(saved));
    killed = code === null ? passed() - began : null;
    say(`${name}: ${killed === null ? `not killed, ended with ${code}` : `killed after update ${killAt}`}`);
  }
  const { code, signal, text, memory } = await called(call, name, () => false);
  const took = passed() - began;
  // A run is sealed before it is evaluated.
  const done = isSealed(run) && code === 0;
  if (!done && jobs > 1 && foundNoMemory(text)) {
    say(`${name}: no memory beside the others, again later`);
    return false;
  }
  const part = step.plan.runs.find((each) => each.arm === arm);
  if (part === undefined) throw new RangeError(`no run of ${arm}`);
  const disk = await planCheckpoints(part.config);
  // By the time alone: what it took until then counts, and the next call goes on with it.
  const ended = code === 75 && existsSync(join(run, 'timings.jsonl'));
  const { gigabytes = null, firstUpdateSeconds = null, seconds: phases = null, gradientNorms = null, routes = null } = done || ended ? reportOf(run, arm) : {}; // biome-ignore format: one line
  const line = {
    ...{
      experiment,
      arm,
      done,
      code,
      updates: done ? Number(values.updates) : (gradientNorms?.length ?? 0),
      secondsUntilKilled: killed,
      seconds: took,
      jobs,
    },
    ...{ evaluations: done ? readdirSync(join(run, 'evaluations')).length : 0, firstUpdateSeconds },
    updateSeconds: phases === null ? null : Object.values(phases).reduce((sum, each) => sum + each, 0),
    assumedUpdateSeconds: step.assumed === undefined ? null : assumedUpdateSeconds(step.assumed, part.config),
    evaluationSeconds: done ? evaluationSecondsOf(run) : null,
    assumedEvaluationSeconds: step.assumed?.evaluationSeconds ?? null,
    ...{ gigabytes, plannedGigabytes: lasting(disk) / 1e9 },
    peakMiB: memory === null ? null : memory.peakBytes / 2 ** 20,
    plannedMiB: memory === null ? null : memory.plannedBytes / 2 ** 20,
    ...{ keep: routes?.keep ?? null, absorb: routes?.absorb ?? null, route: routes?.route ?? null },
    ...{
      gradientNorms,
      phases,
      why: done ? null : ended ? 'no time for the rest' : failureIn({ signal, text }),
    },
  };
  if (done || ended || code !== 75) appendFileSync(results, `${JSON.stringify(line)}\n`);
  for (const name of done ? ['checkpoints', 'initial.safetensors'] : []) {
    rmSync(join(run, name), { recursive: true, force: true });
  }
  if (memory !== null) say(`${name}: ${line.updates} updates, ${line.peakMiB?.toFixed(0)} of ${line.plannedMiB?.toFixed(0)} planned MiB`); // biome-ignore format: one line
  say(`${name}: ${done ? 'done' : 'NOT DONE'}, code ${code}, ${took.toFixed(0)} s${done ? '' : `; ${line.why}`}`);
  return true;
}

const failureIn = ({ signal, text }: Pick<Call, 'signal' | 'text'>): string =>
  `${signal === null ? '' : `ended by ${signal}: `}${text.match(/failed: .*/g)?.at(-1) ?? text.slice(-300)}`;

/** The mean of those after the first, by the times of files: they follow one after another, and before the first the run is saved and sealed. */
function evaluationSecondsOf(run: string): number {
  const names = readdirSync(join(run, 'evaluations'));
  const written = names.map((name) => statSync(join(run, 'evaluations', name)).mtimeMs / 1000);
  return (Math.max(...written) - Math.min(...written)) / (names.length - 1);
}

/** The state before the newest is gone from a finished run. */
function lasting({ mostBytes, stateBytes, checkpoints }: Awaited<ReturnType<typeof planCheckpoints>>): number {
  return mostBytes - (checkpoints < 2 ? 0 : stateBytes);
}

const rowsIn = (path: string): Record<string, unknown>[] =>
  (existsSync(path) ? readFileSync(path, 'utf8') : '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

function writeCsv(): void {
  const columns = ['experiment', 'arm', 'done', 'code', 'updates', 'jobs', 'seconds', 'secondsUntilKilled', 'evaluations', 'firstUpdateSeconds', 'updateSeconds', 'assumedUpdateSeconds', 'evaluationSeconds', 'assumedEvaluationSeconds', 'gigabytes', 'plannedGigabytes', 'peakMiB', 'plannedMiB', 'keep', 'absorb', 'route', 'why']; // biome-ignore format: one line
  const cell = (value: unknown): string => {
    if (typeof value === 'number' && !Number.isInteger(value)) return value.toPrecision(5);
    return `"${`${value ?? ''}`.replaceAll('"', "'").replaceAll('\n', ' ').slice(0, 300)}"`;
  };
  const lines = rowsIn(results).map((row) => columns.map((column) => cell(row[column])).join(','));
  writeFileSync(results.replace(/\.jsonl$/, '.csv'), `${[columns.join(','), ...lines].join('\n')}\n`);
}

const study = readStudy(join(copyRecipes(), 'qwen3-4b-study.toml'));
if (study === null) throw new Error('study-rehearsal: recipes/qwen3-4b-study.toml is no study');
const wanted = (list: string | undefined, name: string): boolean =>
  list === undefined || list.split(',').some((each) => each === name || `qwen3-4b-${each}` === name);
// Runs that a step shares with one that is not wanted are its own.
const named = study.steps.filter(({ experiment }) => wanted(values.experiments, experiment.replace(/\.toml$/, '')));
const steps = await planStudy({ ...study, steps: named }, join(home, 'runs'), { set: settings, seeds: [seed] });
const linesByName = (): ReadonlyMap<string, Record<string, unknown>> =>
  new Map(rowsIn(results).map((row) => [`${row['experiment']} ${row['arm']}`, row]));
const nameOf = ({ step, arm }: Arm): string => `${step.plan.experiment.name} ${arm}`;
/** Tried, and not ended by the time alone. */
const isOver = (row: Record<string, unknown> | undefined): boolean => row !== undefined && row['code'] !== 75;
const tried = linesByName();
const lists = steps.map((step) =>
  step.own.map(({ arm }) => ({ step, arm })).filter(({ arm }) => wanted(values.arms, arm)),
);
// In turn of every experiment, so that a call that ends early has tried something of each.
const turns = Array.from({ length: Math.max(...lists.map(({ length }) => length)) }, (_, i) =>
  lists.flatMap((list) => list.slice(i, i + 1)),
).flat();
const left = turns.filter((turn) => !isOver(tried.get(nameOf(turn))));
say(`${turns.length} arms in ${lists.length} experiments, ${left.length} left`);
let longest = Math.min(20, seconds / 10);
const workers = Array.from({ length: jobs }, async (_, worker) => {
  // Processes that begin together would all wait for the same thing: the disk, then the GPU.
  await new Promise((done) => setTimeout(done, 1500 * worker));
  while (left.length > 0 && seconds - passed() - 12 > 0.9 * longest) {
    const next = left.shift();
    if (next === undefined) return;
    const began = passed();
    if (!(await rehearse(next))) left.push(next);
    longest = Math.max(longest, passed() - began);
    writeCsv();
  }
});
await Promise.all(workers);
writeCsv();
const rows = linesByName();
const names = turns.map(nameOf);
const unfinished = names.filter((name) => !isOver(rows.get(name)));
const failed = names.filter((name) => rows.get(name)?.['done'] === false && !unfinished.includes(name));
say(`${names.length - failed.length - unfinished.length} of ${names.length} arms done`);
if (unfinished.length > 0) say(`no time for ${unfinished.length}: ${unfinished.join(', ')}`);
if (failed.length > 0) say(`${failed.length} failed: ${failed.join(', ')}; see their lines in ${results}`);
const compared = {
  seconds: ['updateSeconds', 'assumedUpdateSeconds'],
  evaluation: ['evaluationSeconds', 'assumedEvaluationSeconds'],
  memory: ['peakMiB', 'plannedMiB'],
  disk: ['gigabytes', 'plannedGigabytes'],
} as const;
const shares = names.flatMap((name) =>
  Object.entries(compared)
    .filter(([figure]) => wanted(values.against, figure))
    .map(([figure, [measured, planned]]) => {
      const row = rows.get(name);
      return { name, figure, share: Number(row?.[measured] ?? NaN) / Number(row?.[planned] ?? NaN) };
    })
    .filter(({ share }) => Number.isFinite(share)),
);
const isNear = ({ share }: (typeof shares)[number]): boolean => Math.abs(share - 1) <= 0.2;
for (const each of shares) {
  const far = isNear(each) ? '' : ', more than 20% apart';
  say(`${each.name}, ${each.figure}: ${each.share.toPrecision(3)} of the plan${far}`);
}
say(`${shares.filter(isNear).length} of ${shares.length} figures are within 20% of the plan`);
process.exitCode = failed.length > 0 ? 1 : unfinished.length > 0 ? 75 : 0;
