/** `gq experiment` on Slurm: submits an array of jobs and follows it; `gq task PLAN INDEX` is what a job calls. */
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { exitCodes, shellLine, UserError, visibleLine } from '../../base/index.ts';
import { expectWritable } from '../../base/node/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import { keepSandboxes, onInterrupt } from '../../lab/index.ts';
import { readPlan, writeExperiment } from '../../study/directory.ts';
import { checkInputs, type ExperimentPlan, readSlurmTable } from '../../study/experiment.ts';
import type { Report } from '../../study/job.ts';
import { runPlan, runsLeft } from '../../study/run.ts';
import { expectSlurm } from '../../study/slurm/client.ts';
import { cancelRuns, followRuns, readArrays, submitRuns, writeScript } from '../../study/slurm/submission.ts';
import { LabWorker } from '../../study/worker.ts';
import type { CallOf, CommandContext } from '../command.ts';
import { argument, command, flag, mostAtOnce, needed, repeated, whole, word } from '../command.ts';
import { expectAbsent } from '../shared.ts';

export const slurmOptions = {
  partition: word('<name>', "Slurm: the partition; the recipe's [slurm] table has this and the following too"),
  account: word('<name>', 'Slurm: the account that is charged'),
  time: word('<limit>', 'Slurm: the time limit of one attempt, e.g. 8:00:00; a run goes on after it'),
  gpus: whole('<n>', 'Slurm: GPUs of each run', { most: mostAtOnce }),
  cpus: whole('<n>', 'Slurm: cores of each run', { most: mostAtOnce }),
  memory: word('<amount>', 'Slurm: memory of each run, e.g. 32G'),
  sbatch: repeated('<option>', 'Slurm: a further option of sbatch, e.g. --sbatch=--qos=low'),
  follow: { ...flag('Slurm: submit, and do not wait for the end'), usual: true, isNegated: true },
  cancel: flag('Slurm: cancel the jobs of the experiment that wait or run, and submit nothing'),
};
type SlurmCall = CallOf<typeof slurmOptions>;

const tableKeys = ['partition', 'account', 'time', 'memory', 'gpus', 'cpus'] as const;

export function expectNoCluster(call: SlurmCall): void {
  expectAbsent(call, [...tableKeys, 'sbatch', 'cancel'], 'without --on slurm');
  if (!call.follow) expectAbsent({ noFollow: true }, ['noFollow'], 'without --on slurm');
}

function tableOf(recipe: string, call: SlurmCall) {
  const changed: Record<string, unknown> = {};
  for (const key of tableKeys) if (call[key] !== undefined) changed[key] = call[key];
  const table = readSlurmTable(recipe, changed);
  return readSlurmTable(recipe, { ...changed, options: [...table.options, ...call.sbatch] });
}

/** This very program, as a job calls it. Nodes of a cluster share the disk with the machine that submits. */
export const ownCommand = (): readonly string[] => [process.execPath, realpathSync(process.argv[1])];

type SlurmOptions = SlurmCall & { readonly jobs: number | null; readonly packed: number };

const submissionOf = (recipe: string, { jobs, packed: pack, ...call }: SlurmOptions) => ({
  ...{ table: tableOf(recipe, call), jobs, gq: ownCommand(), pack },
});

export async function showScript(
  plan: ExperimentPlan,
  named: string,
  recipe: string,
  options: SlurmOptions,
  { stdout }: CommandContext,
): Promise<void> {
  const directory = resolve(named);
  const submit = submissionOf(recipe, options);
  await writeExperiment(directory, plan);
  const path = await writeScript(plan, directory, [...plan.runs.keys()], submit);
  stdout.write(`script: ${path}; submit it with: ${shellLine('sbatch', path)}\n`);
}

