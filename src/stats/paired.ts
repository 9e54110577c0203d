/**
 * Tests on pairs (the same units under two conditions). Differences are first − second, and `greater` means that the
 * first tends to be larger. Student's t on the differences; Wilcoxon's signed ranks; the sign test; McNemar's exact test
 * for yes/no pairs. Units without a difference say nothing about direction: the last three leave them out and report n,
 * the number of units that remain; when none remains the p-value is 1.
 */
import { type Alternative, pValueOf } from './hypothesis.ts';
import { type Numbers, requireCount, requireFinite, requireSameLength } from './inputs.ts';
import { normalCdf } from './normal.ts';
import { binomialCdf } from './proportion.ts';
import { rankAverage } from './rank.ts';
import { oneSampleStudentTest, type StudentTest } from './student.ts';

const exactLimit = 50;

function pairedDifferences(call: string, first: Numbers, second: Numbers): number[] {
  requireFinite(call, first);
  requireFinite(call, second);
  requireSameLength(call, first, second);
  return Array.from(first, (value, index) => value - second[index]);
}

export function pairedStudentTest(
  first: Numbers,
  second: Numbers,
  alternative: Alternative = 'two-sided',
): StudentTest {
  return oneSampleStudentTest(pairedDifferences('pairedStudentTest', first, second), 0, alternative);
}

export interface SignedRankTest {
  /** Sum of the ranks of the positive differences (V in R). */
  readonly rankSum: number;
  readonly n: number;
  readonly exact: boolean;
  readonly pValue: number;
}

/** How many subsets of the ranks 1 … n have each sum, as a share of all 2ⁿ. */
function rankSumShares(n: number): Float64Array {
  const shares = new Float64Array((n * (n + 1)) / 2 + 1);
  shares[0] = 1;
  for (let rank = 1; rank <= n; rank += 1) {
    for (let total = (rank * (rank + 1)) / 2; total >= 0; total -= 1) {
      shares[total] = (shares[total] + (total >= rank ? shares[total - rank] : 0)) / 2;
    }
  }
  return shares;
}

function exactRankPValue(rankSum: number, n: number, alternative: Alternative): number {
  const shares = rankSumShares(n);
  const atMost = shares.subarray(0, rankSum + 1).reduce((sum, share) => sum + share, 0);
  const atLeast = shares.subarray(rankSum).reduce((sum, share) => sum + share, 0);
  return pValueOf(alternative, atMost, atLeast);
}

/** Normal approximation with the corrections for ties and continuity. */
function approximateRankPValue(rankSum: number, ranks: readonly number[], alternative: Alternative): number {
  const n = ranks.length;
  const centre = (n * (n + 1)) / 4;
  const spread = Math.sqrt(ranks.reduce((sum, rank) => sum + rank * rank, 0) / 4);
  return pValueOf(
    alternative,
    normalCdf((rankSum - centre + 0.5) / spread),
    normalCdf(-(rankSum - centre - 0.5) / spread),
  );
}

/** The test is exact below 50 differences without ties or zeros, else the normal approximation, as in R's wilcox.test. */
export function wilcoxonSignedRank(
  first: Numbers,
  second: Numbers,
  alternative: Alternative = 'two-sided',
): SignedRankTest {
  const all = pairedDifferences('wilcoxonSignedRank', first, second);
  const differences = all.filter((difference) => difference !== 0);
  const n = differences.length;
  if (n === 0) return { rankSum: 0, n, exact: true, pValue: 1 };
  const sizes = differences.map(Math.abs);
  const ranks = rankAverage(sizes);
  const rankSum = ranks.reduce((sum, rank, index) => sum + (differences[index] > 0 ? rank : 0), 0);
  const exact = n < exactLimit && n === all.length && new Set(sizes).size === n;
  const pValue = exact ? exactRankPValue(rankSum, n, alternative) : approximateRankPValue(rankSum, ranks, alternative);
  return { rankSum, n, exact, pValue };
}

export interface SignTest {
  readonly positive: number;
  readonly negative: number;
  readonly n: number;
  readonly pValue: number;
}

function halfBinomialTest(positive: number, negative: number, alternative: Alternative): SignTest {
  const n = positive + negative;
  const pValue = pValueOf(alternative, binomialCdf(positive, n, 0.5), binomialCdf(negative, n, 0.5));
  return { positive, negative, n, pValue };
}

export function signTest(first: Numbers, second: Numbers, alternative: Alternative = 'two-sided'): SignTest {
  const differences = pairedDifferences('signTest', first, second);
  const positive = differences.filter((difference) => difference > 0).length;
  const negative = differences.filter((difference) => difference < 0).length;
  return halfBinomialTest(positive, negative, alternative);
}

/** The exact conditional test on the discordant pairs: yes only in the first, and yes only in the second. */
export function mcnemarExact(onlyFirst: number, onlySecond: number, alternative: Alternative = 'two-sided'): SignTest {
  requireCount('mcnemarExact', onlyFirst);
  requireCount('mcnemarExact', onlySecond);
  return halfBinomialTest(onlyFirst, onlySecond, alternative);
}
