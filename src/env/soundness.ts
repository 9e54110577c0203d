/**
 * Is a problem sound? Its canonical solution must pass its own tests. Sound problems get the CPU budget
 * that this very solution sets; unsound ones are named with the reason and are not graded against.
 */

import { mapPool, UserError } from '../base/index.ts';
import type { LoadedProblems, RefusedProblem } from './importers/load.ts';
import type { Judge } from './judge.ts';
import type { Problem } from './problem.ts';

export interface Soundness {
  /** With their CPU budgets. */
  readonly sound: readonly Problem[];
  readonly unsound: readonly RefusedProblem[];
}

async function reasonAgainst(judge: Judge, problem: Problem): Promise<{ reason: string; cpuSeconds: number }> {
  try {
    return await judge.calibrate(problem);
  } catch (error) {
    // The problem's own setup code fails: a fault of the problem, and the only UserError there is here.
    if (error instanceof UserError) return { reason: error.message, cpuSeconds: 0 };
    throw error;
  }
}

export async function checkProblems(
  { loaded, refused }: LoadedProblems,
  judge: Judge,
  onProgress: (done: number) => void = () => undefined,
): Promise<Soundness> {
  let done = 0;
  const results = await mapPool(loaded, judge.concurrency, async ({ problem, record }) => {
    const { reason, cpuSeconds } = await reasonAgainst(judge, problem);
    done += 1;
    onProgress(done);
    return { problem: { ...problem, cpuSeconds }, line: record.line, reason };
  });
  const failed = results.filter(({ reason }) => reason !== '');
  return {
    sound: results.filter(({ reason }) => reason === '').map(({ problem }) => problem),
    unsound: [...refused, ...failed.map(({ problem, line, reason }) => ({ id: problem.id, line, reason }))].sort(
      (a, b) => a.line - b.line,
    ),
  };
}
