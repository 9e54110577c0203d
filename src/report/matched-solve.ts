/** Whether deployed solve is kept: equivalence with a reference arm within the experiment's band, over seeds. */
import type { FinalSet } from '../evaluate/index.ts';
import { type EquivalenceTest, equivalenceTest, mean } from '../stats/index.ts';
import { finalSample, findArm, type Results, solveSet } from './aggregate.ts';
import { pairSeeds } from './comparisons.ts';
import type { Table } from './table.ts';
import { armCell, formatP, noClaim, setTitles, signed } from './tables.ts';

export interface MatchedSolve {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly reference: string;
  /** Mean difference of deployed solve, arm − reference. */
  readonly difference: number;
  readonly n: number;
  /** Null with one seed. */
  readonly test: EquivalenceTest | null;
  /** Kept: shown to be inside the band. Lower, higher: shown to be outside it. Otherwise nothing is shown. */
  readonly verdict: 'kept' | 'lower' | 'higher' | 'not shown';
}

function solveReferenceOf({ design, baseline }: Results): string {
  return design.solveReference ?? baseline;
}

const level = 0.05;

export function matchSolve(results: Results, set: FinalSet): MatchedSolve[] {
  const reference = solveReferenceOf(results);
  const { matchedSolve: margin } = results.design;
  const against = finalSample(findArm(results, reference)?.runs ?? [], set, 'deployed', 'solve');
  if (against === null) return [];
  return results.arms
    .filter(({ arm }) => arm !== reference)
    .flatMap(({ arm, usesOracle, runs }): MatchedSolve[] => {
      const own = finalSample(runs, set, 'deployed', 'solve');
      const pairs = own === null ? [] : pairSeeds(own, against);
      if (pairs.length === 0) return [];
      const differences = pairs.map(({ first, second }) => first - second);
      const difference = mean(differences);
      const test = pairs.length < 2 ? null : equivalenceTest(differences, margin);
      const verdict = verdictOf(test, margin);
      return [{ arm, usesOracle, reference, difference, n: pairs.length, test, verdict }];
    });
}

/** The 90% interval has one-sided tests at the level of 5% on either side: all of it must lie in the band, or beyond it. */
function verdictOf(test: EquivalenceTest | null, margin: number): MatchedSolve['verdict'] {
  if (test === null) return 'not shown';
  if (test.pValue < level) return 'kept';
  const { low, high } = test.interval;
  if (high < -margin) return 'lower';
  return low > margin ? 'higher' : 'not shown';
}

export function matchedSolveTable(results: Results): Table {
  const set = solveSet(results);
  const found = set === undefined ? [] : matchSolve(results, set);
  const reference = solveReferenceOf(results);
  const { matchedSolve } = results.design;
  return {
    title: `solve deployed within ${matchedSolve} of ${reference}${set === undefined ? '' : `, ${setTitles[set]}`}`,
    columns: ['arm', 'seeds', 'difference', '90% interval', 'p (equivalence)', 'solve is'],
    rows: found.map(({ arm, usesOracle, n, difference, test, verdict }) => [
      armCell({ arm, usesOracle }, { set }),
      `${n}`,
      signed(difference),
      test === null ? '-' : `[${signed(test.interval.low)}, ${signed(test.interval.high)}]`,
      formatP(test?.pValue ?? null),
      verdict,
    ]),
    notes: [
      `Two one-sided t-tests over seeds at level ${level}. kept: the difference is inside ±${matchedSolve}. lower, higher: the whole interval is outside that. not shown: these seeds cannot tell.`,
      ...(found.some(({ n }) => n === 1) ? [`${noClaim}.`] : []),
    ],
  };
}
