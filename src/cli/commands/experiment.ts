/** `gq experiment RECIPE`: trains and evaluates arms × seeds on this machine or on a Slurm cluster; if interrupted, it goes on where it stopped. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { exitCodes, shellLine, UserError } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { keepSandboxes, onInterrupt, type PackPlace } from '../../lab/index.ts';
import { recipePath } from '../../run/index.ts';
import {
  describeSameBytes,
  type Experiment,
  type ExperimentPlan,
  expectFilledSets,
  gpusFor,
  type JobEnd,
  LabWorker,
  planExperiment,
  planSlots,
  readExperiment,
  runInProcesses,
  runPlan,
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
      'number of processes side by side, each with its share of the cores and of the GPUs: one on each GPU when absent, one without any; on Slurm all',
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
  await executeExperiment(plan, directory, { again, jobs, pack }, context);
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
    ...(jobs === undefined ? [] : [shellLine('--jobs', jobs)]),
    ...(pack === undefined ? [] : [shellLine('--pack', pack)]),
    ...(options.on === 'slurm' ? ['--on slurm', ...slurmWords(options)] : []),
  ].join(' ');
}

interface ExecuteOptions {
  /** The command that goes on after an interruption. */
  readonly again: string;
  /** Processes at a time; null: one on each GPU, or one alone. */
  readonly jobs: number | null;
  /** Number of runs that share a process; default: 1. */
  readonly pack?: number;
}

/** Returns false if it was interrupted or a run failed; stdout then says how to go on. */
export async function executeExperiment(
  plan: ExperimentPlan,
  directory: string,
  { again, jobs: asked, pack = 1 }: ExecuteOptions,
  context: CommandContext,
): Promise<boolean> {
  expectWritable(`experiment in ${directory}`, directory);
  await expectFilledSets(plan);
  await writeExperiment(directory, plan);
  await using _sandboxes = keepSandboxes();
  const gpus = gpusFor(plan);
  const slots = planSlots(asked, plan.runs.length, gpus);
  const jobs = slots.length;
  const picture = await ExperimentPicture.open(plan, directory, { jobs, pack }, context.stderr);
  const promise = pack > 1 ? 'saving every run of the pack' : 'finishing this update or evaluation, then saving';
  using interruption = onInterrupt({ write: (text) => picture.say(text.trim()) }, promise);
  const { signal } = interruption;
  const onEnd = (index: number, { end, detail }: JobEnd): void => {
    // The whole text stands at the end; whoever watches learns of it now.
    if (end === 'failed') picture.say(`${plan.runs[index].folder} failed: ${detail.split('\n', 1)[0]}`);
  };
  const workerOf = (index: number, place: PackPlace | null) =>
    new LabWorker(picture.reportsOf(index, 0), signal, place);
  const { end, tripped, failed } =
    jobs === 1 && gpus.length < 2
      ? await runPlan(plan, directory, { size: pack, signal, workerOf, onEnd })
      : await runInProcesses(plan, directory, {
          ...{ pack, signal, onEnd },
          slots: slots.map(({ environment }) => environment),
          reportsOf: (index, slot) => picture.reportsOf(index, slot),
        });
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
