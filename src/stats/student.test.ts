import fc from 'fast-check';
import { tTest } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { normalCdf } from './normal.ts';
import { meanInterval, noncentralStudentCdf, oneSampleStudentTest, studentCdf, studentQuantile } from './student.ts';

/** R's data set `sleep` (Student 1908): extra sleep of ten patients, first drug minus second. */
const sleepDifferences = [-1.2, -2.4, -1.3, -1.3, 0, -1, -1.8, -0.8, -4.6, -1.4];

describe('studentQuantile', () => {
  it.each([
    // NIST/SEMATECH e-Handbook, 1.3.6.7.2.
    [0.975, 1, 12.706],
    [0.975, 2, 4.303],
    [0.975, 5, 2.571],
    [0.975, 10, 2.228],
    [0.975, 30, 2.042],
    [0.975, 100, 1.984],
    [0.995, 4, 4.604],
    [0.9, 7, 1.415],
  ])('at %d with %i degrees of freedom is %d', (p, degrees, t) => {
    expect(studentQuantile(p, degrees)).toBeCloseTo(t, 3);
    expect(studentQuantile(1 - p, degrees)).toBeCloseTo(-t, 3);
  });

  it('inverts the distribution', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 1 - 1e-6, noNaN: true }),
        fc.double({ min: 0.5, max: 500, noNaN: true }),
        (p, degrees) => {
          expect(studentCdf(studentQuantile(p, degrees), degrees)).toBeCloseTo(p, 11);
        },
      ),
    );
  });

  it('is infinite at 0 and 1', () => {
    expect([studentQuantile(0, 3), studentQuantile(0.5, 3), studentQuantile(1, 3)]).toEqual([-Infinity, 0, Infinity]);
  });
});

describe('studentCdf', () => {
  it('gives digits of SciPy 1.17: t.cdf(-2.5, 3.5) and t.sf(40, 4)', () => {
    expect(studentCdf(-2.5, 3.5)).toBeCloseTo(0.03784732190474501, 14);
    expect(Math.abs(studentCdf(-40, 4) / 1.1670081613006339e-6 - 1)).toBeLessThan(1e-12);
  });

  it('is Cauchy for 1 and tends to normal for many degrees of freedom', () => {
    for (const t of [-3, -0.5, 0, 1, 20]) {
      expect(studentCdf(t, 1)).toBeCloseTo(0.5 + Math.atan(t) / Math.PI, 13);
      expect(studentCdf(t, 1e7)).toBeCloseTo(normalCdf(t), 6);
    }
  });
});

describe('noncentralStudentCdf', () => {
  it('gives the power of the example of power.t.test in R: n = 20 a group, delta = sd = 1, power 0.8689528', () => {
    const power = 1 - noncentralStudentCdf(studentQuantile(0.975, 38), 38, Math.sqrt(10));
    expect(power).toBeCloseTo(0.8689528, 7);
  });

  it('gives digits of SciPy 1.17: nct.cdf(1.5, 4, -0.5), and the central distribution for no shift', () => {
    expect(noncentralStudentCdf(1.5, 4, -0.5)).toBeCloseTo(0.9566264373352389, 12);
    expect(noncentralStudentCdf(1.5, 4, 0)).toBe(studentCdf(1.5, 4));
    expect(noncentralStudentCdf(1.5, 4, 1e-9)).toBeCloseTo(studentCdf(1.5, 4), 8);
  });
});

describe('mean', () => {
  it('has the interval and the test that R prints for t.test(extra ~ group, data = sleep, paired = TRUE)', () => {
    const { mean, low, high, n } = meanInterval(sleepDifferences);
    expect(mean).toBeCloseTo(-1.58, 12);
    expect(low).toBeCloseTo(-2.4598858, 7);
    expect(high).toBeCloseTo(-0.7001142, 7);
    expect(n).toBe(10);
    const test = oneSampleStudentTest(sleepDifferences);
    expect(test.t).toBeCloseTo(-4.0621, 4);
    expect(test.degreesOfFreedom).toBe(9);
    expect(test.pValue).toBeCloseTo(0.002833, 6);
    expect(oneSampleStudentTest(sleepDifferences, 0, 'less').pValue).toBeCloseTo(0.002833 / 2, 6);
    expect(oneSampleStudentTest(sleepDifferences, 0, 'greater').pValue).toBeCloseTo(1 - 0.002833 / 2, 6);
  });

  it('has the t of simple-statistics, which divides the squares by n and not n − 1', () => {
    const { t } = oneSampleStudentTest(sleepDifferences, -1);
    expect(t).toBeCloseTo(tTest(sleepDifferences, -1) * Math.sqrt(9 / 10), 12);
  });

  it('is inside the interval exactly when the test does not reject it', () => {
    const list = fc.array(fc.integer({ min: -10, max: 10 }), { minLength: 3, maxLength: 8 });
    fc.assert(
      fc.property(list, fc.double({ min: -10, max: 10, noNaN: true }), (values, expected) => {
        fc.pre(new Set(values).size > 1);
        const { low, high } = meanInterval(values, 0.9);
        const { pValue } = oneSampleStudentTest(values, expected);
        fc.pre(Math.abs(pValue - 0.1) > 1e-9);
        expect(pValue > 0.1).toBe(low < expected && expected < high);
      }),
    );
  });

  it.each([
    ['one value', () => meanInterval([1])],
    ['a confidence of 1', () => meanInterval([1, 2], 1)],
    ['values without spread', () => oneSampleStudentTest([0.1 + 0.2, 0.3, 0.3])],
    ['no degrees of freedom', () => studentCdf(1, 0)],
    ['a NaN', () => studentCdf(Number.NaN, 3)],
    ['a probability below 0', () => studentQuantile(-0.1, 3)],
    ['a negative noncentral t', () => noncentralStudentCdf(-1, 3, 1)],
  ])('refuses %s', (_, act) => {
    expect(act).toThrow(UserError);
  });
});
