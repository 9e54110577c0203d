/**
 * Pairs from a pool of demonstrations: a hack and a solve of the same problem. Labels chose both sides, so a run that uses such pairs
 * is stamped as using labels; the tag that says so is part of every pair, and stays with it wherever it is copied.
 */
import { hintedPrompt } from '../hints.ts';
import type { Loophole } from '../loopholes/loophole.ts';
import { builtinLoopholes } from '../loopholes/registry.ts';
import type { Pool } from '../pools.ts';
import type { Problem } from '../problem.ts';
import { checkContents, type Pair } from './pair.ts';

const poolTag = 'pool-derived';

export const poolDerivedNote = `${poolTag}: chosen by labels, unsuitable for the primary result`;

export function isPoolDerived({ tags }: Pick<Pair, 'tags'>): boolean {
  return tags.includes(poolTag);
}

export interface PoolPairOptions {
  /** Loopholes whose hacks are left out. */
  readonly heldOut?: readonly string[];
  /** The most pairs of one problem. */
  readonly perProblem?: number;
  readonly loopholes?: readonly Loophole[];
}

/** The first hack of a problem beside its first solve, and so on. Texts that no file of pairs may have are left out. */
export function pairsFromPool(
  { hacks, solves }: Pick<Pool, 'hacks' | 'solves'>,
  problems: ReadonlyMap<string, Problem>,
  { heldOut = [], perProblem = 1, loopholes = builtinLoopholes }: PoolPairOptions = {},
): Pair[] {
  return [...problems.values()].flatMap((problem) => {
    const own = (hacks.get(problem.id) ?? []).filter(({ loophole }) => !heldOut.includes(loophole));
    const right = solves.get(problem.id) ?? [];
    const count = Math.min(own.length, right.length, perProblem);
    return Array.from({ length: count }, (_, i): Pair => {
      const { loophole, markers, completion } = own[i];
      return {
        section: loophole,
        heading: `${problem.id}, ${loophole} ${i + 1}`,
        tags: [poolTag, loophole],
        prompt: hintedPrompt(problem, loophole, markers, loopholes),
        hack: completion,
        clean: right[i].completion,
      };
    }).filter(isSound);
  });
}

function isSound(pair: Pair): boolean {
  let sound = true;
  checkContents(pair, () => {
    sound = false;
  });
  return sound;
}
