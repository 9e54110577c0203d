import { gammaln } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { bisect, logGamma, regularizedBeta } from './special.ts';

describe('logGamma', () => {
  it.each([
    // R: lgamma(x), digits from mpmath 1.3.
    [0.01, 4.599479878042022],
    [0.5, 0.5723649429247001],
    [1.5, -0.1207822376352452],
    [10.3, 13.482036786138359],
    [1e4, 82099.71749644238],
  ])('at %d is %d', (x, value) => {
    expect(Math.abs(logGamma(x) / value - 1)).toBeLessThan(1e-13);
  });

  it('agrees with simple-statistics', () => {
    for (let x = 0.1; x < 50; x += 0.7) expect(logGamma(x)).toBeCloseTo(gammaln(x), 9);
  });
});

describe('regularizedBeta', () => {
  it.each([
    // scipy.special.betainc(a, b, x), SciPy 1.17.
    [0.3, 0.5, 2, 0.7394254526319747],
    [0.77, 50, 40, 0.9999958737392142],
    [0.01, 3, 0.5, 3.1367895544724357e-7],
  ])('of x = %d, a = %d, b = %d is %d', (x, a, b, value) => {
    expect(Math.abs(regularizedBeta(x, 1 - x, a, b) / value - 1)).toBeLessThan(1e-12);
    expect(regularizedBeta(1 - x, x, b, a)).toBeCloseTo(1 - value, 13);
  });

  it('is x^a for b = 1, and 0 and 1 at the ends', () => {
    for (const x of [0.1, 0.5, 0.9]) expect(regularizedBeta(x, 1 - x, 3, 1)).toBeCloseTo(x ** 3, 14);
    expect([regularizedBeta(0, 1, 2, 3), regularizedBeta(1, 0, 2, 3)]).toEqual([0, 1]);
  });
});

describe('bisect', () => {
  it('finds a root to the last bit', () => {
    const root = bisect(0, 2, (x) => x * x < 2);
    expect(Math.abs(root - Math.SQRT2)).toBeLessThanOrEqual(2 ** -52);
  });
});
