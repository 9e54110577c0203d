/** `gq experiment RECIPE`: trains and evaluates arms × seeds on this machine or on a Slurm cluster; if interrupted, it goes on where it stopped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { exitCodes, shellLine, UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { coresEach, coresVariable, keepSandboxes, onInterrupt } from '../../lab/index.ts';
import { recipePath } from '../../run/index.ts';
import {
  describeSameBytes,
  EndedRuns,
  type Experiment,
  type ExperimentEnd,
  type ExperimentPlan,
  expectFilledSets,
  type FailedRun,
  type JobEnd,
  jobProgram,
  LabWorker,
  planExperiment,
  readExperiment,
  runExperiment,
  runJob,
  runPacked,
  runSideBySide,
  runsLeft,
  writeExperiment,
} from '../../study/index.ts';
import { executeOnSlurm, expectNoCluster, type SlurmFlags, showScript, slurmOptions, slurmWords } from '../cluster.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { ExperimentPicture } from '../terminal/experiment-picture.ts';
import { collect, parseWholeNumber } from '../values.ts';

interface ExperimentOptions extends SlurmFlags {
  readonly out?: string;
  readonly set: readonly string[];
  readonly seeds?: string;
  readonly arms?: string;
  readonly jobs?: string;
  readonly pack?: string;
  readonly dryRun?: true;
  readonly on: 'local' | 'slurm';
}

export function configureExperiment(command: Command, context: CommandContext): void {
  command
    .argument('<recipe>', 'a TOML file of arms and seeds')
    .option('--out <dir>', "the experiment's directory; runs/NAME when absent")
    .option('--set <key=value>', 'change one key of every config; may be repeated', collect, [])
    .option('--seeds <list>', "seeds to use in place of the recipe's, e.g. 1,2,3")
    .option('--arms <list>', 'use only these arms of the recipe, e.g. vanilla,haar')
    .option(
      '--jobs <n>',
      'number of runs side by side: here 1 when absent, and each has its share of the cores; on Slurm all',
    )
    .option(
      '--pack <n>',
      'number of runs that share one process, with their device, base, problems and grader: 1 when absent; auto: as many as pay',
    )
    .option('--dry-run', 'list the runs and stop; with --on slurm, write the script of the jobs too')
    .addOption(new Option('--on <where>', 'where the runs are done').choices(['local', 'slurm']).default('local'))
    .addHelpText(
      'after',
      examplesText(
        'gq experiment recipes/micro-claim.toml',
        'gq experiment recipes/micro-claim.toml --jobs 4',
        'gq experiment recipes/micro-claim.toml --pack auto',
        'gq experiment recipes/micro-claim.toml --on slurm --jobs 20 --time 4:00:00 --gpus 1',
        'gq experiment recipes/micro-claim.toml --seeds 1 --arms vanilla,activation,haar --out runs/look',
      ),
    )
    .action((recipe: string, options: ExperimentOptions) => runCommand(recipe, options, context));
  for (const option of slurmOptions()) command.addOption(option);
}

async function runCommand(named: string, options: ExperimentOptions, context: CommandContext): Promise<void> {
  const recipe = existsSync(named) ? named : recipePath(named);
  if (options.on === 'local') expectNoCluster(options);
  const jobs = options.jobs === undefined ? null : parseWholeNumber(options.jobs, '--jobs', 1);
  const plan = await planPart(readExperiment(recipe), recipe, options);
  const directory = options.out ?? join('runs', plan.experiment.name);
  const pack = packOf(options, plan);
  if (options.dryRun) {
    const lines = plan.runs.map(
      ({ folder, config, configHash }) => `${folder}  ${config.updates} updates  config ${configHash.slice(0, 12)}`,
    );
    context.stdout.write(`${[directory, ...lines].join('\n')}\n`);
    if (options.on === 'slurm') await showScript(plan, directory, recipe, { ...options, jobs, packed: pack }, context);
    return;
  }
  const again = againCommand(recipe, directory, options);
  if (options.on === 'slurm') {
    await executeOnSlurm(plan, directory, recipe, { ...options, jobs, packed: pack, again }, context);
    return;
  }
  await executeExperiment(plan, directory, { again, jobs: jobs ?? 1, pack }, context);
}

/** Runs that pay in one pack: beyond these, what they share is a small part of what they do. */
const mostPacked = { wasm: 8, reference: 8, cuda: 32 } as const;

