/**
 * Tests that a mean difference is small, and the interval of a ratio of means.
 * Equivalence: two one-sided tests (Schuirmann 1987). The mean lies inside (−margin, margin) at level α when both "it is at most −margin" and
 * "it is at least margin" are rejected; the p-value is the larger of the two. That is the same as the (1 − 2α) interval lying inside.
 * Ratio: Fieller's interval (1954), all θ for which mean(numerators − θ·denominators) does not differ from 0. It is bounded only
 * when the denominators' own interval leaves out 0.
 */
import { type Numbers, requireFinite, requireLevel, requirePositive, requireSameLength } from './inputs.ts';
import { signFlipTest } from './permutation.ts';
import { meanInterval, oneSampleStudentTest, studentQuantile } from './student.ts';
import { type Interval, mean, standardError } from './summary.ts';

export interface EquivalenceTest {
  readonly mean: number;
  readonly margin: number;
  readonly pValue: number;
  /** The interval of confidence 0.9 that belongs to level 0.05. */
  readonly interval: Interval;
  readonly test: 'two one-sided t' | 'two one-sided sign flip';
}

/** Tests whether the mean of the differences lies inside (−margin, margin); without spread, by flipping signs. */
export function equivalenceTest(differences: Numbers, margin: number): EquivalenceTest {
  requireFinite('equivalenceTest', differences, 2);
  requirePositive('equivalenceTest margin', margin);
  const { mean: centre, low, high } = meanInterval(differences, 0.9);
  const shifted = (by: number): number[] => Array.from(differences, (difference) => difference + by);
  const isFlat = standardError(differences) <= 1e-12;
  const pValue = isFlat
    ? Math.max(
        signFlipTest(shifted(margin), { seed: 1, alternative: 'greater' }).pValue,
        signFlipTest(shifted(-margin), { seed: 1, alternative: 'less' }).pValue,
      )
    : Math.max(
        oneSampleStudentTest(differences, -margin, 'greater').pValue,
        oneSampleStudentTest(differences, margin, 'less').pValue,
      );
  const test = isFlat ? 'two one-sided sign flip' : 'two one-sided t';
  return { mean: centre, margin, pValue, interval: { low, high }, test };
}

export interface MeanRatio {
  readonly ratio: number;
  readonly n: number;
  readonly interval: Interval;
}

/** mean(numerators) / mean(denominators) over paired units; null when the denominators' interval contains 0. */
export function meanRatio(numerators: Numbers, denominators: Numbers, confidence = 0.95): MeanRatio | null {
  requireFinite('meanRatio', numerators, 2);
  requireFinite('meanRatio', denominators, 2);
  requireSameLength('meanRatio', numerators, denominators);
  requireLevel('meanRatio', confidence);
  const n = numerators.length;
  const [top, bottom] = [mean(numerators), mean(denominators)];
  const sumOf = (term: (index: number) => number): number =>
    Array.from({ length: n }, (_, index) => term(index)).reduce((sum, value) => sum + value, 0);
  // t² times the (co)variances of the two means.
  const scale = studentQuantile((1 + confidence) / 2, n - 1) ** 2 / (n * (n - 1));
  const a = bottom ** 2 - scale * sumOf((i) => (denominators[i] - bottom) ** 2);
  const b = top * bottom - scale * sumOf((i) => (numerators[i] - top) * (denominators[i] - bottom));
  const c = top ** 2 - scale * sumOf((i) => (numerators[i] - top) ** 2);
  if (a <= 0) return null;
  const root = Math.sqrt(Math.max(0, b ** 2 - a * c));
  return { ratio: top / bottom, n, interval: { low: (b - root) / a, high: (b + root) / a } };
}
