/**
 * What deployment keeps and removes, arm by arm, in the seeds that all needed arms have.
 * Solve kept: (deployed − base) / (ceiling − base), the ceiling as trained. Attempts and hacks removed: 1 − deployed / baseline deployed. All are
 * ratios of means over seeds, with Fieller's 95% interval. A ratio whose denominator's own interval contains 0 has no value.
 */
import type { FinalSet } from '../evaluate/index.ts';
import {
  type EquivalenceTest,
  equivalenceTest,
  type Interval,
  type MeanInterval,
  mean,
  meanInterval,
  meanRatio,
} from '../stats/index.ts';
import {
  type ArmResults,
  baseRuns,
  claimSet,
  finalSample,
  findArm,
  type Results,
  type Sample,
  solveSet,
} from './aggregate.ts';
import { pairSeeds } from './comparisons.ts';
import type { Table } from './table.ts';
import { armCell, formatP, noClaim, setTitles, signed, signedInterval } from './tables.ts';

/** A ratio of means; without an interval it is of one seed. */
export interface Share {
  readonly value: number;
  readonly n: number;
  readonly interval: Interval | null;
}

export interface KeptAndRemoved {
  readonly arm: string;
  readonly usesOracle: boolean;
  /** Null without a ceiling, or where the ceiling is not clearly above the base. */
  readonly solveKept: Share | null;
  /** Null where the baseline's rate of attempts is not clearly above 0. */
  readonly attemptRemoved: Share | null;
  /** Null where the baseline's hack is not clearly above 0. */
  readonly hackRemoved: Share | null;
  /** One entry per seed that has both. What the ceiling adds is little in a single seed, so the mean over seeds divides solve. */
  readonly points: readonly { readonly seed: number; readonly kept: number; readonly removed: number }[];
}

/** The ceiling's solve above the base's, over seeds; null without a ceiling or with fewer than two seeds. */
function roomToSolve(results: Results, set: FinalSet): MeanInterval | null {
  const rooms = bySeed(baseSolve(results, set), ceilingSolve(results, set), (base, ceiling) => ceiling - base);
  return rooms.length < 2 ? null : meanInterval(rooms.map(({ value }) => value));
}

export function keptAndRemoved(results: Results): KeptAndRemoved[] {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined) return [];
  const { baseline, design } = results;
  return results.arms
    .filter(({ arm }) => arm !== baseline && arm !== design.ceiling)
    .map((arm) => ({
      arm: arm.arm,
      usesOracle: arm.usesOracle,
      solveKept: shareOf(solveTerms(results, arm, solved)),
      attemptRemoved: shareOf(removedTerms(results, arm, set, 'attempt')),
      hackRemoved: shareOf(removedTerms(results, arm, set, 'hack')),
      points: pointsOf(solveTerms(results, arm, solved), removedTerms(results, arm, set, 'hack')),
    }));
}

interface Term {
  readonly seed: number;
  readonly top: number;
  readonly bottom: number;
}

function solveTerms(results: Results, { runs }: ArmResults, set: FinalSet): Term[] {
  const [base, ceiling] = [baseSolve(results, set), ceilingSolve(results, set)];
  const tops = bySeed(base, finalSample(runs, set, 'deployed', 'solve'), (own, deployed) => deployed - own);
  const bottoms = bySeed(base, ceiling, (own, best) => best - own);
  return joinTerms(tops, bottoms);
}

function removedTerms(results: Results, { runs }: ArmResults, set: FinalSet, metric: 'attempt' | 'hack'): Term[] {
  const baseline = finalSample(findArm(results, results.baseline)?.runs ?? [], set, 'deployed', metric);
  const deployed = finalSample(runs, set, 'deployed', metric);
  const tops = bySeed(baseline, deployed, (vanilla, own) => vanilla - own);
  return joinTerms(
    tops,
    bySeed(baseline, baseline, (vanilla) => vanilla),
  );
}

const baseSolve = (results: Results, set: FinalSet): Sample | null =>
  finalSample(baseRuns(results, set)[0]?.runs ?? [], set, 'base', 'solve');

/** The ceiling as trained: nothing in it has to be deleted. */
const ceilingSolve = (results: Results, set: FinalSet): Sample | null =>
  finalSample(findArm(results, results.design.ceiling)?.runs ?? [], set, 'full', 'solve');

interface SeedValue {
  readonly seed: number;
  readonly value: number;
}

