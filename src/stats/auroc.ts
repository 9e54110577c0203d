/**
 * The area under the ROC curve as the Mann–Whitney probability θ = P(positive > negative) + ½ P(equal).
 * Interval: all θ with |θ̂ − θ| ≤ z SE(θ), SE the Hanley–McNeil standard error at θ (1982) in the symmetric form of
 * Newcombe (2006, part 2, method 5): it stays inside [0, 1] and does not collapse when the classes are separated.
 * SE² = θ(1 − θ) (1 + N* ((1 − θ)/(2 − θ) + θ/(1 + θ))) / (m n), N* = (m + n)/2 − 1.
 * Standard error at the estimate: DeLong, DeLong and Clarke-Pearson (1988), free of any model.
 */
import { type Numbers, requireFinite, requireLevel } from './inputs.ts';
import { normalQuantile } from './normal.ts';
import { rankAverage } from './rank.ts';
import { bisect } from './special.ts';
import { type Interval, mean, variance } from './summary.ts';

export interface AurocInterval extends Interval {
  readonly estimate: number;
  readonly positives: number;
  readonly negatives: number;
}

/** For each score of `own`, the share of `other` below it (equals count half). */
function placements(own: Numbers, other: Numbers): number[] {
  const together = rankAverage([...Array.from(own), ...Array.from(other)]);
  return rankAverage(own).map((rank, index) => (together[index] - rank) / other.length);
}

function requireScores(call: string, positives: Numbers, negatives: Numbers, least = 1): void {
  requireFinite(`${call} positives`, positives, least);
  requireFinite(`${call} negatives`, negatives, least);
}

export function auroc(positives: Numbers, negatives: Numbers): number {
  requireScores('auroc', positives, negatives);
  return mean(placements(positives, negatives));
}

/** DeLong: var(placements of positives)/m + var(placements of negatives)/n. 0 when the classes are separated. */
export function aurocStandardError(positives: Numbers, negatives: Numbers): number {
  requireScores('aurocStandardError', positives, negatives, 2);
  const ofPositives = variance(placements(positives, negatives)) / positives.length;
  const ofNegatives = variance(placements(negatives, positives)) / negatives.length;
  return Math.sqrt(ofPositives + ofNegatives);
}

function hanleyMcNeilError(theta: number, positives: number, negatives: number): number {
  const others = (positives + negatives) / 2 - 1;
  const spread = 1 + others * ((1 - theta) / (2 - theta) + theta / (1 + theta));
  return Math.sqrt((theta * (1 - theta) * spread) / (positives * negatives));
}

export function aurocInterval(positives: Numbers, negatives: Numbers, confidence = 0.95): AurocInterval {
  requireScores('aurocInterval', positives, negatives);
  requireLevel('aurocInterval', confidence);
  const z = normalQuantile((1 + confidence) / 2);
  const estimate = auroc(positives, negatives);
  const isOutside = (theta: number): boolean =>
    Math.abs(estimate - theta) > z * hanleyMcNeilError(theta, positives.length, negatives.length);
  return {
    estimate,
    low: estimate === 0 ? 0 : bisect(0, estimate, isOutside),
    high: estimate === 1 ? 1 : bisect(estimate, 1, (theta) => !isOutside(theta)),
    positives: positives.length,
    negatives: negatives.length,
  };
}
