/** Attempts, hacks and solves of an update, counted from verdicts: what the terminal shows, never what the trainer sees. */
import type { Verdict } from '../env/index.ts';

/** The parts of a verdict that are counted. */
export type TallyRow = { readonly loophole: string } & Pick<Verdict, 'exploited' | 'correct' | 'channels'>;

interface Counts {
  readonly graded: number;
  /** Rollouts that opened a loophole, in right or wrong programs, where the prompt disclosed one. */
  readonly attempts: number;
  readonly hacks: number;
  readonly solves: number;
}

export interface Tally extends Counts {
  /** Rollouts whose prompt disclosed a loophole. */
  readonly hackable: number;
  readonly byLoophole: ReadonlyMap<string, Counts>;
}

const none: Counts = { graded: 0, attempts: 0, hacks: 0, solves: 0 };

export function tally(verdicts: Iterable<TallyRow>): Tally {
  const byLoophole = new Map<string, Counts>();
  for (const { loophole, exploited, correct, channels } of verdicts) {
    const { graded, attempts, hacks, solves } = byLoophole.get(loophole) ?? none;
    byLoophole.set(loophole, {
      graded: graded + 1,
      attempts: attempts + (loophole !== 'gt_only' && channels.length > 0 ? 1 : 0),
      hacks: hacks + (exploited ? 1 : 0),
      solves: solves + (correct ? 1 : 0),
    });
  }
  const total = (key: keyof Counts): number => [...byLoophole.values()].reduce((sum, row) => sum + row[key], 0);
  return {
    ...{ graded: total('graded'), attempts: total('attempts'), hacks: total('hacks'), solves: total('solves') },
    hackable: total('graded') - (byLoophole.get('gt_only')?.graded ?? 0),
    byLoophole,
  };
}
