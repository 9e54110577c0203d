/** `gq task PLAN INDEX`: does what is left of one run of a planned experiment, with plain lines as its log. Jobs of a cluster call it. */
import type { Command } from 'commander';
import { exitCodes, UserError, visibleLine } from '../../base/index.ts';
import { keepSandboxes } from '../../lab/index.ts';
import { LabWorker, readPlan, runOne, type WorkReports } from '../../sweep/index.ts';
import { type CommandContext, examplesText } from '../command.ts';
import { parseSeed } from '../values.ts';

export function configureTask(command: Command, context: CommandContext): void {
  command
    .argument('<plan>', 'the plan that gq experiment --on slurm, or --print k8s, wrote into .jobs')
    .argument('<index>', 'the place of the run in the plan, from 0', parseSeed)
    .addHelpText('after', examplesText('gq task runs/micro-claim/.jobs/PLAN.json 0'))
    .action((path: string, index: number) => runTask(path, index, context));
}

/** Seconds between lines about updates: a log is for people. */
const lineEvery = 10;

function logLines({ stdout }: CommandContext, updates: number): WorkReports {
  let last = Number.NEGATIVE_INFINITY;
  const say = (text: string): void => void stdout.write(`${visibleLine(text)}\n`);
  return {
    note: say,
    warn: say,
    evaluated: (seconds) => say(`evaluated in ${seconds.toFixed(0)} s`),
    step: (update) => {
      const now = performance.now() / 1000;
      if (update < updates && now - last < lineEvery) return;
      last = now;
      say(`update ${update} of ${updates}`);
    },
  };
}

async function runTask(path: string, index: number, context: CommandContext): Promise<void> {
  const { plan, directory } = readPlan(path);
  if (index >= plan.runs.length) {
    const expected = `a run of the plan, from 0 to ${plan.runs.length - 1}`;
    throw new UserError({ call: `task ${path}`, expected, found: `${index}` });
  }
  const { folder, config } = plan.runs[index];
  context.stdout.write(`${folder} of ${plan.experiment.name}, ${config.updates} updates\n`);
  await using _sandboxes = keepSandboxes();
  const end = await runOne(plan, index, directory, new LabWorker(logLines(context, config.updates)));
  context.stdout.write(`${folder}: ${end}\n`);
  if (end === 'interrupted') context.exitCode = exitCodes.interrupted;
}
