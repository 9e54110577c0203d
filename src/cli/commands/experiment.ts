/** `gq experiment RECIPE`: trains and evaluates arms × seeds, here or on Slurm; of a study, one after another. */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { counted, exitCodes, groupBy, shellLine, UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { asTyped, gqLine } from '../../base/node/own-program.ts';
import { keepSandboxes, onInterrupt, type PackPlace, tellUpdate } from '../../lab/index.ts';
import type { Experiment } from '../../report/experiment-schema.ts';
import { isBlind, recipeFrom, recipeName, recipePath } from '../../run/index.ts';
import { expectFittingPlan, sharedRuns, writeExperiment } from '../../study/directory.ts';
import type { ExperimentPlan, PlannedRun, Tell } from '../../study/experiment.ts';
import { checkInputs, placeboWarning, planExperiment, readExperiment } from '../../study/experiment.ts';
import {
  expectDiskRoom,
  expectGpuRoom,
  type Forecast,
  forecastDisk,
  forecastExperiment,
  howManyFit,
  joinForecasts,
  packThatFits,
  runsTogether,
  sparerSettings,
} from '../../study/forecast.ts';
import { type Report, runInProcesses } from '../../study/job.ts';
import { measuring } from '../../study/rates.ts';
import { type ExperimentEnd, runPlan, runsLeft } from '../../study/run.ts';
import { describeSameBytes } from '../../study/same-bytes.ts';
import { gpusFor, plannedGpus, planSlots } from '../../study/slots.ts';
import {
  assumedOf,
  checkStudy,
  planStudy,
  readStudy,
  type Study,
  type StudyStep,
  stopsStudy,
} from '../../study/steps.ts';
import { LabWorker } from '../../study/worker.ts';
import {
  argument,
  type CallOf,
  type CommandContext,
  choice,
  command,
  flag,
  mostAtOnce,
  names,
  type Part,
  repeated,
  whole,
  wholeFrom,
  wholes,
  word,
} from '../command.ts';
import { expectAbsent, sameCall } from '../shared.ts';
import { ExperimentPicture, forecastLines } from '../terminal/experiment-picture.ts';
import { Waiting } from '../terminal/progress.ts';
import { executeOnSlurm, expectNoCluster, showScript, slurmOptions } from './cluster.ts';

const pack: Part<number | 'auto' | undefined> = {
  takes: '<n>',
  about:
    'number of runs that share one process, with their device, base, problems and grader; auto: as many as pay; when absent, auto where they compute together on a GPU, and 1 elsewhere',
  read: (word) => (word === 'auto' ? word : wholeFrom(word, 1, mostAtOnce)),
};

const options = {
  out: word('<dir>', "the experiment's directory; runs/NAME when absent"),
  set: repeated('<key=value>', 'change one key of every config'),
  seeds: wholes('<list>', "seeds to use in place of the recipe's, e.g. 1,2,3", 0),
  arms: names('<list>', 'use only these arms of the recipe, e.g. vanilla,haar'),
  jobs: whole(
    '<n>',
    'number of processes side by side, each with its share of the cores and of the GPUs: one on each GPU when absent, one without any; on Slurm all',
    { most: mostAtOnce },
  ),
  pack,
  from: repeated('<dir>', 'do not train runs again that this folder has, finished, with the same config and seed'),
  dryRun: flag(
    "list the runs, say what they will cost, and stop; with --on slurm also write the script of an experiment's jobs",
  ),
  regardless: flag('of a study: go on where a step that decides says no, and after a step with failed runs'),
  on: choice('<where>', 'where the runs are done', ['local', 'slurm'], 'local'),
  ...slurmOptions,
};
type ExperimentCall = CallOf<typeof options>;

export const experimentCommand = command({
  arguments: { recipe: argument('<recipe>', 'a TOML file of arms and seeds, or of a study: experiments in order') },
  options,
  examples: [
    'gq experiment micro-claim',
    'gq experiment micro-claim --jobs 4',
    'gq experiment micro-claim --pack auto',
    'gq experiment micro-ablations --from runs/micro-claim',
    'gq experiment micro-claim --on slurm --jobs 20 --time 4:00:00 --gpus 1',
    'gq experiment micro-claim --seeds 1 --arms vanilla,activation,haar --out runs/look',
    'gq experiment qwen3-4b-study --set model=DIR --set data.path=TRAIN --set data.testPath=TEST --dry-run',
  ],
  exits: {
    1: 'a run failed, and the others of its experiment are done; or a step of a study decided against going on',
    75: 'interrupted, or another process trains a run: what is finished is kept, and the same call goes on',
  },
  async run({ recipe: named, ...call }, context) {
    const recipe = existsSync(named) ? named : recipePath(named);
    if (call.on === 'local') expectNoCluster(call);
    const study = readStudy(recipe);
    if (study !== null) return runStudy(study, call, context);
    expectAbsent(call, ['regardless'], 'of an experiment that is no study');
    const experiment = readExperiment(recipe);
    const directory = call.out ?? join('runs', experiment.name);
    const whole = await told(context, (tell) => planPart(experiment, { recipe, directory }, call, tell));
    const plan = await leaveShared(whole, directory, call, context);
    if (plan !== null && plan.runs.length > 0) await doExperiment({ recipe, directory, plan }, call, context);
  },
});

/** Work that prints nothing before it is done says every few seconds what it is at. */
async function told<Result>({ stderr }: CommandContext, work: (tell: Tell) => Promise<Result>): Promise<Result> {
  using waiting = new Waiting(stderr);
  return await work((what) => waiting.on(what));
}

/** `beside`: the experiments that are changed together with this one, as the steps of a study are. */
type Work = Pick<StudyStep, 'recipe' | 'directory' | 'plan'> & { readonly beside?: readonly PlannedWork[] };
type PlannedWork = Pick<StudyStep, 'directory' | 'plan'>;

/** Does an experiment, or says what it would cost; returns whether every run is done. */
async function doExperiment(work: Work, call: ExperimentCall, context: CommandContext): Promise<boolean> {
  const { recipe, directory, plan, beside } = work;
  const { on, jobs = null } = call;
  const packed = await packOf(call, plan, directory);
  const clustered = { ...call, jobs, packed };
  if (call.dryRun) {
    await showForecast({ recipe, plan, directory }, { jobs, pack: packed }, context);
    if (on === 'slurm') await showScript(plan, directory, recipe, clustered, context);
    return false;
  }
  for (const line of placeboLines(plan)) context.stderr.write(`${line}\n`);
  if (on !== 'slurm') return executeExperiment(plan, directory, { jobs, pack: packed, beside }, context);
  const isDone = await executeOnSlurm(plan, directory, recipe, clustered, context);
  if (isDone) context.stdout.write(endLines(plan, directory));
  return isDone;
}

/** Does the steps of a study in order, as far as its decisions and failed runs let it; what is done already is passed over. */
async function runStudy(study: Study, call: ExperimentCall, context: CommandContext): Promise<void> {
  const first = recipeName(recipeFrom(dirname(resolve(study.path)), study.steps[0].experiment));
  const alone = (option: string): string =>
    `A step by itself takes it: ${shellLine('gq', 'experiment', first, option)} …, with the same --set.`;
  expectAbsent(call, ['arms', 'from'], 'of a study', alone);
  const { stdout } = context;
  const steps = await told(context, async (tell) => {
    const planned = await planStudy(study, call.out ?? join('runs', study.name), call, tell);
    await showStudy(planned, call, context, tell);
    return planned;
  });
  if (call.dryRun) return;
  let hasFailed = false;
  for (const [i, step] of steps.entries()) {
    const from = steps.slice(0, i).map(({ directory }) => directory);
    const plan = await leaveShared(step.plan, step.directory, { ...call, from }, context);
    if (plan === null) return;
    const left = await runsLeft(plan, step.directory);
    // A step that is done is held against its file as it is now, and a bar that was changed since is marked.
    if (left.length === 0 && plan.runs.length > 0) await writeExperiment(step.directory, plan);
    if (left.length > 0 && !(await doExperiment({ ...step, plan, beside: steps }, call, context))) {
      if (!call.regardless || context.exitCode !== exitCodes.failed) return;
      stdout.write(`The study goes on regardless: runs of ${step.plan.experiment.name} failed\n`);
      hasFailed = true;
      context.exitCode = exitCodes.done;
    }
    const why = await stopsStudy(step);
    if (why === null) continue;
    stdout.write(`${call.regardless ? 'The study goes on regardless' : 'The study ends here'}: ${asTyped(why)}\n`);
    if (call.regardless) continue;
    context.exitCode = exitCodes.failed;
    return;
  }
  if (hasFailed) context.exitCode = exitCodes.failed;
}

/** Says what is there and what is left of each step will cost, and all together; refuses a next step that the disk cannot hold. */
async function showStudy(
  steps: readonly StudyStep[],
  call: ExperimentCall,
  { stdout }: CommandContext,
  tell: Tell,
): Promise<void> {
  const lines = await checkStudy(steps, tell);
  const forecasts: Forecast[] = [];
  for (const { directory, plan, own, assumed } of steps) {
    const part = { ...plan, runs: own };
    tell(`plans what ${plan.experiment.name} will cost`);
    const pack = typeof call.pack !== 'number' && !call.dryRun ? 1 : await packOf(call, part, directory);
    const slots = planSlots(call.jobs ?? null, own.length, plannedGpus(part));
    // The memory of a GPU is rehearsed arm by arm, which takes long: who only goes on does not wait for it.
    const planned = call.dryRun ? slots : slots.map((slot) => ({ ...slot, gpu: null }));
    const forecast = await forecastExperiment(part, directory, { slots: planned, pack, assumed, tell });
    forecasts.push(forecast);
    lines.push(directory, ...forecastLines(forecast, own.length), ...placeboLines(part));
  }
  const all = joinForecasts(forecasts);
  const fitting = howManyFit(forecasts);
  const count = fitting === 0 ? 'not even the first of' : `the first ${fitting} of`;
  const tooLittle =
    fitting === null ? [] : [`disk     too little for the whole study: it holds ${count} ${steps.length} steps`];
  lines.push('the whole study', ...forecastLines(all, steps.flatMap(({ own }) => own).length), ...tooLittle);
  stdout.write(`${[...tooLittle, ...lines].join('\n')}\n`);
  const next = forecasts.findIndex(({ left }) => left.length > 0);
  if (next >= 0) expectDiskRoom(steps[next].directory, forecasts[next].disk, sparerSettings(steps));
}

/** The plan without the runs that other folders have, which get the evaluations and attacks that it asks for; null: not all of these came. */
async function leaveShared(
  plan: ExperimentPlan,
  directory: string,
  { from, dryRun, on }: Pick<ExperimentCall, 'from' | 'dryRun' | 'on'>,
  context: CommandContext,
): Promise<ExperimentPlan | null> {
  const { stderr, stdout } = context;
  const shared = sharedRuns(from);
  const isShared = ({ configHash, folder, config }: PlannedRun): boolean =>
    config.plugins.length === 0 && shared.has(configHash) && !existsSync(join(directory, folder));
  const there = plan.runs.filter(isShared).map((run) => ({ run, path: shared.get(run.configHash) ?? '' }));
  if (there.length === 0) return plan;
  for (const { run, path } of there) stderr.write(`${run.folder} is ${path}: not trained again\n`);
  if (!dryRun) {
    await writeExperiment(directory, { ...plan, from: there.map(({ path }) => dirname(path)) });
    for (const [folder, runs] of groupBy(there, ({ path }) => dirname(path))) {
      const part = { ...plan, runs: runs.map(({ run, path }) => ({ ...run, folder: basename(path) })) };
      if (!(await finishShared(part, folder, on, context))) return null;
    }
  }
  const rest = plan.runs.filter((run) => !isShared(run));
  if (rest.length === 0) stdout.write(`every run is there; see: ${gqLine('results', directory)}\n`);
  return { ...plan, runs: rest };
}

/** Trained runs are evaluated, and attacked, as another experiment plans it. A cluster's jobs do not: what to call is said. */
async function finishShared(
  plan: ExperimentPlan,
  directory: string,
  on: ExperimentCall['on'],
  context: CommandContext,
): Promise<boolean> {
  const indices = await runsLeft(plan, directory);
  if (indices.length === 0) return true;
  if (on === 'slurm') {
    const names = indices.map((index) => plan.runs[index].folder).join(', ');
    context.stderr.write(`${names} in ${directory} lack evaluations that ${plan.experiment.name} asks for; this call makes them where there is no --on slurm: ${sameCall(context)}\n`); // biome-ignore format: one line
    return true;
  }
  await using _sandboxes = keepSandboxes();
  const picture = await ExperimentPicture.open(plan, directory, { jobs: 1, pack: 1 }, context.stderr);
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, 'finishing this evaluation');
  const { signal } = interruption;
  const workerOf = (index: number) => new LabWorker(picture.reportOf(index, 0), signal);
  const { onEnd } = picture;
  return tellEnd(await runPlan(plan, directory, { indices, size: 1, signal, workerOf, onEnd }), plan, context);
}

