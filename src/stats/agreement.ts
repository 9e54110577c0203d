/**
 * Agreement of two raters about yes or no beyond chance: Cohen's κ = (p − e)/(1 − e), with p the share on which they agree and e the share that
 * their own rates of yes would give by chance (Cohen 1960). Its interval is the Wilson interval of p on that scale, e held fixed as in
 * Cohen's standard error: unlike the normal interval it has a width where two raters agree on everything.
 */
import type { Confusion } from './classification.ts';
import { wilsonInterval } from './proportion.ts';
import type { Interval } from './summary.ts';

export interface Kappa extends Interval {
  readonly kappa: number;
  /** Share on which the raters agree, and the share that chance would give. */
  readonly observed: number;
  readonly expected: number;
  readonly n: number;
}

/** Null where chance alone agrees on everything: nothing was rated, or both raters only ever said the same one thing. */
export function cohenKappa(confusion: Confusion, confidence = 0.95): Kappa | null {
  const { truePositives, falsePositives, falseNegatives, trueNegatives } = confusion;
  const n = truePositives + falsePositives + falseNegatives + trueNegatives;
  if (n === 0) return null;
  const [first, second] = [(truePositives + falsePositives) / n, (truePositives + falseNegatives) / n];
  const expected = first * second + (1 - first) * (1 - second);
  if (expected === 1) return null;
  const { estimate, low, high } = wilsonInterval(truePositives + trueNegatives, n, confidence);
  const scaled = (share: number): number => (share - expected) / (1 - expected);
  return { kappa: scaled(estimate), low: scaled(low), high: scaled(high), observed: estimate, expected, n };
}
