import fc from 'fast-check';
import * as simple from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import {
  mean,
  median,
  quantile,
  standardDeviation,
  standardError,
  twoPeaks,
  variance,
  weightedQuantile,
} from './summary.ts';

// Adding 0 turns −0 into 0: order statistics do not tell them apart.
const number = fc.double({ min: -1e6, max: 1e6, noNaN: true }).map((value) => value + 0);
const numbers = fc.array(number, { minLength: 2, maxLength: 30 });
const probability = fc.double({ min: 0, max: 1, noNaN: true });

describe('mean and spread', () => {
  it('equal simple-statistics', () => {
    fc.assert(
      fc.property(numbers, (values) => {
        expect(mean(values)).toBeCloseTo(simple.mean(values), 6);
        expect(variance(values)).toBeCloseTo(simple.sampleVariance(values), 1);
        expect(standardDeviation(values)).toBeCloseTo(simple.sampleStandardDeviation(values), 6);
        expect(median(values)).toBeCloseTo(simple.median(values), 9);
      }),
    );
  });

  it('of a typed array, by hand: s² = 5/3 and SEM = √(5/12) of 1, 2, 3, 4', () => {
    const values = Float32Array.of(1, 2, 3, 4);
    expect(mean(values)).toBe(2.5);
    expect(variance(values)).toBeCloseTo(5 / 3, 15);
    expect(standardError(values)).toBeCloseTo(Math.sqrt(5 / 12), 15);
  });
});

describe('quantile', () => {
  it.each([
    // R: quantile(1:10, p), type 7, and numpy.percentile([10, 7, 4, 3, 2, 1], 50) from the NumPy documentation.
    [[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.25, 3.25],
    [[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 0.9, 9.1],
    [[10, 7, 4, 3, 2, 1], 0.5, 3.5],
    [[7], 0.3, 7],
  ])('of %j at %d is %d', (values, p, value) => {
    expect(quantile(values, p)).toBeCloseTo(value, 14);
  });

  it('runs from the least to the greatest value and never falls', () => {
    fc.assert(
      fc.property(numbers, probability, probability, (values, p, q) => {
        expect(quantile(values, 0)).toBe(Math.min(...values));
        expect(quantile(values, 1)).toBe(Math.max(...values));
        expect(quantile(values, Math.min(p, q))).toBeLessThanOrEqual(quantile(values, Math.max(p, q)) + 1e-9);
      }),
    );
  });
});

describe('weightedQuantile', () => {
  const values = [3, 1, 4, 1, 5, 9, 2, 6];
  const weights = [1, 0.5, 0.25, 2, 1, 0.1, 0.7, 0.3];
  it.each([
    // The reference implementation of Akinshin (arXiv 2304.07265, wquantile.type7), carried out in NumPy.
    [0.1, 1],
    [0.5, 2.1271278522274533],
    [0.9, 4.7907279971025],
    [1, 5.593263310394784],
  ])('at %d is %d', (p, value) => {
    expect(weightedQuantile(values, weights, p)).toBeCloseTo(value, 13);
  });

  it('equals the plain quantile for equal weights, whatever their scale', () => {
    fc.assert(
      fc.property(numbers, probability, fc.double({ min: 1e-3, max: 1e3, noNaN: true }), (list, p, weight) => {
        const equal = list.map(() => weight);
        expect(Math.abs(weightedQuantile(list, equal, p) - quantile(list, p))).toBeLessThan(1e-6);
      }),
    );
  });

  it('does not see values of weight 0, and gives equal values back to the last bit', () => {
    const weight = fc.double({ min: 1e-3, max: 1e3, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.tuple(number, weight), { minLength: 1, maxLength: 20 }), probability, (pairs, p) => {
        const list = pairs.map(([value]) => value);
        const own = pairs.map(([, share]) => share);
        const expected = weightedQuantile(list, own, p);
        const wider = weightedQuantile([-1e6, ...list, 1e6], [0, ...own, 0], p);
        expect(Math.abs(wider - expected)).toBeLessThan(1e-6);
        expect(
          weightedQuantile(
            list.map(() => 0.1),
            own,
            p,
          ),
        ).toBe(0.1);
      }),
    );
  });

  it('of recency weights follows the recent values', () => {
    const drifting = Array.from({ length: 400 }, (_, age) => (age < 50 ? 10 : 0));
    const recent = drifting.map((_, age) => 0.5 ** (age / 20));
    expect(quantile(drifting, 0.5)).toBe(0);
    expect(weightedQuantile(drifting, recent, 0.5)).toBe(10);
  });
});

describe('senseless input', () => {
  it.each([
    ['no values', () => mean([])],
    ['NaN', () => mean([1, Number.NaN])],
    ['infinity', () => quantile([1, Infinity], 0.5)],
    ['one value has no spread', () => variance([1])],
    ['one value has no standard error', () => standardError([1])],
    ['a probability above 1', () => quantile([1, 2], 1.5)],
    ['fewer weights than values', () => weightedQuantile([1, 2], [1], 0.5)],
    ['negative weights', () => weightedQuantile([1, 2], [3, -1], 0.5)],
    ['no weight at all', () => weightedQuantile([1, 2], [0, 0], 0.5)],
  ])('%s is an error', (_, act) => {
    expect(act).toThrow(UserError);
  });
});

describe('twoPeaks', () => {
  it('finds runs that hack and runs that do not', () => {
    expect(twoPeaks([0.46, 0, 0, 0.01, 0], 0.2)).toEqual({ lower: [0, 0, 0, 0.01], upper: [0.46] });
  });

  it.each([
    ['one value', [0.3]],
    ['a spread without a gap', [0.1, 0.2, 0.3, 0.4, 0.5]],
    ['a gap that is too small to matter', [0.01, 0.01, 0.12, 0.12]],
    ['a gap no wider than a cluster', [0, 0.3, 0.6]],
    ['equal values', [0.5, 0.5, 0.5]],
  ])('finds none in %s', (_, values) => {
    expect(twoPeaks(values, 0.2)).toBeNull();
  });

  it('refuses what is no number', () => {
    for (const values of [[], [Number.NaN]]) expect(() => twoPeaks(values, 0.2)).toThrow(UserError);
  });
});
