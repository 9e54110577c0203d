import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { mcnemarExact, pairedStudentTest, signTest, wilcoxonSignedRank } from './paired.ts';

const zeros = (n: number): number[] => new Array<number>(n).fill(0);

/** R's data set `sleep` (Student 1908). */
const firstDrug = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2];
const secondDrug = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

describe('pairedStudentTest', () => {
  it('gives what R prints for sleep: t = -4.0621, df = 9, p = 0.002833', () => {
    const { t, degreesOfFreedom, pValue, mean } = pairedStudentTest(firstDrug, secondDrug);
    expect(t).toBeCloseTo(-4.0621, 4);
    expect(degreesOfFreedom).toBe(9);
    expect(pValue).toBeCloseTo(0.002833, 6);
    expect(mean).toBeCloseTo(-1.58, 12);
  });
});

describe('wilcoxonSignedRank', () => {
  it('gives the example of wilcox.test in R (Hollander and Wolfe 1973, p. 29): V = 40, p = 0.01953', () => {
    const before = [1.83, 0.5, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.3];
    const after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    const result = wilcoxonSignedRank(before, after, 'greater');
    expect(result).toMatchObject({ rankSum: 40, n: 9, exact: true });
    expect(result.pValue).toBeCloseTo(0.01953125, 12);
  });

  it('gives the example of scipy.stats.wilcoxon (Darwin’s maize): p = 0.041259765625, greater 0.0206298828125', () => {
    const differences = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75];
    expect(wilcoxonSignedRank(differences, zeros(15)).pValue).toBeCloseTo(0.041259765625, 14);
    expect(wilcoxonSignedRank(differences, zeros(15), 'greater')).toMatchObject({ rankSum: 96 });
    expect(wilcoxonSignedRank(differences, zeros(15), 'greater').pValue).toBeCloseTo(0.0206298828125, 14);
  });

  it('approximates with ties and zeros as SciPy 1.17: wilcoxon(d, correction=True, method="asymptotic")', () => {
    const differences = [1, -1, 2, 2, 3, 0, 5, -4, 6, 6, 0, 7];
    const result = wilcoxonSignedRank(differences, zeros(12));
    expect(result).toMatchObject({ rankSum: 47.5, n: 10, exact: false });
    expect(result.pValue).toBeCloseTo(0.046425133303521854, 12);
    expect(wilcoxonSignedRank(differences, zeros(12), 'greater').pValue).toBeCloseTo(0.023212566651760927, 12);
  });

  it('approximates when a difference is zero, even without ties, as R does', () => {
    expect(wilcoxonSignedRank([1, -2, 3, 0], zeros(4))).toMatchObject({ n: 3, exact: false });
    expect(wilcoxonSignedRank([1, -2, 3], zeros(3))).toMatchObject({ n: 3, exact: true });
  });

  it('approximates from 50 differences on, as SciPy 1.17 does when asked', () => {
    const differences = Array.from({ length: 60 }, (_, i) => Math.round((Math.sin(i + 1) * 10 + 2) * 1e6) / 1e6);
    const result = wilcoxonSignedRank(differences, zeros(60));
    expect(result).toMatchObject({ rankSum: 1830 - 584, exact: false });
    expect(result.pValue).toBeCloseTo(0.014973895936315925, 12);
  });

  it('counts sign patterns: equal to enumeration for few differences', () => {
    const list = fc.uniqueArray(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(list, fc.nat(255), (sizes, signs) => {
        const differences = sizes.map((size, bit) => ((signs >> bit) & 1 ? size : -size));
        const { rankSum, pValue } = wilcoxonSignedRank(differences, zeros(sizes.length), 'greater');
        let atLeast = 0;
        for (let pattern = 0; pattern < 2 ** sizes.length; pattern += 1) {
          const sum = sizes.reduce((total, _, bit) => total + ((pattern >> bit) & 1 ? bit + 1 : 0), 0);
          if (sum >= rankSum) atLeast += 1;
        }
        expect(pValue).toBeCloseTo(atLeast / 2 ** sizes.length, 12);
      }),
    );
  });
});

describe('signTest and mcnemarExact', () => {
  it('give 0.109375 for 8 of 10 (Wikipedia, "Sign test": hind and front legs of deer)', () => {
    const hind = [142, 140, 144, 144, 142, 146, 149, 150, 142, 148];
    const front = [138, 136, 147, 139, 143, 141, 143, 145, 136, 146];
    expect(signTest(hind, front)).toMatchObject({ positive: 8, negative: 2, n: 10 });
    expect(signTest(hind, front).pValue).toBeCloseTo(0.109375, 14);
    expect(signTest(hind, front, 'greater').pValue).toBeCloseTo(0.0546875, 14);
  });

  it('give the exact p = 0.070 of 1 and 7 discordant pairs (Fagerland, Lydersen and Laake 2013)', () => {
    expect(mcnemarExact(1, 7).pValue).toBeCloseTo(0.0703125, 14);
    expect(mcnemarExact(7, 1, 'greater').pValue).toBeCloseTo(0.03515625, 14);
  });

  it('give 3.716e-05 for 150 and 86 (R: binom.test(86, 236)), approval ratings of Agresti 1990', () => {
    expect(Math.abs(mcnemarExact(150, 86).pValue / 3.7159361395713866e-5 - 1)).toBeLessThan(1e-11);
  });
});

describe('all paired tests', () => {
  const same = [1, 2, 3];
  it('claim nothing when nothing differs', () => {
    expect(signTest(same, same)).toMatchObject({ n: 0, pValue: 1 });
    expect(wilcoxonSignedRank(same, same)).toMatchObject({ n: 0, pValue: 1 });
    expect(mcnemarExact(0, 0).pValue).toBe(1);
    expect(() => pairedStudentTest(same, same)).toThrow(/values that differ/);
  });

  it('give probabilities, the same two-sided when the pairs are swapped, and the tails exchanged', () => {
    const value = fc.integer({ min: -5, max: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(value, value), { minLength: 2, maxLength: 12 }), (pairs) => {
        const first = pairs.map(([a]) => a);
        const second = pairs.map(([, b]) => b);
        for (const test of [signTest, wilcoxonSignedRank]) {
          const { pValue } = test(first, second);
          expect(pValue).toBeGreaterThan(0);
          expect(pValue).toBeLessThanOrEqual(1);
          expect(test(second, first).pValue).toBeCloseTo(pValue, 12);
          expect(test(second, first, 'less').pValue).toBeCloseTo(test(first, second, 'greater').pValue, 12);
        }
      }),
    );
  });

  it.each([
    ['no pairs', () => signTest([], [])],
    ['lists of different length', () => wilcoxonSignedRank([1, 2], [1])],
    ['NaN', () => pairedStudentTest([1, Number.NaN], [1, 2])],
    ['a negative count', () => mcnemarExact(-1, 3)],
  ])('refuse %s', (_, act) => {
    expect(act).toThrow(UserError);
  });
});