/** Runs that pay in one pack: beyond these, what they share is a small part of what they do. */
const mostPacked = { wasm: 8, reference: 8, cuda: 32, webgpu: 8 } as const;

async function packOf(
  { pack: asked, jobs }: Pick<ExperimentCall, 'pack' | 'jobs'>,
  plan: ExperimentPlan,
  directory: string,
): Promise<number> {
  if (typeof asked === 'number') return asked;
  const { runs } = plan;
  if (asked === undefined && !(await runsTogether(runs, directory))) return 1;
  const paying = Math.min(runs.length, ...runs.map(({ config }) => mostPacked[config.device.kind]));
  const slots = planSlots(jobs ?? null, runs.length, gpusFor(plan));
  return Math.min(paying, (await packThatFits(runs, slots)) ?? (asked === 'auto' ? paying : 1));
}

function placeboLines(plan: ExperimentPlan): string[] {
  const warning = placeboWarning(plan);
  return warning === null ? [] : [warning];
}

async function showForecast(
  { recipe, plan, directory }: Work,
  { jobs, pack: size = 1 }: ExecuteOptions,
  context: CommandContext,
): Promise<void> {
  expectFittingPlan(directory, plan);
  const lines = plan.runs.map(
    ({ folder, config, configHash }) => `${folder}  ${config.updates} updates  config ${configHash.slice(0, 12)}`,
  );
  const slots = planSlots(jobs, plan.runs.length, plannedGpus(plan));
  const assumed = assumedOf(recipe);
  const forecast = await told(context, (tell) =>
    forecastExperiment(plan, directory, { slots, pack: size, assumed, tell }),
  );
  const packs = size === 1 ? [] : [`packs of ${size} runs`];
  const all = [directory, ...lines, ...packs, ...forecastLines(forecast, plan.runs.length), ...placeboLines(plan)];
  context.stdout.write(`${all.join('\n')}\n`);
  expectDiskRoom(directory, forecast.disk, sparerSettings([{ plan, directory }]));
}

