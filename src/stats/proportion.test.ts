import fc from 'fast-check';
import { binomialDistribution } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { binomialCdf, wilsonInterval } from './proportion.ts';

describe('wilsonInterval', () => {
  it.each([
    // Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998), table I.
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i in %i is %d to %d', (successes, n, low, high) => {
    const interval = wilsonInterval(successes, n);
    expect(interval.low).toBeCloseTo(low, 4);
    expect(interval.high).toBeCloseTo(high, 4);
    expect(interval).toMatchObject({ estimate: successes / n, successes, n });
  });

  it('stays in [0, 1], holds the estimate, mirrors, and narrows with n', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.double({ min: 0, max: 1, noNaN: true }), (n, share) => {
        const successes = Math.round(share * n);
        const { estimate, low, high } = wilsonInterval(successes, n);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(estimate);
        expect(high).toBeGreaterThanOrEqual(estimate);
        const mirror = wilsonInterval(n - successes, n);
        expect(mirror.low).toBeCloseTo(1 - high, 12);
        const wider = wilsonInterval(successes * 4, n * 4);
        expect(wider.high - wider.low).toBeLessThan(high - low);
      }),
    );
  });

  it.each([
    ['n = 0', () => wilsonInterval(0, 0)],
    ['more successes than trials', () => wilsonInterval(3, 2)],
    ['a fraction', () => wilsonInterval(0.5, 2)],
    ['a percentage for a level', () => wilsonInterval(1, 2, 95)],
    ['NaN', () => wilsonInterval(Number.NaN, 2)],
  ])('refuses %s', (_, act) => {
    expect(act).toThrow(UserError);
  });
});

describe('binomialCdf', () => {
  it('gives the p-value of the example of scipy.stats.binomtest: 3 or more of 15 at 0.1', () => {
    expect(1 - binomialCdf(2, 15, 0.1)).toBeCloseTo(0.18406106910639114, 13);
  });

  it('sums the distribution of simple-statistics', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 25 }), fc.double({ min: 0.01, max: 0.99, noNaN: true }), (n, p) => {
        // simple-statistics stops once the sum is within 1e-4 of 1.
        const distribution = binomialDistribution(n, p) ?? [];
        let sum = 0;
        for (const [successes, share] of distribution.entries()) {
          sum += share;
          expect(binomialCdf(Math.min(n, successes), n, p)).toBeCloseTo(sum, 9);
        }
      }),
    );
  });

  it('is 1 at n, also for no trials', () => {
    expect([binomialCdf(4, 4, 0.3), binomialCdf(0, 0, 0.5), binomialCdf(0, 3, 0), binomialCdf(2, 3, 1)]).toEqual([
      1, 1, 1, 0,
    ]);
  });
});
