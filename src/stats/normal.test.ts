import fc from 'fast-check';
import { cumulativeStdNormalProbability, probit } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { normalCdf, normalQuantile } from './normal.ts';

describe('normalCdf', () => {
  it.each([
    // Abramowitz and Stegun, table 26.1; the last two are R: pnorm(-10), pnorm(-37), digits from mpmath 1.3.
    [0, 0.5],
    [1, 0.841344746068543],
    [2, 0.977249868051821],
    [3, 0.99865010196837],
    [-10, 7.61985302416053e-24],
    [-37, 5.72557122252458e-300],
  ])('at %d is %d', (z, p) => {
    expect(Math.abs(normalCdf(z) / p - 1)).toBeLessThan(1e-13);
  });

  it('agrees with the four-digit table of simple-statistics', () => {
    for (let hundredths = -309; hundredths <= 309; hundredths += 1) {
      const z = hundredths / 100;
      expect(Math.abs(normalCdf(z) - cumulativeStdNormalProbability(z))).toBeLessThan(1.1e-4);
    }
  });

  it('is symmetric, grows, and joins where the method changes', () => {
    const number = fc.double({ min: -8, max: 8, noNaN: true });
    fc.assert(
      fc.property(number, number, (a, b) => {
        expect(normalCdf(a) + normalCdf(-a)).toBeCloseTo(1, 14);
        expect(normalCdf(Math.min(a, b))).toBeLessThanOrEqual(normalCdf(Math.max(a, b)));
      }),
    );
    expect(Math.abs(normalCdf(-2.5) / normalCdf(-2.4999999999) - 1)).toBeLessThan(1e-9);
  });
});

describe('normalQuantile', () => {
  it.each([
    // R: qnorm(c(0.975, 0.9, 1e-10)).
    [0.975, 1.959963984540054],
    [0.9, 1.2815515655446004],
    [1e-10, -6.361340902404056],
    [0.5, 0],
  ])('at %d is %d', (p, z) => {
    expect(normalQuantile(p)).toBeCloseTo(z, 12);
  });

  it('agrees with the approximation of simple-statistics, and inverts the distribution', () => {
    for (let p = 0.01; p < 1; p += 0.01) expect(Math.abs(normalQuantile(p) - probit(p))).toBeLessThan(0.01);
    fc.assert(
      fc.property(fc.double({ min: 1e-300, max: 1 - 1e-10, noNaN: true }), (p) => {
        expect(Math.abs(normalCdf(normalQuantile(p)) / p - 1)).toBeLessThan(1e-11);
      }),
    );
  });

  it('is infinite at 0 and 1 and refuses the rest', () => {
    expect(normalQuantile(0)).toBe(Number.NEGATIVE_INFINITY);
    expect(normalQuantile(1)).toBe(Number.POSITIVE_INFINITY);
    for (const p of [-0.1, 1.1, Number.NaN]) expect(() => normalQuantile(p)).toThrow(UserError);
    expect(() => normalCdf(Number.NaN)).toThrow(UserError);
  });
});
