/** Problems in three splits, which must be disjoint. */
import { UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import type { Problem } from '../problem.ts';

export const splitNames = ['train', 'validation', 'test'] as const;
export type Split = (typeof splitNames)[number];
export type Splits = Readonly<Record<Split, readonly Problem[]>>;

/** Splits problems by the hash of their ids: of 16 parts, 12 train, 1 validation, 3 test. */
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
