/**
 * Where the cuts of a gate lie, as functions of the run's scores and their weights alone (docs/science.md, section 5). `quantile`: low is
 * the quantile `keepTail`, high the quantile 1 − `tail`. `otsu` and `mixture`: high is a cut that divides the scores in two, low as
 * before but never in the upper part.
 */
import { weightedQuantile } from '../stats/index.ts';

/** score ≤ low is kept, score ≥ high is routed. */
export interface Cuts {
  readonly low: number;
  readonly high: number;
}

export interface Tails {
  /** Share of the scores in the upper tail, which are routed; `otsu` and `mixture` route what their cut says instead. */
  readonly tail: number;
  /** Share of the scores in the lower tail, which are kept; 0: nothing is; null: the same as `tail`. */
  readonly keepTail: number | null;
}

/** Null where the cuts would not be in order, as when all scores are equal. */
export function quantileCuts(scores: Float64Array, weights: Float64Array, { tail, keepTail }: Tails): Cuts | null {
  const low = weightedQuantile(scores, weights, keepTail ?? tail);
  const high = weightedQuantile(scores, weights, 1 - tail);
  return low < high ? { low, high } : null;
}

/** Cuts around a split of the scores in two; null where nothing divides them. */
export function splitCuts(
  split: ScoreSplit | null,
  scores: Float64Array,
  weights: Float64Array,
  { tail, keepTail }: Tails,
): Cuts | null {
  if (split === null) return null;
  return { low: Math.min(split.below, weightedQuantile(scores, weights, keepTail ?? tail)), high: split.above };
}

/** The percentiles between which Otsu's cut must lie, so that a few far scores do not draw it to themselves. */
const otsuRange = [0.02, 0.98] as const;

export interface ScoreSplit {
  /** The largest score of the lower part, and the smallest of the upper part. */
  readonly below: number;
  readonly above: number;
}

/** Otsu's method: the split of largest variance between the two parts, w₀ w₁ (μ₀ − μ₁)². Of equally good splits the lowest. */
export function otsuSplit(scores: Float64Array, weights: Float64Array): ScoreSplit | null {
  const [least, most] = otsuRange.map((share) => weightedQuantile(scores, weights, share));
  const order = [...scores.keys()].sort((a, b) => scores[a] - scores[b]);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const weighted = scores.reduce((sum, score, i) => sum + weights[i] * score, 0);
  let best: (ScoreSplit & { readonly variance: number }) | null = null;
  let [lower, lowerSum] = [0, 0];
  for (let at = 0; at + 1 < order.length; at++) {
    const [below, above] = [scores[order[at]], scores[order[at + 1]]];
    lower += weights[order[at]];
    lowerSum += weights[order[at]] * below;
    const upper = total - lower;
    if (below === above || below > most || above < least || !(lower > 0 && upper > 0)) continue;
    const variance = lower * upper * (lowerSum / lower - (weighted - lowerSum) / upper) ** 2;
    if (best === null || variance > best.variance) best = { below, above, variance };
  }
  return best === null ? null : { below: best.below, above: best.above };
}
