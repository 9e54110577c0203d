/** What the commands that probe a policy have in common: their options, and the bar over what is evaluated. */
import { exitCodes } from '../base/index.ts';
import { expectWritable } from '../base/node/index.ts';
import {
  evaluateProbes,
  type ProbedAll,
  type ProbedPolicy,
  type ProbeEvaluation,
  type ProbeName,
  summarise,
} from '../evaluate/index.ts';
import { onInterrupt } from '../lab/index.ts';
import type { CommandContext } from './command.ts';
import { Progress } from './terminal/progress.ts';

/** Evaluates the probes under a bar; null when it was interrupted, which is told with the command that goes on. */
export async function probeUnderBar(
  policy: ProbedPolicy,
  names: readonly ProbeName[],
  again: string,
  context: CommandContext,
): Promise<ProbedAll['found'] | null> {
  expectWritable(`probe ${policy.path}`, policy.path);
  const bar = new Progress(context.stderr, 'probe', names.length);
  using interruption = onInterrupt(context.stderr, 'finishing this probe');
  const { end, found } = await evaluateProbes(policy, names, {
    onProgress: (done) => bar.show(done),
    signal: interruption.signal,
  });
  if (end === 'finished') return found;
  context.stdout.write(`interrupted; finished probes are kept; go on with: ${again} and the same options\n`);
  context.exitCode = exitCodes.interrupted;
  return null;
}

/** A probe as JSON, with its rates. */
export function probeValue({ update, set, state, limit, probe, rows }: ProbeEvaluation): object {
  const { attempt, hack, solve, cleanSolve } = summarise(rows);
  const { name, instruction } = probe;
  return { update, set, state, limit, instruction: { ...instruction, name }, attempt, hack, solve, cleanSolve };
}
