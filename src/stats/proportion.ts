/**
 * Proportions: the Wilson score interval, (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n), which stays inside [0, 1]
 * and is sensible at 0 and n (Wilson 1927; Brown, Cai and DasGupta 2001); the exact interval (Clopper and Pearson 1934), which holds
 * the true proportion at least as often as it says, also for few trials; Fisher's exact test of two; the binomial distribution.
 */
import { UserError } from '../base/index.ts';
import { type Alternative, pValueOf } from './hypothesis.ts';
import { requireCount, requireLevel, requireProbability } from './inputs.ts';
import { normalQuantile } from './normal.ts';
import { bisect, logGamma, regularizedBeta } from './special.ts';
import type { Interval } from './summary.ts';

export interface ProportionInterval extends Interval {
  readonly estimate: number;
  readonly successes: number;
  readonly n: number;
}

function requireSuccesses(call: string, successes: number, n: number): void {
  requireCount(`${call} successes`, successes);
  if (successes <= n) return;
  throw new UserError({ call, expected: `at most n = ${n} successes`, found: `${successes}` });
}

export function wilsonInterval(successes: number, n: number, confidence = 0.95): ProportionInterval {
  requireCount('wilsonInterval n', n, 1);
  requireSuccesses('wilsonInterval', successes, n);
  requireLevel('wilsonInterval', confidence);
  const z = normalQuantile((1 + confidence) / 2);
  const estimate = successes / n;
  const shrink = 1 + (z * z) / n;
  const centre = (estimate + (z * z) / (2 * n)) / shrink;
  const margin = (z * Math.sqrt((estimate * (1 - estimate)) / n + (z * z) / (4 * n * n))) / shrink;
  return {
    estimate,
    // The ends are exactly 0 and 1, where rounding would leave a trace.
    low: successes === 0 ? 0 : centre - margin,
    high: successes === n ? 1 : centre + margin,
    successes,
    n,
  };
}

/** The proportions that neither one-sided binomial test of the outcome refuses: each tail has (1 − confidence)/2. */
export function exactInterval(successes: number, n: number, confidence = 0.95): ProportionInterval {
  requireCount('exactInterval n', n, 1);
  requireSuccesses('exactInterval', successes, n);
  requireLevel('exactInterval', confidence);
  const tail = (1 - confidence) / 2;
  return {
    estimate: successes / n,
    low: successes === 0 ? 0 : bisect(0, 1, (p) => 1 - binomialCdf(successes - 1, n, p) < tail),
    high: successes === n ? 1 : bisect(0, 1, (p) => binomialCdf(successes, n, p) > tail),
    successes,
    n,
  };
}

/** Successes of trials. */
export interface Successes {
  readonly successes: number;
  readonly n: number;
}

/**
 * Fisher's exact test that two independent proportions are equal, given the sum of successes. `greater`: the first is larger. Two-sided:
 * the probability of all tables that are no likelier than this one, as in R's fisher.test.
 */
export function fisherExact(first: Successes, second: Successes, alternative: Alternative = 'two-sided'): number {
  for (const { successes, n } of [first, second]) {
    requireCount('fisherExact n', n);
    requireSuccesses('fisherExact', successes, n);
  }
  const total = first.successes + second.successes;
  const logTotal = logChoose(first.n + second.n, total);
  const least = Math.max(0, total - second.n);
  const most = Math.min(first.n, total);
  const shares = Array.from({ length: most - least + 1 }, (_, k) =>
    Math.exp(logChoose(first.n, least + k) + logChoose(second.n, total - least - k) - logTotal),
  );
  const observed = first.successes - least;
  if (alternative === 'two-sided') {
    // Equally likely tables differ by rounding; R allows the same relative error.
    const bound = shares[observed] * (1 + 1e-7);
    return Math.min(1, sum(shares.filter((share) => share <= bound)));
  }
  return pValueOf(alternative, sum(shares.slice(0, observed + 1)), sum(shares.slice(observed)));
}

function logChoose(n: number, k: number): number {
  return logGamma(n + 1) - logGamma(k + 1) - logGamma(n - k + 1);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** P(X ≤ successes) of n trials with probability p = I_{1−p}(n − successes, successes + 1). */
export function binomialCdf(successes: number, n: number, p: number): number {
  requireCount('binomialCdf n', n);
  requireSuccesses('binomialCdf', successes, n);
  requireProbability('binomialCdf', p);
  if (successes === n) return 1;
  return regularizedBeta(1 - p, p, n - successes, successes + 1);
}
