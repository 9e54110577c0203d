import fc from 'fast-check';
import { binomialDistribution } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { binomialCdf, exactInterval, fisherExact, wilsonInterval } from './proportion.ts';

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

describe('exactInterval', () => {
  it.each([
    // R's binom.test.
    [0, 5, 0, 0.521823750104981],
    [1, 20, 0.00126508949794981, 0.248732762772028],
    [5, 5, 0.478176249895019, 1],
    [3, 20, 0.0320709371854637, 0.378926826545314],
    [17, 20, 0.621073173454686, 0.967929062814536],
    [81, 263, 0.252736745585271, 0.367621922601351],
  ])('of %i in %i is %d to %d', (successes, n, low, high) => {
    const interval = exactInterval(successes, n);
    expect(interval.low).toBeCloseTo(low, 12);
    expect(interval.high).toBeCloseTo(high, 12);
    expect(interval).toMatchObject({ estimate: successes / n, successes, n });
  });

  it('takes another level', () => {
    const { low, high } = exactInterval(2, 12, 0.9);
    expect([low, high]).toEqual([expect.closeTo(0.0304601656591372, 12), expect.closeTo(0.438105435115311, 12)]);
  });

  it('holds the true proportion at least as often as it says', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.double({ min: 0.01, max: 0.99, noNaN: true }), (n, p) => {
        let covered = 0;
        for (let k = 0; k <= n; k += 1) {
          const { low, high } = exactInterval(k, n);
          const share = binomialCdf(k, n, p) - (k === 0 ? 0 : binomialCdf(k - 1, n, p));
          if (low <= p && p <= high) covered += share;
        }
        expect(covered).toBeGreaterThanOrEqual(0.95 - 1e-9);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['n = 0', () => exactInterval(0, 0)],
    ['more successes than trials', () => exactInterval(3, 2)],
    ['a percentage for a level', () => exactInterval(1, 2, 95)],
  ])('refuses %s', (_, act) => {
    expect(act).toThrow(UserError);
  });
});

describe('fisherExact', () => {
  it.each([
    // R's fisher.test: successes and failures of the first and of the second; two-sided, less, greater.
    [0, 20, 16, 4, 1.54171455617506e-7, 7.70857278087533e-8, 1],
    [1, 4, 3, 2, 0.523809523809524, 0.261904761904762, 0.976190476190476],
    [3, 17, 3, 17, 1, 0.669290169290169, 0.669290169290169],
    [2, 8, 9, 1, 0.00547749464158133, 0.00273874732079066, 0.999940462014765],
    [10, 10, 1, 19, 0.00334205172914851, 0.99992734670154, 0.00167102586457425],
  ])('of %i:%i against %i:%i', (a, b, c, d, twoSided, less, greater) => {
    const groups = [
      { successes: a, n: a + b },
      { successes: c, n: c + d },
    ] as const;
    expect(fisherExact(...groups)).toBeCloseTo(twoSided, 11);
    expect(fisherExact(...groups, 'less')).toBeCloseTo(less, 11);
    expect(fisherExact(...groups, 'greater')).toBeCloseTo(greater, 11);
  });

  it('is 1 where there is nothing to tell apart', () => {
    expect(fisherExact({ successes: 0, n: 5 }, { successes: 0, n: 5 })).toBeCloseTo(1, 12);
    expect(fisherExact({ successes: 0, n: 0 }, { successes: 3, n: 5 })).toBeCloseTo(1, 12);
    expect(() => fisherExact({ successes: 2, n: 1 }, { successes: 0, n: 1 })).toThrow(UserError);
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