/** `jobs`: processes at a time, null for one on each GPU, or one alone; `pack`: runs that share a process. */
type ExecuteOptions = Pick<Work, 'beside'> & { readonly jobs: number | null; readonly pack?: number };

export async function executeExperiment(
  plan: ExperimentPlan,
  directory: string,
  { jobs: asked, pack: size = 1, beside = [{ plan, directory }] }: ExecuteOptions,
  context: CommandContext,
): Promise<boolean> {
  expectWritable(`experiment in ${directory}`, directory);
  await told(context, (tell) => checkInputs(plan, tell));
  const gpus = gpusFor(plan);
  const slots = planSlots(asked, plan.runs.length, gpus);
  const jobs = slots.length;
  const disk = await forecastDisk(plan, directory, size * jobs, size);
  expectDiskRoom(directory, disk, sparerSettings(beside));
  await writeExperiment(directory, plan);
  await using _sandboxes = keepSandboxes();
  const neededMiB = await expectGpuRoom(plan.runs, slots, size);
  const picture = await ExperimentPicture.open(plan, directory, { jobs, pack: size }, context.stderr);
  const promise = size > 1 ? 'saving every run of the pack' : 'finishing this update or evaluation, then saving';
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, promise);
  const { signal } = interruption;
  const { onEnd } = picture;
  const reportOf = (index: number, slot: number): Report => {
    const { folder, config } = plan.runs[index];
    const run = { config, path: join(directory, folder), atATime: Math.min(jobs * size, plan.runs.length), pack: size };
    const shown = picture.reportOf(index, slot);
    return measuring(run, (report) => {
      if (report.kind === 'step') tellUpdate(signal, report.seconds);
      shown(report);
    });
  };
  const workerOf = (index: number, place: PackPlace | null) => new LabWorker(reportOf(index, 0), signal, place);
  const { end, tripped, failed, held } =
    jobs === 1 && gpus.length < 2
      ? await runPlan(plan, directory, { size, neededMiB, signal, workerOf, onEnd })
      : await runInProcesses(plan, directory, {
          ...{ pack: size, neededMiB, signal, onEnd },
          slots: slots.map(({ environment }) => environment),
          reportOf,
        });
  for (const run of tripped) context.stderr.write(`${run} was stopped by the divergence tripwire\n`);
  if (!tellEnd({ end, failed, held }, plan, context)) return false;
  for (const sentence of describeSameBytes(directory)) context.stderr.write(`${sentence}\n`);
  context.stdout.write(endLines(plan, directory));
  return true;
}

