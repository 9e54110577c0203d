/**
 * Proportions: the Wilson score interval, (p̂ + z²/2n ± z √(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n), which stays inside [0, 1]
 * and is sensible at 0 and n (Wilson 1927; Brown, Cai and DasGupta 2001), and the binomial distribution.
 */
import { UserError } from '../base/index.ts';
import { requireCount, requireLevel, requireProbability } from './inputs.ts';
import { normalQuantile } from './normal.ts';
import { regularizedBeta } from './special.ts';
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

/** P(X ≤ successes) of n trials with probability p = I_{1−p}(n − successes, successes + 1). */
export function binomialCdf(successes: number, n: number, p: number): number {
  requireCount('binomialCdf n', n);
  requireSuccesses('binomialCdf', successes, n);
  requireProbability('binomialCdf', p);
  if (successes === n) return 1;
  return regularizedBeta(1 - p, p, n - successes, successes + 1);
}
