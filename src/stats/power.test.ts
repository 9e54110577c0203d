import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { normalCdf, normalQuantile } from './normal.ts';
import { detectablePairedDifference, detectableProportionDifference } from './power.ts';

describe('detectableProportionDifference', () => {
  it('gives the example of power.prop.test in R: n = 50, p1 = 0.5, power 0.9 finds p2 = 0.8026', () => {
    expect(detectableProportionDifference(0.5, 50, 'increase', { power: 0.9 })).toBeCloseTo(0.3026, 4);
  });

  it('gives the other examples: n = 76.7 for 0.5 against 0.75 at power 0.9, so 77 find it and 76 do not', () => {
    const at = (n: number): number => detectableProportionDifference(0.5, n, 'increase', { power: 0.9 }) ?? Number.NaN;
    expect(at(77)).toBeLessThan(0.25);
    expect(at(76)).toBeGreaterThan(0.25);
  });

  it('is null where R says that no p2 exists: n = 30, p1 = 0.9 needs n = 74 even for p2 = 1', () => {
    expect(detectableProportionDifference(0.9, 30, 'increase')).toBeNull();
    expect(detectableProportionDifference(0.9, 73, 'increase')).toBeNull();
    expect(detectableProportionDifference(0.9, 74, 'increase')).toBeCloseTo(0.1, 3);
    expect(detectableProportionDifference(1, 1000, 'increase')).toBeNull();
  });

  it('has the power it claims, mirrors, and shrinks with n', () => {
    const baseline = fc.double({ min: 0.05, max: 0.95, noNaN: true });
    fc.assert(
      fc.property(baseline, fc.integer({ min: 200, max: 5000 }), (p1, n) => {
        const up = detectableProportionDifference(p1, n, 'increase');
        const mirrored = detectableProportionDifference(1 - p1, n, 'decrease');
        fc.pre(up !== null && mirrored !== null);
        expect(mirrored).toBeCloseTo(-up, 9);
        const p2 = p1 + up;
        const pooled = (p1 + p2) / 2;
        const z =
          (up * Math.sqrt(n) - normalQuantile(0.975) * Math.sqrt(2 * pooled * (1 - pooled))) /
          Math.sqrt(p1 * (1 - p1) + p2 * (1 - p2));
        expect(normalCdf(z)).toBeCloseTo(0.8, 9);
        expect(detectableProportionDifference(p1, 2 * n, 'increase')).toBeLessThan(up);
      }),
    );
  });
});

describe('detectablePairedDifference', () => {
  it.each([
    // The shift d with nct.sf(t.isf(0.025, n − 1), n − 1, d) = 0.8, over √n, from SciPy 1.17; delta of power.t.test in R.
    [2, 11.549888435882352],
    [3, 3.264043549819916],
    [5, 1.6819972822157454],
    [20, 0.6604424098185786],
    [200, 0.19906441905525105],
  ])('of %i pairs is %d standard deviations', (pairs, effect) => {
    expect(Math.abs(detectablePairedDifference(1, pairs) / effect - 1)).toBeLessThan(1e-9);
    expect(detectablePairedDifference(3, pairs)).toBeCloseTo(3 * effect, 8);
  });

  it('tends to (z + z) / √n for many pairs', () => {
    const expected = (normalQuantile(0.975) + normalQuantile(0.9)) / Math.sqrt(5000);
    expect(Math.abs(detectablePairedDifference(1, 5000, { power: 0.9 }) / expected - 1)).toBeLessThan(1e-3);
  });
});

describe('senseless input', () => {
  it.each([
    ['a baseline above 1', () => detectableProportionDifference(1.2, 10, 'increase')],
    ['n = 0', () => detectableProportionDifference(0.5, 0, 'increase')],
    ['alpha = 0', () => detectableProportionDifference(0.5, 10, 'decrease', { alpha: 0 })],
    ['a power below the level', () => detectablePairedDifference(1, 10, { power: 0.01 })],
    ['one pair', () => detectablePairedDifference(1, 1)],
    ['no spread', () => detectablePairedDifference(0, 10)],
    ['NaN', () => detectablePairedDifference(Number.NaN, 10)],
  ])('%s is an error', (_, act) => {
    expect(act).toThrow(UserError);
  });
});
