import { describe, expect, it } from 'vitest';
import { randomStream } from '../base/index.ts';
import { otsuSplit } from './calibration.ts';
import { mixtureSplit } from './mixture.ts';

const even = (scores: readonly number[]): Float64Array => Float64Array.from(scores, () => 1);
const splitOf = (scores: readonly number[], weights = even(scores)) => mixtureSplit(Float64Array.from(scores), weights);

/** `count` evenly spread quantiles of a normal distribution would do; draws of a fixed stream do as well. */
const normal = (count: number, mean: number, deviation: number, name: string): number[] =>
  Array.from({ length: count }, (_, i) => mean + deviation * randomStream(3, name).normalAt(i));

describe('the split between two normal distributions', () => {
  it('is half way between two that are alike', () => {
    const scores = Array.from({ length: 4001 }, (_, i) => i / 100 - 20);
    const density = (score: number, mean: number) => Math.exp(-((score - mean) ** 2) / 2);
    const weights = Float64Array.from(scores, (score) => density(score, -3) + density(score, 3));
    const split = splitOf(scores, weights);
    expect(split?.above).toBeCloseTo(0, 1);
    expect((split?.above ?? 0) - (split?.below ?? 0)).toBeCloseTo(0.01, 6);
  });

  it('is where the densities meet of N(0, 1), twice as heavy, and N(3, 2²)', () => {
    // By hand: ln 2 + ln 2 − x²/2 = −(x − 3)²/8, hence 3x² + 6x − 9 − 16 ln 2 = 0 and x = −1 + √(4 + (16/3) ln 2).
    const scores = Array.from({ length: 6001 }, (_, i) => i / 200 - 12);
    const density = (score: number, mean: number, deviation: number) =>
      Math.exp(-(((score - mean) / deviation) ** 2) / 2) / deviation;
    const weights = Float64Array.from(scores, (score) => 2 * density(score, 0, 1) + density(score, 3, 2));
    const [meeting, found] = [-1 + Math.sqrt(4 + (16 / 3) * Math.log(2)), splitOf(scores, weights)?.above ?? 0];
    // The rounds of the fit are fifty: near the place where the densities meet, which is 1.77, and far from Otsu's split.
    expect(Math.abs(found - meeting)).toBeLessThan(0.15);
    expect(Math.abs((otsuSplit(Float64Array.from(scores), weights)?.above ?? 0) - meeting)).toBeGreaterThan(0.15);
  });

  it('finds a small class that Otsu’s split cuts through the large one to reach', () => {
    const scores = [...normal(950, 0, 1, 'large'), ...normal(50, 8, 0.5, 'small')];
    const split = splitOf(scores);
    expect(split?.below).toBeLessThan(5);
    expect(split?.above).toBeGreaterThan(5);
    const otsu = otsuSplit(Float64Array.from(scores), even(scores));
    expect(otsu?.above).toBeLessThanOrEqual(split?.above ?? 0);
  });

  it.each([
    { what: 'equal scores', scores: [3, 3, 3], split: null },
    { what: 'one score', scores: [3], split: null },
    { what: 'two values', scores: [0, 1], split: { below: 0, above: 1 } },
    { what: 'a score far away', scores: [0, 0.1, 0.2, 50], split: { below: 0.2, above: 50 } },
  ])('of $what', ({ scores, split }) => {
    expect(splitOf(scores)).toEqual(split);
  });
});