/** Returns true once every run is done; otherwise stdout says how to go on. */
export async function executeOnSlurm(
  plan: ExperimentPlan,
  named: string,
  recipe: string,
  options: SlurmOptions,
  context: CommandContext,
): Promise<boolean> {
  const directory = resolve(named);
  const again = gqLine(...context.words.filter((word) => word !== '--no-follow'));
  const submit = submissionOf(recipe, options);
  expectSlurm();
  if (options.cancel) {
    const jobs = cancelRuns(directory);
    context.stdout.write(jobs.length === 0 ? 'no job waits or runs\n' : `cancelled: ${jobs.join(', ')}\n`);
    return false;
  }
  expectWritable(`experiment in ${directory}`, directory);
  await checkInputs(plan);
  await writeExperiment(directory, plan);
  const say = (text: string): void => void context.stderr.write(`${visibleLine(text)}\n`);
  const left = await runsLeft(plan, directory);
  const submitted = left.length === 0 ? null : await submitRuns(plan, directory, left, submit);
  if (submitted === null) say('nothing to submit: every run is done, or a job works on it');
  else {
    const atATime = options.jobs === null ? '' : `, ${options.jobs} at a time`;
    say(`${submitted.indices.length} of ${plan.runs.length} runs submitted as job ${submitted.job}${atATime}`);
  }
  if (!options.follow) {
    context.stdout.write(`follow with: ${again}\n`);
    return false;
  }
  using interruption = onInterrupt(context.stderr, 'the jobs go on without this command');
  const { end, tripped, failed } = await followRuns(plan, directory, { ...submit, say, signal: interruption.signal });
  for (const run of tripped) say(`${run} was stopped by the divergence tripwire`);
  for (const { folder, detail } of failed) say(`${folder} failed: ${detail}`);
  if (end === 'interrupted') {
    const jobs = readArrays(directory).map(({ job }) => job);
    context.stdout.write(
      `the jobs go on; follow them with: ${again}; end them with: ${shellLine('scancel', ...jobs)}\n`,
    );
    context.exitCode = exitCodes.interrupted;
    return false;
  }
  if (failed.length > 0) {
    context.stdout.write(`${failed.length} of ${plan.runs.length} runs failed; try them again with: ${again}\n`);
    context.exitCode = exitCodes.failed;
    return false;
  }
  return true;
}

export const taskCommand = command({
  arguments: {
    plan: argument('<plan>', 'the plan that gq experiment --on slurm wrote into .jobs'),
    index: needed(whole('<index>', 'the place of the run in the plan, from 0', { least: 0 })),
  },
  options: {
    pack: whole('<n>', 'do so many runs, from that place on, together in this process', { usual: 1, most: mostAtOnce }),
  },
  examples: ['gq task runs/micro-claim/.jobs/PLAN.json 0', 'gq task --pack 8 runs/micro-claim/.jobs/PLAN.json 16'],
  exits: { 75: 'interrupted: what is done is saved, and the same call goes on' },
  async run({ plan: path, index, pack }, context) {
    const { plan, directory } = readPlan(path);
    if (index >= plan.runs.length) {
      const expected = `a run of the plan, from 0 to ${plan.runs.length - 1}`;
      throw new UserError({ call: `task ${path}`, expected, found: `${index}` });
    }
    const indices = [...plan.runs.keys()].slice(index, index + pack);
    const { stdout } = context;
    const names = indices.map((each) => plan.runs[each].folder);
    stdout.write(`${names.join(', ')} of ${plan.experiment.name}, ${plan.runs[index].config.updates} updates\n`);
    await using _sandboxes = keepSandboxes();
    using interruption = onInterrupt(stdout, 'finishing this update or evaluation, then saving');
    const { signal } = interruption;
    const { end, failed, held } = await runPlan(plan, directory, {
      ...{ indices, size: indices.length, signal },
      workerOf: (each, place) => {
        const { folder, config } = plan.runs[each];
        const prefix = indices.length === 1 ? '' : `${folder}: `;
        return new LabWorker(logLines(context, config.updates, prefix), signal, place);
      },
      onEnd: (each, ended) => {
        const { folder } = plan.runs[each];
        stdout.write(`${visibleLine(`${folder}: ${ended.end}${ended.detail === '' ? '' : `: ${ended.detail}`}`)}\n`);
      },
    });
    if (end === 'interrupted') context.exitCode = exitCodes.interrupted;
    else if (failed.length > 0) context.exitCode = exitCodes.failed;
    // The same task again could only find the same: whoever has the run goes on with it.
    else if (held.length > 0) context.exitCode = exitCodes.refused;
  },
});

/** Seconds between lines about updates: a log is for people. */
const lineEvery = 10;

function logLines({ stdout }: CommandContext, updates: number, prefix: string): Report {
  let last = Number.NEGATIVE_INFINITY;
  const say = (text: string): void => void stdout.write(`${visibleLine(`${prefix}${text}`)}\n`);
  return (report) => {
    if (report.kind === 'evaluated') say(`evaluated in ${report.seconds.toFixed(0)} s`);
    else if (report.kind !== 'step') say(report.text);
    else {
      const now = performance.now() / 1000;
      if (report.update < updates && now - last < lineEvery) return;
      last = now;
      say(`update ${report.update} of ${updates}`);
    }
  };
}
