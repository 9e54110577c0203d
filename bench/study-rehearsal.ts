/**
 * Every arm of every experiment of recipes/qwen3-4b-study.toml for a few updates and its evaluation, on a random model of one of Qwen3's
 * shapes: what each arm took in seconds, memory of the GPU and disk, beside what the plan said. Random weights earn nothing, so each group is
 * shown a solve (the data's own) and a hack, as a warm start does. Problems are cut from one file, evaluation has two sets and no curve.
 *   node bench/study-rehearsal.ts --problems FILE.jsonl[.gz] --to DIR --results FILE.jsonl [--model DIR] [--shape 4b] [--device cuda] [--updates 2]
 *     [--tokens 48] [--jobs 1] [--pack 4] [--together 8] [--seconds 500] [--experiments seeds,claim] [--arms a,b] [--set key=value]
 * The model is made if its folder is absent. Ends before `--seconds` are over; called again with the same DIR, it goes on with the arms that
 * are left. Checkpoints of finished runs are deleted: a study of this size would fill the disk. Without a GPU: --shape tiny --device wasm
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { ExperimentPlan } from '../src/study/experiment.ts';
import { forecastExperiment } from '../src/study/forecast.ts';
import { findGpus, gpusFor, planSlots } from '../src/study/slots.ts';
import { planStudy, readStudy, type StudyStep } from '../src/study/steps.ts';
import { gqProgram } from '../test/gq-command.ts';
import { cutProblems, writeDemonstrations } from './claim-data.ts';
import { reportOf } from './claim-report.ts';

const { values } = parseArgs({
  options: {
    problems: { type: 'string' },
    to: { type: 'string', default: 'runs/study-rehearsal' },
    results: { type: 'string' },
    model: { type: 'string' },
    shape: { type: 'string', default: '4b' },
    device: { type: 'string', default: 'cuda' },
    updates: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '48' },
    jobs: { type: 'string', default: '1' },
    pack: { type: 'string', default: '4' },
    together: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '500' },
    experiments: { type: 'string' },
    arms: { type: 'string' },
    set: { type: 'string', multiple: true, default: [] },
  },
});
if (values.problems === undefined) throw new Error('study-rehearsal: expected --problems FILE.jsonl or FILE.jsonl.gz');
const seed = 41;
const home = resolve(values.to);
const model = resolve(values.model ?? join(home, 'model'));
const results = values.results ?? join(home, 'results.jsonl');
const [jobs, pack, together, seconds] = [values.jobs, values.pack, values.together, values.seconds].map(Number);
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

/** The recipes with a smaller evaluation, in a folder of their own. */
function copyRecipes(): string {
  const folder = join(home, 'recipes');
  cpSync('recipes', folder, { recursive: true });
  for (const name of readdirSync(folder).filter((each) => each.startsWith('qwen3-4b-'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    const smaller = '[evaluation]\ncurveEvery = 0\nsets = ["test-original", "test-unhinted"]\n\n';
    writeFileSync(join(folder, name), text.replace(/^\[evaluation\]\n(?:(?!\[).*\n)*/m, smaller));
  }
  return folder;
}

say('planning');
const settings = [
  `model=${model}`,
  ...cutProblems(values.problems, home, 48, 8),
  `device.kind=${values.device}`,
  `updates=${values.updates}`,
  `sampling.maxNewTokens=${values.tokens}`,
  'sampling.promptsPerStep=8',
  'sampling.group=8',
  `output.checkpointEvery=${values.updates}`,
  'teacher.makeProblems=0',
  `teacher.pool=${writeDemonstrations(home)}`,
  `teacher.offStep=${values.updates}`,
  ...values.set,
];

const folderOf = ({ directory }: StudyStep, arm: string): string => join(directory, `${arm}-${seed}`);
const isSealed = (run: string): boolean => existsSync(join(run, 'seal.json'));

/** Runs a command and returns its exit code, and the most MiB that were in use on the GPU meanwhile. */
async function watched(
  words: readonly string[],
  limit: number,
): Promise<{ code: number | null; usedMiB: number | null }> {
  const child = spawn(process.execPath, [gqProgram(), ...words], { stdio: ['ignore', 'inherit', 'inherit'] });
  const total = findGpus()[0]?.freeMiB ?? null;
  let least = total;
  const watch = setInterval(() => {
    const free = findGpus()[0]?.freeMiB ?? null;
    if (free !== null) least = Math.min(least ?? free, free);
  }, 1000);
  const stop = setTimeout(() => child.kill('SIGINT'), 1000 * limit);
  const code = await new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  clearInterval(watch);
  clearTimeout(stop);
  return { code, usedMiB: total === null || least === null ? null : total - least };
}

/** What the plan says of these runs. */
async function planned(part: ExperimentPlan, directory: string) {
  const slots = planSlots(jobs, part.runs.length, gpusFor(part));
  const { disk, gpus } = await forecastExperiment(part, directory, { slots, pack });
  return { diskBytes: disk.checkpointBytes, gpuMiB: gpus[0] === undefined ? null : gpus[0].neededBytes / 2 ** 20 };
}

/** Trains and evaluates these arms of a step, and writes what each took. */
async function rehearse(step: StudyStep, arms: readonly string[], limit: number): Promise<void> {
  const runs = step.plan.runs.filter(({ arm }) => arms.includes(arm));
  const plan = await planned({ ...step.plan, runs }, step.directory);
  const set = settings.flatMap((setting) => ['--set', setting]);
  const call = ['experiment', step.recipe, '--seeds', `${seed}`, '--arms', arms.join(','), '--out', step.directory];
  const began = passed();
  const { code, usedMiB } = await watched([...call, '--jobs', `${jobs}`, '--pack', `${pack}`, ...set], limit);
  const took = passed() - began;
  const experiment = step.plan.experiment.name;
  for (const arm of arms) {
    const run = folderOf(step, arm);
    const done = isSealed(run);
    const { gigabytes = null, firstUpdateSeconds = null, seconds: phases = null, gradientNorms = null, routes = null } = done ? reportOf(run, arm) : {}; // biome-ignore format: one line
    const evaluations = done ? readdirSync(join(run, 'evaluations')).length : 0;
    const line = { experiment, arm, done, evaluations, gigabytes, plannedGigabytes: plan.diskBytes / 1e9 / arms.length, firstUpdateSeconds, phases, gradientNorms, routes, together: arms.length, tookTogether: took, usedMiB, plannedMiB: plan.gpuMiB, code }; // biome-ignore format: one line
    appendFileSync(results, `${JSON.stringify(line)}\n`);
    for (const name of done ? ['checkpoints', 'initial.safetensors'] : []) {
      rmSync(join(run, name), { recursive: true, force: true });
    }
  }
  const missing = arms.filter((arm) => !isSealed(folderOf(step, arm)));
  say(`${experiment} ${arms.join(',')}: code ${code}, ${took.toFixed(0)} s${missing.length === 0 ? '' : `; not done: ${missing.join(',')}`}`); // biome-ignore format: one line
}

const study = readStudy(join(copyRecipes(), 'qwen3-4b-study.toml'));
if (study === null) throw new Error('study-rehearsal: recipes/qwen3-4b-study.toml is no study');
const steps = await planStudy(study, join(home, 'runs'), { set: settings, seeds: [seed] });
const wanted = (list: string | undefined, name: string): boolean =>
  list === undefined || list.split(',').some((each) => each === name || `qwen3-4b-${each}` === name);
say(`${steps.flatMap(({ own }) => own).length} arms in ${steps.length} experiments`);
let longest = 0;
for (const step of steps.filter(({ plan }) => wanted(values.experiments, plan.experiment.name))) {
  const arms = step.own.map(({ arm }) => arm).filter((arm) => wanted(values.arms, arm));
  const left = arms.filter((arm) => !isSealed(folderOf(step, arm)) && !existsSync(join(home, 'tried', `${step.plan.experiment.name}-${arm}`))); // biome-ignore format: one line
  for (let at = 0; at < left.length; at += together) {
    const part = left.slice(at, at + together);
    const room = seconds - passed() - 15;
    if (room < Math.max(20, 0.8 * longest)) {
      say(`no time for ${left.length - at} arms of ${step.plan.experiment.name}`);
      break;
    }
    const began = passed();
    await rehearse(step, part, room);
    longest = Math.max(longest, passed() - began);
    // An arm that failed is not tried again: it would fail again.
    mkdirSync(join(home, 'tried'), { recursive: true });
    const cut = passed() > seconds - 20;
    for (const arm of cut ? [] : part) writeFileSync(join(home, 'tried', `${step.plan.experiment.name}-${arm}`), '');
  }
}
say('ended');
