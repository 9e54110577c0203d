/**
 * Two normal distributions fitted to weighted scores by expectation maximisation (Dempster, Laird and Rubin 1977), from Otsu's split as a
 * start and with a fixed number of rounds: a function of scores and weights alone. The cut is where the upper one becomes the likelier.
 */
import { otsuSplit, type ScoreSplit } from './calibration.ts';

interface Component {
  readonly weight: number;
  readonly mean: number;
  readonly variance: number;
}

const rounds = 50;
/** Share of the scores' own variance below which no component may shrink: one that holds a single score would take everything. */
const leastVariance = 1e-4;

/** The scores next to the cut on both sides; null where no cut divides the scores, or the components lie on one another. */
export function mixtureSplit(scores: Float64Array, weights: Float64Array): ScoreSplit | null {
  const start = otsuSplit(scores, weights);
  if (start === null) return null;
  const floor = leastVariance * componentOf(scores, weights, 0).variance;
  let shares = scores.map((score) => (score >= start.above ? 1 : 0));
  let [lower, upper] = fitBoth(scores, weights, shares, floor);
  for (let round = 0; round < rounds; round++) {
    shares = scores.map((score) => upperShare(score, lower, upper));
    [lower, upper] = fitBoth(scores, weights, shares, floor);
  }
  if (!(lower.mean < upper.mean)) return null;
  return splitAt(
    scores,
    (score) => score > lower.mean && (score >= upper.mean || upperShare(score, lower, upper) >= 0.5),
  );
}

function fitBoth(
  scores: Float64Array,
  weights: Float64Array,
  shares: Float64Array,
  floor: number,
): [Component, Component] {
  const upper = componentOf(scores, weights.map((weight, i) => weight * shares[i]), floor); // biome-ignore format: alike
  const lower = componentOf(scores, weights.map((weight, i) => weight * (1 - shares[i])), floor); // biome-ignore format: alike
  return [lower, upper];
}

function componentOf(scores: Float64Array, weights: Float64Array, floor: number): Component {
  const weight = weights.reduce((sum, each) => sum + each, 0);
  const mean = scores.reduce((sum, score, i) => sum + weights[i] * score, 0) / weight;
  const variance = scores.reduce((sum, score, i) => sum + weights[i] * (score - mean) ** 2, 0) / weight;
  return { weight, mean, variance: Math.max(variance, floor) };
}

/** The probability that a score comes from the upper component. */
function upperShare(score: number, lower: Component, upper: Component): number {
  const logOf = ({ weight, mean, variance }: Component): number =>
    Math.log(weight) - Math.log(variance) / 2 - (score - mean) ** 2 / (2 * variance);
  return 1 / (1 + Math.exp(logOf(lower) - logOf(upper)));
}

function splitAt(scores: Float64Array, isUpper: (score: number) => boolean): ScoreSplit | null {
  const above = Math.min(...scores.filter(isUpper));
  const below = Math.max(...scores.filter((score) => score < above));
  return Number.isFinite(above) && Number.isFinite(below) ? { below, above } : null;
}
