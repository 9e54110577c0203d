/** Problems in three splits. They are disjoint, and that is asserted. */
import { UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import type { Problem } from '../problem.ts';

export const splitNames = ['train', 'validation', 'test'] as const;
export type Split = (typeof splitNames)[number];
export type Splits = Readonly<Record<Split, readonly Problem[]>>;

/** Deals problems out by the hash of their ids: 1 of 16 validation, 3 of 16 test. */
export function dealOut(problems: readonly Problem[]): Splits {
  const slot = ({ id }: Problem): number => Number.parseInt(sha256Json(['split', id]).slice(0, 8), 16) % 16;
  return assertDisjoint({
    train: problems.filter((problem) => slot(problem) >= 4),
    validation: problems.filter((problem) => slot(problem) === 3),
    test: problems.filter((problem) => slot(problem) < 3),
  });
}

export function assertDisjoint(splits: Splits): Splits {
  const owner = new Map<string, Split>();
  for (const split of splitNames) {
    for (const { id } of splits[split]) {
      const other = owner.get(id);
      if (other !== undefined) {
        throw new UserError({
          call: 'splits',
          expected: 'every problem in one split',
          found: `${id} in ${other} and ${split}`,
        });
      }
      owner.set(id, split);
    }
  }
  return splits;
}