function bySeed(first: Sample | null, second: Sample | null, value: (a: number, b: number) => number): SeedValue[] {
  if (first === null || second === null) return [];
  return first.seeds.flatMap((seed, i) => {
    const at = second.seeds.indexOf(seed);
    return at < 0 ? [] : [{ seed, value: value(first.values[i], second.values[at]) }];
  });
}

function joinTerms(tops: readonly SeedValue[], bottoms: readonly SeedValue[]): Term[] {
  return tops.flatMap(({ seed, value: top }) => {
    const found = bottoms.find((one) => one.seed === seed);
    return found === undefined ? [] : [{ seed, top, bottom: found.value }];
  });
}

/** With one seed there is no interval that could say whether the denominator is above 0: it must be 0.05 at least. */
const leastSingle = 0.05;

function shareOf(terms: readonly Term[]): Share | null {
  const [tops, bottoms] = [terms.map(({ top }) => top), terms.map(({ bottom }) => bottom)];
  if (terms.length === 0) return null;
  if (terms.length === 1) {
    return bottoms[0] < leastSingle ? null : { value: tops[0] / bottoms[0], n: 1, interval: null };
  }
  const found = meanRatio(tops, bottoms);
  return found === null || mean(bottoms) <= 0 ? null : { value: found.ratio, n: found.n, interval: found.interval };
}

function pointsOf(solve: readonly Term[], hack: readonly Term[]): KeptAndRemoved['points'] {
  if (shareOf(solve) === null || shareOf(hack) === null) return [];
  const room = mean(solve.map(({ bottom }) => bottom));
  return solve.flatMap(({ seed, top }) => {
    const other = hack.find((one) => one.seed === seed);
    return other === undefined || other.bottom === 0
      ? []
      : [{ seed, kept: top / room, removed: other.top / other.bottom }];
  });
}

export function keptTable(results: Results): Table {
  const set = solveSet(results);
  const found = keptAndRemoved(results);
  const rows = found
    .map(({ solveKept, attemptRemoved, hackRemoved, ...own }) => ({
      ...own,
      shares: [solveKept, attemptRemoved, hackRemoved],
    }))
    .filter(({ shares }) => shares.some((share) => share !== null))
    .map(({ arm, usesOracle, shares }) => [
      armCell({ arm, usesOracle }),
      `${Math.max(...shares.map((share) => share?.n ?? 0))}`,
      ...shares.flatMap(shareCells),
    ]);
  return {
    title: 'solve kept, attempts and hacks removed by deployment',
    columns: [
      'arm',
      'n',
      ...['solve kept', 'attempt removed', 'hack removed'].flatMap((name) => [name, '95% interval']),
    ],
    rows: set === undefined || results.design.ceiling === null ? [] : rows,
    notes: set === undefined ? [] : keptNotes(results, set, found),
  };
}

/** A share with its interval, in one cell. */
export function shareText(share: Share | null): string {
  const [value, interval] = shareCells(share);
  return interval === '-' ? value : `${value} ${interval}`;
}

function shareCells(share: Share | null): string[] {
  if (share === null) return ['-', '-'];
  const { value, interval } = share;
  return [value.toFixed(2), interval === null ? '-' : `[${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`];
}

function keptNotes(results: Results, set: FinalSet, found: readonly KeptAndRemoved[]): string[] {
  const { baseline, design } = results;
  const room = roomToSolve(results, set);
  const roomText = room === null ? '' : ` (${room.mean.toFixed(2)} [${room.low.toFixed(2)}, ${room.high.toFixed(2)}])`;
  const isSmall = room !== null && room.low <= 0;
  return [
    `Solve kept: (deployed − base) / (${design.ceiling} as trained − base) on ${setTitles[set]}. Removed: 1 − deployed / ${baseline} on ${setTitles[claimSet(results) ?? set]}. Ratios of means over seeds, Fieller's interval.`,
    ...(isSmall
      ? [`${design.ceiling} solves too little more than the base${roomText} to divide by: no solve kept is given.`]
      : []),
    ...(found.some(({ solveKept, hackRemoved }) => (solveKept ?? hackRemoved)?.n === 1) ? [`${noClaim}.`] : []),
  ];
}

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
      signedInterval(test?.interval ?? null),
      formatP(test?.pValue ?? null),
      verdict,
    ]),
    notes: [
      `Two one-sided t-tests over seeds at level ${level}. kept: the difference is inside ±${matchedSolve}. lower, higher: the whole interval is outside that. not shown: these seeds cannot tell.`,
      ...(found.some(({ n }) => n === 1) ? [`${noClaim}.`] : []),
    ],
  };
}
