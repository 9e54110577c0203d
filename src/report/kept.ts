/**
 * What deployment keeps and removes, arm by arm, in the seeds that all needed arms have.
 * Solve kept: (deployed − base) / (ceiling − base), the ceiling as trained. Attempts and hacks removed: 1 − deployed / baseline deployed. All are
 * ratios of means over seeds, with Fieller's 95% interval. A ratio whose denominator's own interval contains 0 has no value.
 */
import { type ByTarget, byTarget, type FinalSet } from '../evaluate/index.ts';
import { claimNote, formatP, makeTable, signed, signedInterval, spreadSeeds, type Table } from '../measure/table.ts';
import { type EquivalenceTest, equivalenceTest, mean, meanInterval, meanRatio, within } from '../stats/index.ts';
import type { ArmResults, Results, Sample } from './aggregate.ts';
import { baseRuns, claimSet, finalSample, findArm, sharedSeeds, solveSet } from './aggregate.ts';
import { armCell, setTitles, titleOf } from './tables.ts';

export type Share = Readonly<NonNullable<ReturnType<typeof shareOf>>>;
export type KeptPoint = Readonly<ReturnType<typeof pointsOf>[number]>;
export type KeptAndRemoved = ReturnType<typeof keptAndRemoved>[number];

/** A share is null where what it divides by is not clearly above 0: without a ceiling, or where the baseline hardly attempts or hacks. */
export function keptAndRemoved(results: Results) {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined) return [];
  const { baseline, design } = results;
  return results.arms
    .filter(({ arm }) => arm !== baseline && arm !== design.ceiling)
    .map((arm) => {
      const solve = solveTerms(results, arm, solved);
      const removed = byTarget((label) => removedTerms(results, arm, set, label));
      return {
        arm: arm.arm,
        usesOracle: arm.usesOracle,
        solveKept: shareOf(solve),
        removed: byTarget((_, target) => shareOf(removed[target])),
        /** One entry per seed that has both. What the ceiling adds is little in a single seed, so the mean over seeds divides solve. */
        points: pointsOf(solve, removed),
      };
    });
}

interface Term {
  readonly seed: number;
  readonly top: number;
  readonly bottom: number;
}

function solveTerms(results: Results, { runs }: ArmResults, set: FinalSet): Term[] {
  const samples = [...solveEnds(results, set), finalSample(runs, set, 'deployed', 'solve')];
  return sharedSeeds(...samples).map(({ seed, values: [base, ceiling, deployed] }) => ({
    seed,
    top: deployed - base,
    bottom: ceiling - base,
  }));
}

function removedTerms(results: Results, { runs }: ArmResults, set: FinalSet, metric: 'attempt' | 'hack'): Term[] {
  const vanilla = findArm(results, results.baseline)?.runs ?? [];
  const samples = [vanilla, runs].map((of) => finalSample(of, set, 'deployed', metric));
  return sharedSeeds(...samples).map(({ seed, values: [bottom, own] }) => ({ seed, top: bottom - own, bottom }));
}

/** The solve of the base, and of the ceiling as trained: nothing in it has to be deleted. */
function solveEnds(results: Results, set: FinalSet): [base: Sample | null, ceiling: Sample | null] {
  const ceiling = findArm(results, results.design.ceiling)?.runs ?? [];
  return [
    finalSample(baseRuns(results, set)[0]?.runs ?? [], set, 'base', 'solve'),
    finalSample(ceiling, set, 'full', 'solve'),
  ];
}

/** With fewer than three seeds no interval says whether the denominator is above 0: it must be 0.05 at least. */
const leastBottom = 0.05;

/** A ratio of means; without an interval it is of fewer than three seeds. */
function shareOf(terms: readonly Term[]) {
  const [tops, bottoms] = [terms.map(({ top }) => top), terms.map(({ bottom }) => bottom)];
  if (terms.length === 0) return null;
  if (terms.length < spreadSeeds) {
    const bottom = mean(bottoms);
    return bottom < leastBottom ? null : { value: mean(tops) / bottom, n: terms.length, interval: null };
  }
  const found = meanRatio(tops, bottoms);
  return found === null || mean(bottoms) <= 0 ? null : { value: found.ratio, n: found.n, interval: found.interval };
}

/** `removed`: null where the baseline attempts nothing in that seed; a seed without hacks of the baseline has no point. */
function pointsOf(solve: readonly Term[], terms: ByTarget<readonly Term[]>) {
  if (shareOf(solve) === null || shareOf(terms.hacks) === null) return [];
  const room = mean(solve.map(({ bottom }) => bottom));
  return solve.flatMap(({ seed, top }) => {
    const removed = byTarget((_, target) => {
      const term = terms[target].find((each) => each.seed === seed);
      return term === undefined || term.bottom === 0 ? null : term.top / term.bottom;
    });
    return removed.hacks === null ? [] : [{ seed, kept: top / room, removed }];
  });
}