/** Says which runs failed or are left to others, and how to go on; whether all are done. */
function tellEnd({ end, failed, held }: Omit<ExperimentEnd, 'tripped'>, plan: ExperimentPlan, context: CommandContext) {
  for (const { folder, detail } of failed) {
    // One line was said when it failed.
    context.stderr.write(`${folder} failed${detail.includes('\n') ? `: ${detail}` : ', as said above'}\n`);
  }
  for (const { folder, detail } of held) context.stderr.write(`${folder} is left to ${detail}, which trains it\n`);
  if (end === 'interrupted' || failed.length > 0 || held.length > 0) {
    const rest =
      failed.length > 0 ? `${failed.length} of ${plan.runs.length} runs failed` : 'other processes are at work';
    const what = end === 'interrupted' ? end : rest;
    context.stdout.write(`${what}; what is finished is kept; go on with: ${sameCall(context)}\n`);
    context.exitCode = end !== 'interrupted' && failed.length > 0 ? exitCodes.failed : exitCodes.interrupted;
    return false;
  }
  return true;
}

function endLines({ runs, claim }: ExperimentPlan, directory: string): string {
  const blind = runs.map(({ folder }) => folder).filter((folder) => isBlind(join(directory, folder)));
  const lines = [
    `${counted(runs.length, 'run')} in ${directory}; see: ${gqLine('results', directory)}`,
    ...(claim === undefined ? [] : [`whether its predictions are met: ${gqLine('claim', directory)}`]),
    ...(blind.length === 0
      ? []
      : [`blind, and not evaluated: ${blind.join(', ')}; evaluate them with: ${gqLine('claim', 'open', directory)}`]),
  ];
  return `${lines.join('\n')}\n`;
}

function planPart(
  experiment: Experiment,
  { recipe, directory }: Pick<Work, 'recipe' | 'directory'>,
  { arms, seeds, set }: ExperimentCall,
  tell: Tell,
): Promise<ExperimentPlan> {
  const unknown = arms?.find((name) => !experiment.arms.some((arm) => arm.name === name));
  if (unknown !== undefined) {
    const expected = experiment.arms.map(({ name }) => name).join(', ');
    throw new UserError({ call: '--arms', expected, found: unknown });
  }
  return planExperiment(experiment, recipe, set, { seeds, arms, directory }, tell);
}
