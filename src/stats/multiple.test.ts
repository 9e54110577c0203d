import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { holmAdjust } from './multiple.ts';

describe('holmAdjust', () => {
  it('gives the example of Wikipedia, "Holm–Bonferroni method" (as p.adjust in R)', () => {
    const expected = [0.03, 0.06, 0.06, 0.02];
    for (const [index, value] of holmAdjust([0.01, 0.04, 0.03, 0.005]).entries()) {
      expect(value).toBeCloseTo(expected[index], 14);
    }
    expect(holmAdjust([])).toEqual([]);
    expect(holmAdjust([0.2])).toEqual([0.2]);
  });

  it('rejects what the step-down procedure rejects, and lies between the p-value and Bonferroni', () => {
    const pValues = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pValues, (list) => {
        const adjusted = holmAdjust(list);
        const sorted = list.toSorted((a, b) => a - b);
        const kept = sorted.findIndex((pValue, k) => pValue * (list.length - k) > 0.05);
        const rejected = kept < 0 ? list.length : kept;
        expect(adjusted.filter((pValue) => pValue <= 0.05).length).toBe(rejected);
        for (const [index, pValue] of list.entries()) {
          expect(adjusted[index]).toBeGreaterThanOrEqual(pValue);
          expect(adjusted[index]).toBeLessThanOrEqual(Math.min(1, list.length * pValue));
        }
      }),
    );
  });

  it('refuses what is not a probability', () => {
    for (const pValue of [-0.1, 1.1, Number.NaN]) expect(() => holmAdjust([0.5, pValue])).toThrow(UserError);
  });
});