export function keptTable(results: Results): Table {
  const set = solveSet(results);
  const found = keptAndRemoved(results).map((one) => ({
    ...one,
    shares: [one.solveKept, one.removed.attempts, one.removed.hacks],
  }));
  const shown = found.filter(({ shares }) => shares.some((share) => share !== null));
  const named = ['solve kept', 'attempt removed', 'hack removed'];
  return {
    title: 'solve kept, attempts and hacks removed by deployment',
    columns: ['arm', 'n', ...named.flatMap((name) => [name, '95% interval'])],
    rows: (set === undefined || results.design.ceiling === null ? [] : shown).map((one) => [
      armCell(one),
      `${Math.max(...one.shares.map((share) => share?.n ?? 0))}`,
      ...one.shares.flatMap(shareCells),
    ]),
    notes: set === undefined ? [] : keptNotes(results, set, found),
  };
}

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
  const rooms = sharedSeeds(...solveEnds(results, set)).map(({ values: [base, ceiling] }) => ceiling - base);
  const room = rooms.length < spreadSeeds ? null : { mean: mean(rooms), ...within(-1, 1, meanInterval(rooms)) };
  const isSmall = room !== null && room.low <= 0;
  const notes = [
    `Solve kept: (deployed − base) / (${design.ceiling} as trained − base) on ${setTitles[set]}. Removed: 1 − deployed / ${baseline} on ${setTitles[claimSet(results) ?? set]}. Ratios of means over seeds, Fieller's interval.`,
    isSmall &&
      `${design.ceiling} solves too little more than the base (${room.mean.toFixed(2)} [${room.low.toFixed(2)}, ${room.high.toFixed(2)}]) to divide by: no solve kept is given.`,
    claimNote(found.map(({ solveKept, removed }) => (solveKept ?? removed.hacks)?.n ?? 0)),
  ];
  return notes.filter((note) => note !== false);
}

function solveReferenceOf({ design, baseline }: Results): string {
  return design.solveReference ?? baseline;
}

const level = 0.05;

export function matchSolve(results: Results, set: FinalSet) {
  const reference = solveReferenceOf(results);
  const { matchedSolve: margin } = results.design;
  const against = finalSample(findArm(results, reference)?.runs ?? [], set, 'deployed', 'solve');
  return results.arms
    .filter(({ arm }) => arm !== reference)
    .flatMap(({ arm, usesOracle, runs }) => {
      const pairs = sharedSeeds(finalSample(runs, set, 'deployed', 'solve'), against);
      if (pairs.length === 0) return [];
      const differences = pairs.map(({ values: [own, other] }) => own - other);
      const difference = mean(differences);
      const test = pairs.length < spreadSeeds ? null : equivalenceOf(differences, margin);
      const verdict = verdictOf(test, margin);
      return [{ arm, usesOracle, reference, difference, n: pairs.length, test, verdict }];
    });
}

function equivalenceOf(differences: readonly number[], margin: number): EquivalenceTest {
  const test = equivalenceTest(differences, margin);
  return { ...test, interval: within(-1, 1, test.interval) };
}

/** The 90% interval has one-sided tests at the level of 5% on either side: all of it must lie in the band, or beyond it. */
function verdictOf(test: EquivalenceTest | null, margin: number): 'kept' | 'lower' | 'higher' | 'not shown' {
  if (test === null) return 'not shown';
  if (test.pValue < level) return 'kept';
  const { low, high } = test.interval;
  if (high < -margin) return 'lower';
  return low > margin ? 'higher' : 'not shown';
}

export function matchedSolveTable(results: Results): Table {
  const set = solveSet(results);
  const found = set === undefined ? [] : matchSolve(results, set);
  const { matchedSolve } = results.design;
  return makeTable(
    titleOf(`solve deployed within ${matchedSolve} of ${solveReferenceOf(results)}`, set),
    found,
    {
      arm: (one) => armCell(one, { set }),
      seeds: ({ n }) => `${n}`,
      difference: ({ difference }) => signed(difference),
      '90% interval': ({ test }) => signedInterval(test?.interval ?? null),
      'p (equivalence)': ({ test }) => formatP(test?.pValue ?? null),
      'solve is': ({ verdict }) => verdict,
    },
    `Two one-sided t-tests over seeds at level ${level}. kept: the difference is inside ±${matchedSolve}. lower, higher: the whole interval is outside that. not shown: these seeds cannot tell.`,
    claimNote(found.map(({ n }) => n)),
  );
}
