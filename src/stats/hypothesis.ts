/**
 * What tests share: the direction of the alternative, and the p-value of an observation from its two tails (the
 * probability of a statistic at most, and at least, as large as the observed one).
 */
export type Alternative = 'two-sided' | 'greater' | 'less';

export function pValueOf(alternative: Alternative, atMost: number, atLeast: number): number {
  if (alternative === 'less') return Math.min(1, atMost);
  if (alternative === 'greater') return Math.min(1, atLeast);
  return Math.min(1, 2 * Math.min(atMost, atLeast));
}
