import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { equivalenceTest, meanRatio } from './equivalence.ts';
import { meanInterval, oneSampleStudentTest } from './student.ts';

/** Student's distribution with two degrees of freedom in closed form: F(t) = 1/2 + t / (2 √(2 + t²)). */
const upperTail = (t: number): number => 0.5 - t / (2 * Math.sqrt(2 + t * t));

describe('equivalenceTest', () => {
  // Mean 0.01 and standard error 0.01/√3: t = (0.05 − 0.01)√3/0.01 on the nearer side.
  const differences = [0, 0.01, 0.02];

  it('has the p-value of the nearer margin, by hand', () => {
    const { mean, pValue, test } = equivalenceTest(differences, 0.05);
    expect([mean, test]).toEqual([0.01, 'two one-sided t']);
    expect(pValue).toBeCloseTo(upperTail(4 * Math.sqrt(3)), 12);
  });

  it('does not depend on the direction', () => {
    const turned = differences.map((value) => -value);
    expect(equivalenceTest(turned, 0.05).pValue).toBeCloseTo(equivalenceTest(differences, 0.05).pValue, 12);
  });

  it('is significant at 0.05 exactly when the 90% interval lies inside the margins', () => {
    const { high } = meanInterval(differences, 0.9);
    expect(equivalenceTest(differences, high).pValue).toBeCloseTo(0.05, 10);
    expect(equivalenceTest(differences, high * 1.01).pValue).toBeLessThan(0.05);
    expect(equivalenceTest(differences, high * 0.99).pValue).toBeGreaterThan(0.05);
  });

  it('flips signs when there is no spread: one of 2³ patterns inside, all of them outside', () => {
    expect(equivalenceTest([0.01, 0.01, 0.01], 0.05)).toMatchObject({ pValue: 1 / 8, test: 'two one-sided sign flip' });
    expect(equivalenceTest([0.09, 0.09, 0.09], 0.05).pValue).toBe(1);
  });

  it.each([
    [[0.1], 0.05],
    [[0.1, 0.2], 0],
    [[0.1, Number.NaN], 0.05],
  ])('refuses %j with margin %j', (values, margin) => {
    expect(() => equivalenceTest(values, margin)).toThrow(UserError);
  });
});

describe('meanRatio', () => {
  const [tops, bottoms] = [
    [0.1, 0.14, 0.12, 0.16],
    [0.2, 0.22, 0.21, 0.25],
  ];

  it('has ends at which the mean of numerators − θ · denominators is just significant', () => {
    const found = meanRatio(tops, bottoms);
    expect(found?.ratio).toBeCloseTo(0.52 / 0.88, 12);
    for (const end of [found?.interval.low ?? 0, found?.interval.high ?? 0]) {
      const left = tops.map((top, i) => top - end * bottoms[i]);
      expect(oneSampleStudentTest(left).pValue).toBeCloseTo(0.05, 10);
    }
  });

  it('is the interval of the mean when the denominator is the constant 1', () => {
    const { low, high } = meanInterval(tops);
    const found = meanRatio(tops, [1, 1, 1, 1]);
    expect(found?.interval.low).toBeCloseTo(low, 12);
    expect(found?.interval.high).toBeCloseTo(high, 12);
  });

  it('is null exactly when the interval of the denominators contains 0', () => {
    const noisy = [0.02, -0.01, 0.03, 0];
    expect(meanInterval(noisy).low).toBeLessThan(0);
    expect(meanRatio(tops, noisy)).toBeNull();
    expect(
      meanRatio(
        tops,
        noisy.map((value) => value + 0.1),
      ),
    ).not.toBeNull();
  });
});
