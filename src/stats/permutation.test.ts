import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { signFlipTest } from './permutation.ts';
import { oneSampleStudentTest } from './student.ts';

/** Darwin's maize, crossed minus self-fertilised, in eighths of an inch. */
const maize = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48];
const options = { seed: 1 };

describe('signFlipTest', () => {
  it('counts the 863 of 32768 patterns of Fisher (The Design of Experiments, 1935, section 21)', () => {
    const greater = signFlipTest(maize, { ...options, alternative: 'greater' });
    expect(greater).toMatchObject({ mean: 314 / 15, n: 15, exact: true, pValue: 863 / 32768 });
    expect(signFlipTest(maize, options).pValue).toBe((2 * 863) / 32768);
    // 28 patterns have a sum of exactly 314, so 32768 − 835 have one of at most 314.
    expect(signFlipTest(maize, { ...options, alternative: 'less' }).pValue).toBe((32768 - 835) / 32768);
  });

  it('counts sums that are equal on paper as equal: 0.1 + 0.2 − 0.3', () => {
    expect(signFlipTest([0.1, 0.2, -0.3], options).pValue).toBe(1);
    expect(signFlipTest([0.1, 0.2, 0.3], options).pValue).toBe(2 / 8);
  });

  it('draws patterns beyond 20 differences: the same for the same seed, near t for normal-like data', () => {
    const differences = Array.from({ length: 40 }, (_, i) => Math.sin(i * 1.7) + 0.25);
    const result = signFlipTest(differences, { seed: 5, draws: 20_000 });
    expect(result.exact).toBe(false);
    expect(result).toEqual(signFlipTest(differences, { seed: 5, draws: 20_000 }));
    expect(result.pValue).not.toBe(signFlipTest(differences, { seed: 6, draws: 20_000 }).pValue);
    expect(Math.abs(result.pValue - oneSampleStudentTest(differences).pValue)).toBeLessThan(0.01);
  });

  it('drawn and counted, agrees with the exact answer for copies of one size, which is binomial', () => {
    // 21 differences of one size, 15 of them positive: P(X ≤ 6 or X ≥ 15) of 21 = 0.0783538818359375 (SciPy binomtest).
    const signs = Array.from({ length: 21 }, (_, i) => (i < 15 ? 1 : -1));
    const thirds = signs.map((sign) => sign / 3);
    const { pValue, exact } = signFlipTest(thirds, { seed: 2, draws: 40_000 });
    expect(exact).toBe(false);
    expect(Math.abs(pValue - 0.0783538818359375)).toBeLessThan(3.3 * Math.sqrt((0.078 * 0.922) / 40_000));
    expect(signFlipTest(signs, options)).toMatchObject({ exact: true, pValue: 0.0783538818359375 });
  });

  it('counts any number of whole differences without drawing, as the enumeration of all patterns does', () => {
    const whole = fc.array(fc.integer({ min: -5, max: 5 }), { minLength: 1, maxLength: 9 });
    const sides = fc.constantFrom('two-sided' as const, 'greater' as const, 'less' as const);
    fc.assert(
      fc.property(whole, sides, (differences, alternative) => {
        // Differences of 0 change no sum: with enough of them the patterns are counted by their sums.
        const padded = [...differences, ...Array<number>(20).fill(0)];
        const counted = signFlipTest(padded, { ...options, alternative });
        expect(counted.exact).toBe(true);
        expect(counted.pValue).toBeCloseTo(signFlipTest(differences, { ...options, alternative }).pValue, 12);
      }),
    );
    const many = Array.from({ length: 256 }, (_, i) => (i % 3) - 1);
    expect(signFlipTest(many, options)).toMatchObject({ exact: true, n: 256 });
  });

  it('never gives 0, even when no drawn pattern is as extreme', () => {
    const differences = Array.from({ length: 40 }, (_, i) => 1.5 + i);
    expect(signFlipTest(differences, { seed: 1, draws: 999 }).pValue).toBe(1 / 1000);
  });

  it('does not depend on the order or the common scale of the differences', () => {
    const list = fc.array(fc.integer({ min: -20, max: 20 }), { minLength: 1, maxLength: 9 });
    fc.assert(
      fc.property(list, fc.constantFrom(0.1, 3, 1e-8, 1e8), (differences, scale) => {
        const { pValue } = signFlipTest(differences, options);
        expect(signFlipTest(differences.toReversed(), options).pValue).toBe(pValue);
        expect(
          signFlipTest(
            differences.map((d) => d * scale),
            options,
          ).pValue,
        ).toBe(pValue);
      }),
    );
  });

  it('refuses no differences, NaN and no draws', () => {
    for (const differences of [[], [Number.NaN]]) expect(() => signFlipTest(differences, options)).toThrow(UserError);
    expect(() => signFlipTest([1], { seed: 1, draws: 0 })).toThrow(UserError);
  });
});
