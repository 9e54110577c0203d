/**
 * Bootstrap confidence intervals (Efron and Tibshirani 1993, chapters 13 and 14). Percentile: quantiles of the statistic
 * over resamples. BCa: the same at levels Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z₀ the bias correction (share of resamples
 * below the estimate, equals counting half) and a the acceleration (skewness of the jackknife values).
 * Resample r draws its units from the stream (seed, 'bootstrap', row r): the same seed gives the same interval.
 */
import { randomStream, UserError } from '../base/index.ts';
import { type Numbers, requireCount, requireFinite, requireLevel, requireSameLength } from './inputs.ts';
import { normalCdf, normalQuantile } from './normal.ts';
import { type Interval, mean, quantile } from './summary.ts';

export interface BootstrapOptions {
  readonly seed: number;
  readonly method?: 'percentile' | 'bca';
  readonly resamples?: number;
  readonly confidence?: number;
}

export interface BootstrapInterval extends Interval {
  readonly estimate: number;
  readonly n: number;
}

export type Statistic = (sample: Float64Array) => number;
/** A statistic of the units with these indices. */
export type IndexStatistic = (indices: Uint32Array) => number;

function checked(statistic: IndexStatistic): IndexStatistic {
  return (indices) => {
    const value = statistic(indices);
    if (Number.isFinite(value)) return value;
    throw new UserError({ call: 'bootstrap', expected: 'a finite statistic of every resample', found: `${value}` });
  };
}

function resample(n: number, statistic: IndexStatistic, seed: number, resamples: number): Float64Array {
  const indices = new Uint32Array(n);
  const stream = randomStream(seed, 'bootstrap');
  return Float64Array.from({ length: resamples }, (_, row) => {
    stream.at(0, row).fillIntegers(indices, n);
    return statistic(indices);
  });
}

/** Σ(m − θᵢ)³ / (6 (Σ(m − θᵢ)²)^1.5) over the values θᵢ that leave out unit i; 0 when they are all equal. */
function acceleration(n: number, statistic: IndexStatistic): number {
  const values = Array.from({ length: n }, (_, left) =>
    statistic(Uint32Array.from({ length: n - 1 }, (_unit, index) => (index < left ? index : index + 1))),
  );
  const centre = mean(values);
  const squares = values.reduce((sum, value) => sum + (centre - value) ** 2, 0);
  const cubes = values.reduce((sum, value) => sum + (centre - value) ** 3, 0);
  return squares === 0 ? 0 : cubes / (6 * squares ** 1.5);
}

function biasCorrection(replicates: Float64Array, estimate: number): number {
  const below = replicates.reduce((sum, value) => sum + (value < estimate ? 1 : value === estimate ? 0.5 : 0), 0);
  if (below === 0 || below === replicates.length) {
    throw new UserError({
      call: 'bootstrap bca',
      expected: 'resamples on both sides of the estimate',
      found: 'all of them on one side',
      fix: "Use method 'percentile', or a statistic that is not an extreme of the sample.",
    });
  }
  return normalQuantile(below / replicates.length);
}

/** Resamples whole units 0 … n − 1: for statistics of several columns, such as a correlation or a ratio. */
export function bootstrapIndices(n: number, statistic: IndexStatistic, options: BootstrapOptions): BootstrapInterval {
  const { seed, method = 'bca', resamples = 10_000, confidence = 0.95 } = options;
  requireCount('bootstrap units', n, 2);
  requireCount('bootstrap resamples', resamples, 100);
  requireLevel('bootstrap', confidence);
  const safe = checked(statistic);
  const estimate = safe(Uint32Array.from({ length: n }, (_, index) => index));
  const replicates = resample(n, safe, seed, resamples);
  let levelOf = (level: number): number => level;
  if (method === 'bca') {
    const bias = biasCorrection(replicates, estimate);
    const skew = acceleration(n, safe);
    levelOf = (level) => {
      const shifted = bias + normalQuantile(level);
      return normalCdf(bias + shifted / (1 - skew * shifted));
    };
  }
  const low = quantile(replicates, levelOf((1 - confidence) / 2));
  const high = quantile(replicates, levelOf((1 + confidence) / 2));
  return { estimate, low, high, n };
}

function pick(values: Numbers, indices: Uint32Array): Float64Array {
  const picked = new Float64Array(indices.length);
  for (let at = 0; at < indices.length; at += 1) picked[at] = values[indices[at]];
  return picked;
}

export function bootstrapInterval(values: Numbers, statistic: Statistic, options: BootstrapOptions): BootstrapInterval {
  requireFinite('bootstrapInterval', values, 2);
  return bootstrapIndices(values.length, (indices) => statistic(pick(values, indices)), options);
}

/** statistic(first) − statistic(second), the pairs resampled together. */
export function bootstrapPairedDifference(
  first: Numbers,
  second: Numbers,
  options: BootstrapOptions,
  statistic: Statistic = mean,
): BootstrapInterval {
  requireFinite('bootstrapPairedDifference', first, 2);
  requireFinite('bootstrapPairedDifference', second, 2);
  requireSameLength('bootstrapPairedDifference', first, second);
  const difference: IndexStatistic = (indices) => statistic(pick(first, indices)) - statistic(pick(second, indices));
  return bootstrapIndices(first.length, difference, options);
}
