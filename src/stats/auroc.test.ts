import fc from 'fast-check';
import { wilcoxonRankSum } from 'simple-statistics';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { auroc, aurocInterval, aurocStandardError } from './auroc.ts';

const repeat = (counts: readonly number[]): number[] =>
  counts.flatMap((count, rating) => new Array<number>(count).fill(rating + 1));

/** Hanley and McNeil (1982): ratings 1 to 5 of 51 abnormal and 58 normal CT images. */
const abnormal = repeat([3, 2, 2, 11, 33]);
const normal = repeat([33, 6, 6, 11, 2]);

const score = fc.integer({ min: 0, max: 6 });
const scores = fc.array(score, { minLength: 1, maxLength: 12 });

describe('auroc', () => {
  it('gives 0.893 for the CT ratings, and 0.75 for the example of sklearn.metrics.roc_auc_score', () => {
    expect(auroc(abnormal, normal)).toBeCloseTo(0.8931710615, 9);
    expect(auroc([0.35, 0.8], [0.1, 0.4])).toBe(0.75);
  });

  it('is the rank sum of simple-statistics, and the share of won pairs, ties counting half', () => {
    fc.assert(
      fc.property(scores, scores, (positives, negatives) => {
        const [m, n] = [positives.length, negatives.length];
        const won = positives.flatMap((p) => negatives.map((q): number => (p > q ? 1 : p === q ? 0.5 : 0)));
        const area = auroc(positives, negatives);
        expect(area).toBeCloseTo(won.reduce((sum, share) => sum + share, 0) / (m * n), 12);
        expect(area).toBeCloseTo((wilcoxonRankSum(positives, negatives) - (m * (m + 1)) / 2) / (m * n), 12);
        expect(auroc(negatives, positives)).toBeCloseTo(1 - area, 12);
      }),
    );
  });
});

describe('aurocStandardError', () => {
  it('is DeLong’s: 0.0307, interval 0.83295 to 0.95339, in the roctab entry of the Stata manual on these ratings', () => {
    const error = aurocStandardError(abnormal, normal);
    expect(error).toBeCloseTo(0.0307, 4);
    expect(auroc(abnormal, normal) - 1.959964 * error).toBeCloseTo(0.83295, 5);
    expect(auroc(abnormal, normal) + 1.959964 * error).toBeCloseTo(0.95339, 5);
  });

  it('is 0 for separated classes, which is why the interval does not use it', () => {
    expect(aurocStandardError([3, 4], [1, 2])).toBe(0);
  });
});

describe('aurocInterval', () => {
  it.each([
    // The quartic of Newcombe's method 5 (as in the R package auRoc, getAUCCImwu), solved with numpy.roots.
    ['CT ratings', abnormal, normal, 0.8116884072884332, 0.940006182640461],
    ['ten separated from ten', repeat([0, 10]), repeat([10]), 0.8002136128811083, 1],
    ['two and two', [0.35, 0.8], [0.1, 0.4], 0.22718747070313133, 0.966781569845538],
  ])('of %s', (_, positives, negatives, low, high) => {
    const interval = aurocInterval(positives, negatives);
    expect(interval.low).toBeCloseTo(low, 9);
    expect(interval.high).toBeCloseTo(high, 9);
    expect(interval).toMatchObject({ positives: positives.length, negatives: negatives.length });
  });

  it('stays in [0, 1], holds the estimate, mirrors with the classes, and grows with confidence', () => {
    fc.assert(
      fc.property(scores, scores, (positives, negatives) => {
        const { estimate, low, high } = aurocInterval(positives, negatives);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
        expect(low).toBeLessThanOrEqual(estimate);
        expect(high).toBeGreaterThanOrEqual(estimate);
        expect(high - low).toBeGreaterThan(0);
        expect(aurocInterval(negatives, positives).low).toBeCloseTo(1 - high, 9);
        const narrow = aurocInterval(positives, negatives, 0.8);
        expect(narrow.high - narrow.low).toBeLessThan(high - low);
      }),
    );
  });

  it.each([
    ['no positives', () => auroc([], [1])],
    ['no negatives', () => aurocInterval([1], [])],
    ['NaN scores', () => auroc([Number.NaN], [1])],
    ['one negative for a DeLong error', () => aurocStandardError([1, 2], [1])],
    ['a level of 0', () => aurocInterval([1], [0], 0)],
  ])('refuses %s', (_, act) => {
    expect(act).toThrow(UserError);
  });
});
