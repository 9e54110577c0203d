/**
 * `gq task PLAN INDEX`: does what is left of one run of a planned experiment, or of a pack of neighbours, with plain lines as its log. Jobs
 * of a cluster call it.
 */
import { exitCodes, UserError, visibleLine } from '../../base/index.ts';
import { keepSandboxes, onInterrupt } from '../../lab/index.ts';
import type { Report } from '../../study/job.ts';
import { runPlan } from '../../study/run.ts';
import { readPlan } from '../../study/stored-plan.ts';
import { LabWorker } from '../../study/worker.ts';
import { argument, type CommandContext, command, mostAtOnce, needed, whole } from '../command.ts';

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
  run: ({ plan, index, pack }, context) => runTask(plan, index, pack, context),
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

async function runTask(path: string, index: number, pack: number, context: CommandContext): Promise<void> {
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
  const { end, failed } = await runPlan(plan, directory, {
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
}
