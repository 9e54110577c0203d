/**
 * The sign-flip permutation test of paired differences (Fisher 1935): under the null hypothesis each difference is as
 * likely to have the other sign. The p-value is the share of all 2ⁿ sign patterns with a sum at least as extreme as the
 * observed one. Beyond `exactPairs` pairs, whole differences are still counted, by the distribution of their sum; others are
 * (1 + extreme) / (1 + draws) over random patterns (Phipson and Smyth 2010).
 */
import { randomStream } from '../base/index.ts';
import type { Alternative } from './hypothesis.ts';
import { type Numbers, requireCount, requireFinite } from './inputs.ts';

const exactPairs = 20;
/** The largest sum of whole differences whose distribution is counted. */
const mostCounted = 100_000;

export interface SignFlipOptions {
  /** Seed of the random patterns, used only above 20 differences that are not whole numbers. */
  readonly seed: number;
  readonly draws?: number;
  readonly alternative?: Alternative;
}

export interface SignFlipTest {
  readonly mean: number;
  readonly n: number;
  readonly exact: boolean;
  readonly pValue: number;
}

type IsExtreme = (sum: number) => boolean;

/** Sums that are equal on paper may differ in the last bits: they count as ties. */
function extremeAs(observed: number, differences: readonly number[], alternative: Alternative): IsExtreme {
  const slack = 1e-12 * differences.reduce((sum, difference) => sum + Math.abs(difference), 0);
  if (alternative === 'greater') return (sum) => sum >= observed - slack;
  if (alternative === 'less') return (sum) => sum <= observed + slack;
  return (sum) => Math.abs(sum) >= Math.abs(observed) - slack;
}

function countExtreme(differences: readonly number[], from: number, sum: number, isExtreme: IsExtreme): number {
  if (from === differences.length) return isExtreme(sum) ? 1 : 0;
  return (
    countExtreme(differences, from + 1, sum + differences[from], isExtreme) +
    countExtreme(differences, from + 1, sum - differences[from], isExtreme)
  );
}

/** The share of all patterns with an extreme sum: each difference moves half of every sum's share up, and half down. */
function shareExtreme(differences: readonly number[], total: number, isExtreme: IsExtreme): number {
  let shares = new Float64Array(2 * total + 1);
  shares[total] = 1;
  let reach = 0;
  for (const size of differences.map(Math.abs)) {
    const next = new Float64Array(2 * total + 1);
    for (let at = total - reach; at <= total + reach; at += 1) {
      next[at + size] += shares[at] / 2;
      next[at - size] += shares[at] / 2;
    }
    reach += size;
    shares = next;
  }
  return shares.reduce((sum, share, at) => (isExtreme(at - total) ? sum + share : sum), 0);
}

function drawExtreme(differences: readonly number[], seed: number, draws: number, isExtreme: IsExtreme): number {
  let extreme = 0;
  const flips = new Uint32Array(differences.length);
  const stream = randomStream(seed, 'sign-flip');
  for (let draw = 0; draw < draws; draw += 1) {
    stream.at(0, draw).fillIntegers(flips, 2);
    const sum = differences.reduce((total, difference, index) => total + (flips[index] ? difference : -difference), 0);
    if (isExtreme(sum)) extreme += 1;
  }
  return extreme;
}

export function signFlipTest(differences: Numbers, options: SignFlipOptions): SignFlipTest {
  const { seed, draws = 10_000, alternative = 'two-sided' } = options;
  requireFinite('signFlipTest', differences);
  requireCount('signFlipTest draws', draws, 1);
  const list = Array.from(differences);
  const n = list.length;
  const observed = list.reduce((sum, difference) => sum + difference, 0);
  const isExtreme = extremeAs(observed, list, alternative);
  const test = (exact: boolean, pValue: number): SignFlipTest => ({ mean: observed / n, n, exact, pValue });
  if (n <= exactPairs) return test(true, countExtreme(list, 0, 0, isExtreme) / 2 ** n);
  const total = list.reduce((sum, difference) => sum + Math.abs(difference), 0);
  if (total <= mostCounted && list.every(Number.isInteger)) {
    return test(true, Math.min(1, shareExtreme(list, total, isExtreme)));
  }
  return test(false, (1 + drawExtreme(list, seed, draws, isExtreme)) / (1 + draws));
}
