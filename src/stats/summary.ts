/**
 * Location, spread and quantiles of a list of numbers.
 */
import { UserError } from '../base/index.ts';
import { type Numbers, requireFinite, requireProbability, requireSameLength } from './inputs.ts';

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** The part of an interval that lies from `least` to `most`: that of a rate, or of a difference of two, ends where these do. */
export function within(least: number, most: number, { low, high }: Interval): Interval {
  return { low: Math.max(least, low), high: Math.min(most, high) };
}

function sum(values: Numbers, term: (value: number) => number): number {
  let total = 0;
  for (let index = 0; index < values.length; index += 1) total += term(values[index]);
  return total;
}

export function mean(values: Numbers): number {
  requireFinite('mean', values);
  return sum(values, (value) => value) / values.length;
}

/** The mean for telemetry, without checks: 0 for an empty list; NaN and infinities pass through. */
export function average(values: Numbers): number {
  return values.length === 0 ? 0 : sum(values, (value) => value) / values.length;
}

/** The unbiased variance, divided by n − 1. */
export function variance(values: Numbers): number {
  requireFinite('variance', values, 2);
  const centre = mean(values);
  return sum(values, (value) => (value - centre) ** 2) / (values.length - 1);
}

export function standardDeviation(values: Numbers): number {
  requireFinite('standardDeviation', values, 2);
  return Math.sqrt(variance(values));
}

/** Standard error of the mean, s / √n. */
export function standardError(values: Numbers): number {
  requireFinite('standardError', values, 2);
  return Math.sqrt(variance(values) / values.length);
}

/** The quantile of type 7 of Hyndman and Fan (1996), the default of R and NumPy: linear between order statistics at 1 + (n − 1) p. */
export function quantile(values: Numbers, p: number): number {
  requireFinite('quantile', values);
  requireProbability('quantile', p);
  const sorted = Float64Array.from(values).sort();
  const at = (sorted.length - 1) * p;
  const below = Math.floor(at);
  const above = Math.ceil(at);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

export function median(values: Numbers): number {
  return quantile(values, 0.5);
}

/**
 * The type-7 quantile of weighted values (Akinshin, Weighted quantile estimators, 2023): with n* = (Σw)²/Σw² the effective sample
 * size and h = 1 + (n* − 1) p, the average of the values over the stretch [(h − 1)/n*, h/n*] of cumulative weight.
 * Equal weights give `quantile`; a value of weight 0 counts as absent; the scale of the weights does not matter.
 */
export function weightedQuantile(values: Numbers, weights: Numbers, p: number): number {
  requireFinite('weightedQuantile', values);
  requireFinite('weightedQuantile weights', weights);
  requireSameLength('weightedQuantile', values, weights);
  requireProbability('weightedQuantile', p);
  const total = sum(weights, (weight) => weight);
  if (!(total > 0) || Array.from(weights).some((weight) => weight < 0)) {
    throw new UserError({
      call: 'weightedQuantile',
      expected: 'weights ≥ 0 with a sum above 0',
      found: `a sum of ${total} over ${weights.length} weights`,
    });
  }
  const effective = total ** 2 / sum(weights, (weight) => weight ** 2);
  const start = (effective - 1) * p;
  const order = Array.from(values, (_, index) => index).sort((a, b) => values[a] - values[b]);
  const lowest = values[order[0]];
  let cumulative = 0;
  let reached = 0;
  // The average is measured from the lowest value, so that equal values give themselves to the last bit.
  let excess = 0;
  for (const index of order) {
    cumulative += weights[index];
    const next = Math.min(1, Math.max(0, (effective * cumulative) / total - start));
    excess += (next - reached) * (values[index] - lowest);
    reached = next;
  }
  return lowest + excess;
}

export interface Peaks {
  readonly lower: readonly number[];
  readonly upper: readonly number[];
}

/**
 * The values in two clusters, where they have two: the widest gap between neighbours is at least `least`, and wider than either cluster.
 * A mean ± error would describe no value that there is. null where they do not.
 */
export function twoPeaks(values: Numbers, least: number): Peaks | null {
  requireFinite('twoPeaks', values);
  const sorted = Float64Array.from(values).sort();
  let split = 1;
  const gapAt = (i: number): number => sorted[i] - sorted[i - 1];
  for (let i = 2; i < sorted.length; i += 1) if (gapAt(i) > gapAt(split)) split = i;
  if (sorted.length < 2) return null;
  const widest = Math.max(sorted[split - 1] - sorted[0], sorted[sorted.length - 1] - sorted[split]);
  if (gapAt(split) < least || gapAt(split) <= widest) return null;
  return { lower: [...sorted.subarray(0, split)], upper: [...sorted.subarray(split)] };
}
