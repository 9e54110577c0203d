/** How many problems of each split are used, and which ones are left out and why: nothing is dropped silently. */
import type { Refusal } from './source.ts';
import { type Split, type Splits, splitNames } from './splits.ts';

/** What became of the problems of one split. */
export interface ProblemUse {
  readonly used: number;
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
}

export type SplitUse = Readonly<Record<Split, ProblemUse>>;

export function useOf(splits: Splits, refused: readonly Refusal[]): SplitUse {
  const of = (split: Split): ProblemUse => ({
    used: splits[split].length,
    leftOut: refused.flatMap(({ split: own, id, reason }) => (own === split ? [{ id, reason }] : [])),
  });
  return { train: of('train'), validation: of('validation'), test: of('test') };
}

const shownProblems = 5;

/** One sentence for each split of which problems are left out. */
export function describeUse(use: SplitUse): { readonly split: Split; readonly message: string }[] {
  return splitNames.flatMap((split) => {
    const message = describeLeftOutProblems(split, use[split]);
    return message === null ? [] : [{ split, message }];
  });
}

/** How many problems of a split are used, and which are left out and why; null where none is. */
export function describeLeftOutProblems(split: Split, { used, leftOut }: ProblemUse): string | null {
  if (leftOut.length === 0) return null;
  const shown = leftOut.slice(0, shownProblems).map(({ id, reason }) => `${id} (${reason})`);
  const more = leftOut.length > shownProblems ? [`and ${leftOut.length - shownProblems} more`] : [];
  const counts = `${used} of ${used + leftOut.length} ${split} problems used; ${leftOut.length} left out`;
  return `${counts}: ${[...shown, ...more].join('; ')}`;
}