/** The number of runs of a pack. */
export function packOf({ pack }: Pick<ExperimentOptions, 'pack'>, { runs }: ExperimentPlan): number {
  if (pack === undefined) return 1;
  if (pack !== 'auto') return parseWholeNumber(pack, '--pack', 1);
  return Math.min(runs.length, ...runs.map(({ config }) => mostPacked[config.device.kind]));
}

/** The command that continues this one. */
function againCommand(recipe: string, directory: string, options: ExperimentOptions): string {
  const { set, seeds, arms, jobs, pack } = options;
  return [
    shellLine('gq', 'experiment', recipe, '--out', directory),
    ...set.map((setting) => `--set '${setting.replaceAll("'", "'\\''")}'`),
    ...(seeds === undefined ? [] : [shellLine('--seeds', seeds)]),
    ...(arms === undefined ? [] : [shellLine('--arms', arms)]),
    ...(jobs === undefined || jobs === '1' ? [] : [shellLine('--jobs', jobs)]),
    ...(pack === undefined ? [] : [shellLine('--pack', pack)]),
    ...(options.on === 'slurm' ? ['--on slurm', ...slurmWords(options)] : []),
  ].join(' ');
}

interface ExecuteOptions {
  /** The command that goes on after an interruption. */
  readonly again: string;
  readonly jobs: number;
  /** Number of runs that share this process; default: 1. */
  readonly pack?: number;
}

/** Returns false if it was interrupted or a run failed; stdout then says how to go on. */
export async function executeExperiment(
  plan: ExperimentPlan,
  directory: string,
  { again, jobs, pack = 1 }: ExecuteOptions,
  context: CommandContext,
): Promise<boolean> {
  expectWritable(`experiment in ${directory}`, directory);
  await expectFilledSets(plan);
  await writeExperiment(directory, plan);
  await using _sandboxes = keepSandboxes();
  const picture = await ExperimentPicture.open(plan, directory, jobs * pack, context.stderr, pack > 1);
  const execute = async (): Promise<ExperimentEnd> => {
    if (pack > 1 && jobs > 1) return runPacks(plan, directory, jobs, pack, picture);
    if (pack > 1) return runPack(plan, directory, pack, picture);
    if (jobs > 1) return runJobs(plan, directory, jobs, picture);
    return runExperiment(plan, directory, (index) => new LabWorker(picture.inTurn(index)), tellFailed(picture));
  };
  const { end, tripped, failed } = await execute();
  for (const run of tripped) context.stderr.write(`${run} was stopped by the divergence tripwire\n`);
  for (const { folder, detail } of failed) context.stderr.write(`${folder} failed: ${detail}\n`);
  if (end === 'interrupted' || failed.length > 0) {
    const what = end === 'interrupted' ? end : `${failed.length} of ${plan.runs.length} runs failed`;
    context.stdout.write(`${what}; what is finished is kept; go on with: ${again}\n`);
    context.exitCode = end === 'interrupted' ? exitCodes.interrupted : 1;
    return false;
  }
  for (const sentence of describeSameBytes(directory)) context.stderr.write(`${sentence}\n`);
  context.stdout.write(`${plan.runs.length} runs in ${directory}; see: ${shellLine('gq', 'results', directory)}\n`);
  return true;
}

async function runPack(
  plan: ExperimentPlan,
  directory: string,
  size: number,
  picture: ExperimentPicture,
): Promise<ExperimentEnd> {
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, 'saving every run of the pack');
  const { signal } = interruption;
  return await runPacked(plan, directory, {
    ...{ size, signal },
    workerOf: (index, place) => new LabWorker(picture.inPack(index), { place, signal }),
    onEnd: (index, { end, detail }) => {
      if (end === 'failed') tellFailed(picture)({ folder: plan.runs[index].folder, detail });
    },
  });
}

