/**
 * Student's t: the distribution (by the incomplete beta function), its noncentral form (the series of Lenth, AS 243),
 * the confidence interval of a mean, and the one-sample test.
 */
import { UserError } from '../base/index.ts';
import { type Alternative, pValueOf } from './hypothesis.ts';
import {
  type Numbers,
  requireFinite,
  requireLevel,
  requireNumber,
  requirePositive,
  requireProbability,
} from './inputs.ts';
import { normalCdf } from './normal.ts';
import { bisect, logGamma, regularizedBeta } from './special.ts';
import { type Interval, mean, standardError } from './summary.ts';

/** P(T ≥ t) for t ≥ 0. */
function upperTail(t: number, degreesOfFreedom: number): number {
  if (t === Infinity) return 0;
  const square = t * t;
  const x = degreesOfFreedom / (degreesOfFreedom + square);
  return 0.5 * regularizedBeta(x, square / (degreesOfFreedom + square), degreesOfFreedom / 2, 0.5);
}

export function studentCdf(t: number, degreesOfFreedom: number): number {
  requireNumber('studentCdf', t);
  requirePositive('studentCdf degrees of freedom', degreesOfFreedom);
  return t < 0 ? upperTail(-t, degreesOfFreedom) : 1 - upperTail(t, degreesOfFreedom);
}

/** The quantile at p; −∞ at 0 and ∞ at 1. */
export function studentQuantile(p: number, degreesOfFreedom: number): number {
  requireProbability('studentQuantile', p);
  requirePositive('studentQuantile degrees of freedom', degreesOfFreedom);
  if (p === 0.5) return 0;
  if (p < 0.5) return -upperQuantile(p, degreesOfFreedom);
  return upperQuantile(1 - p, degreesOfFreedom);
}

function upperQuantile(tail: number, degreesOfFreedom: number): number {
  if (tail === 0) return Infinity;
  let high = 1;
  while (upperTail(high, degreesOfFreedom) > tail) high *= 2;
  return bisect(0, high, (t) => upperTail(t, degreesOfFreedom) > tail);
}

/** P(T ≤ t) for T = (Z + shift) / √(χ²/degrees), t ≥ 0. */
export function noncentralStudentCdf(t: number, degreesOfFreedom: number, shift: number): number {
  requireNumber('noncentralStudentCdf shift', shift);
  requirePositive('noncentralStudentCdf degrees of freedom', degreesOfFreedom);
  if (!(t >= 0)) throw new UserError({ call: 'noncentralStudentCdf', expected: 't ≥ 0', found: `${t}` });
  if (shift === 0) return studentCdf(t, degreesOfFreedom);
  const x = (t * t) / (degreesOfFreedom + t * t);
  const y = degreesOfFreedom / (degreesOfFreedom + t * t);
  const half = (shift * shift) / 2;
  const logHalf = Math.log(half);
  // Beyond this index the Poisson weights of mean `half` are below 1e-16.
  const terms = Math.ceil(half + 12 * Math.sqrt(half) + 60);
  let sum = 0;
  for (let j = 0; j < terms; j += 1) {
    const even = Math.exp(j * logHalf - half - logGamma(j + 1));
    const odd = (shift / Math.SQRT2) * Math.exp(j * logHalf - half - logGamma(j + 1.5));
    sum += even * regularizedBeta(x, y, j + 0.5, degreesOfFreedom / 2);
    sum += odd * regularizedBeta(x, y, j + 1, degreesOfFreedom / 2);
  }
  return Math.min(1, normalCdf(-shift) + sum / 2);
}

export interface MeanInterval extends Interval {
  readonly mean: number;
  readonly n: number;
}

/** mean ± t · s/√n; needs two values: one value carries no claim. */
export function meanInterval(values: Numbers, confidence = 0.95): MeanInterval {
  requireFinite('meanInterval', values, 2);
  requireLevel('meanInterval', confidence);
  const centre = mean(values);
  const margin = studentQuantile((1 + confidence) / 2, values.length - 1) * standardError(values);
  return { mean: centre, low: centre - margin, high: centre + margin, n: values.length };
}

export interface StudentTest {
  readonly t: number;
  readonly degreesOfFreedom: number;
  readonly pValue: number;
  readonly mean: number;
}

/** Tests whether the mean differs from `expected`. */
export function oneSampleStudentTest(
  values: Numbers,
  expected = 0,
  alternative: Alternative = 'two-sided',
): StudentTest {
  requireFinite('oneSampleStudentTest', values, 2);
  requireFinite('oneSampleStudentTest expected mean', [expected]);
  const centre = mean(values);
  const error = standardError(values);
  // The rule of t.test in R: a spread within rounding of the mean is no spread.
  if (error <= 10 * Number.EPSILON * Math.abs(centre)) {
    throw new UserError({
      call: 'oneSampleStudentTest',
      expected: 'values that differ',
      found: `${values.length} times ${centre}`,
      fix: 'Without spread there is no t; use the sign or the permutation test.',
    });
  }
  const t = (centre - expected) / error;
  const degreesOfFreedom = values.length - 1;
  const pValue = pValueOf(alternative, studentCdf(t, degreesOfFreedom), studentCdf(-t, degreesOfFreedom));
  return { t, degreesOfFreedom, pValue, mean: centre };
}
