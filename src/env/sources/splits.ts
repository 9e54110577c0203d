/** Problems in three splits, which must be disjoint. */
import { UserError } from '../../base/index.ts';
import { sha256Json } from '../../base/node/index.ts';
import type { Problem } from '../problem.ts';

export const splitNames = ['train', 'validation', 'test'] as const;
export type Split = (typeof splitNames)[number];
export type Splits = Readonly<Record<Split, readonly Problem[]>>;

/** The split of an id by its hash: of 16 parts, 12 are train, 1 is validation, 3 are test. */
export function splitOfId(id: string): Split {
  const slot = Number.parseInt(sha256Json(['split', id]).slice(0, 8), 16) % 16;
  if (slot >= 4) return 'train';
  return slot === 3 ? 'validation' : 'test';
}

/** Splits problems by the hash of their ids. */
export function dealOut(problems: readonly Problem[]): Splits {
  const of = (split: Split): readonly Problem[] => problems.filter(({ id }) => splitOfId(id) === split);
  return assertDisjoint({ train: of('train'), validation: of('validation'), test: of('test') });
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