async function runJobs(
  plan: ExperimentPlan,
  directory: string,
  jobs: number,
  picture: ExperimentPicture,
): Promise<ExperimentEnd> {
  const environment = { [coresVariable]: `${coresEach(Math.min(jobs, plan.runs.length))}` };
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, 'saving every run');
  const { signal } = interruption;
  const endedRuns = new EndedRuns(directory);
  return await runSideBySide(plan, jobs, signal, async (index, slot) => {
    const reports = picture.inSlot(index, slot);
    const options = { program: jobProgram, environment, reportsOf: () => reports, signal };
    const job = runJob({ plan, indices: [index], pack: 1, directory }, options);
    const [ends] = await Promise.all([job, endedRuns.keep()]);
    endedRuns.add(plan.runs[index].folder);
    const ended = ends.get(index) ?? { end: 'failed', detail: 'its process told nothing' };
    if (ended.end === 'failed') tellFailed(picture)({ folder: plan.runs[index].folder, detail: ended.detail });
    return ended;
  });
}

/** Packs in processes of their own: every run goes to one of them, in the plan's order. */
async function runPacks(
  plan: ExperimentPlan,
  directory: string,
  jobs: number,
  pack: number,
  picture: ExperimentPicture,
): Promise<ExperimentEnd> {
  const left = await runsLeft(plan, directory);
  const count = Math.min(jobs, left.length);
  const environment = { [coresVariable]: `${coresEach(Math.max(1, count))}` };
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, 'saving every run of the packs');
  const { signal } = interruption;
  const options = {
    ...{ program: jobProgram, environment, signal },
    reportsOf: (index: number) => picture.inPack(index),
    onEnd: (index: number, { end, detail }: JobEnd) => {
      if (end === 'failed') tellFailed(picture)({ folder: plan.runs[index].folder, detail });
    },
  };
  const shares = Array.from({ length: count }, (_, job) => left.filter((_index, i) => i % count === job));
  const all = await Promise.all(shares.map((indices) => runJob({ plan, indices, pack, directory }, options)));
  const ends = all.flatMap((each) => [...each]).map(([index, end]) => ({ folder: plan.runs[index].folder, ...end }));
  return {
    end: ends.some(({ end }) => end === 'interrupted') ? 'interrupted' : 'finished',
    tripped: ends.flatMap(({ folder, end }) => (end === 'tripwire' ? [folder] : [])),
    failed: ends.flatMap(({ folder, end, detail }) => (end === 'failed' ? [{ folder, detail }] : [])),
  };
}

/** The whole text stands at the end; whoever watches learns of it now. */
const tellFailed =
  (picture: ExperimentPicture) =>
  ({ folder, detail }: FailedRun): void =>
    picture.say(`${folder} failed: ${detail.split('\n', 1)[0]}`);

function planPart(experiment: Experiment, recipe: string, options: ExperimentOptions): Promise<ExperimentPlan> {
  const chosen = options.arms?.split(',');
  const unknown = chosen?.find((name) => !experiment.arms.some((arm) => arm.name === name));
  if (unknown !== undefined) {
    const expected = experiment.arms.map(({ name }) => name).join(', ');
    throw new UserError({ call: '--arms', expected, found: unknown });
  }
  return planExperiment(experiment, recipe, options.set, { seeds: seedsOf(options), arms: chosen });
}

function seedsOf({ seeds }: ExperimentOptions): readonly number[] | undefined {
  const named = seeds?.split(',').map((text) => parseWholeNumber(text, '--seeds'));
  const twice = named?.find((seed, i) => named.indexOf(seed) !== i);
  if (twice !== undefined)
    throw new UserError({ call: '--seeds', expected: 'different seeds', found: `${twice} twice` });
  return named;
}
