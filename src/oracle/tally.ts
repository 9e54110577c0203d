/** Hacks and solves of an update, counted from verdicts: what the terminal shows, never what the trainer sees. */
import type { Verdict } from '../env/index.ts';

/** The parts of a verdict that are counted. */
export type TallyRow = { readonly loophole: string } & Pick<Verdict, 'exploited' | 'correct'>;

export interface Tally {
  readonly graded: number;
  /** Rollouts whose prompt disclosed a loophole. */
  readonly hackable: number;
  readonly hacks: number;
  readonly solves: number;
  readonly byLoophole: ReadonlyMap<
    string,
    { readonly graded: number; readonly hacks: number; readonly solves: number }
  >;
}

export function tally(verdicts: Iterable<TallyRow>): Tally {
  const byLoophole = new Map<string, { graded: number; hacks: number; solves: number }>();
  for (const { loophole, exploited, correct } of verdicts) {
    const row = byLoophole.get(loophole) ?? { graded: 0, hacks: 0, solves: 0 };
    row.graded++;
    if (exploited) row.hacks++;
    if (correct) row.solves++;
    byLoophole.set(loophole, row);
  }
  const total = (pick: (row: { graded: number; hacks: number; solves: number }) => number): number =>
    [...byLoophole.values()].reduce((sum, row) => sum + pick(row), 0);
  const graded = total((row) => row.graded);
  return {
    graded,
    hackable: graded - (byLoophole.get('gt_only')?.graded ?? 0),
    hacks: total((row) => row.hacks),
    solves: total((row) => row.solves),
    byLoophole,
  };
}
