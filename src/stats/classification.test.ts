import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from '../base/errors.ts';
import { type Confusion, countConfusion, fBeta, precision, recall } from './classification.ts';

const confusionOf = (counts: readonly [number, number, number, number]): Confusion => ({
  truePositives: counts[0],
  falsePositives: counts[1],
  falseNegatives: counts[2],
  trueNegatives: counts[3],
});

describe('classification', () => {
  it('gives the binary example of the scikit-learn user guide ("Precision, recall and F-measures")', () => {
    const confusion = countConfusion([false, true, false, false], [false, true, false, true]);
    expect(confusion).toEqual(confusionOf([1, 0, 1, 2]));
    expect(precision(confusion)).toBe(1);
    expect(recall(confusion)).toBe(0.5);
    expect(fBeta(confusion, 0.5)).toBeCloseTo(0.8333333, 7);
    expect(fBeta(confusion, 1)).toBeCloseTo(0.6666667, 7);
    expect(fBeta(confusion, 2)).toBeCloseTo(0.5555556, 7);
  });

  it('F is the weighted harmonic mean of precision and recall (van Rijsbergen 1979)', () => {
    const count = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(
        fc.tuple(count, count, count, count),
        fc.double({ min: 0.1, max: 5, noNaN: true }),
        (counts, beta) => {
          const confusion = confusionOf(counts);
          const p = precision(confusion) ?? Number.NaN;
          const r = recall(confusion) ?? Number.NaN;
          expect(fBeta(confusion, beta)).toBeCloseTo(((1 + beta ** 2) * p * r) / (beta ** 2 * p + r), 12);
        },
      ),
    );
  });

  it('is null over nothing, and 0 over something', () => {
    expect(precision(confusionOf([0, 0, 3, 1]))).toBeNull();
    expect(recall(confusionOf([0, 3, 0, 1]))).toBeNull();
    expect(fBeta(confusionOf([0, 0, 0, 4]), 0.5)).toBeNull();
    expect(fBeta(confusionOf([0, 1, 0, 4]), 0.5)).toBe(0);
  });

  it('refuses counts that are not counts, beta 0, and lists of different length', () => {
    expect(() => precision(confusionOf([-1, 0, 0, 0]))).toThrow(UserError);
    expect(() => recall(confusionOf([0.5, 0, 0, 0]))).toThrow(UserError);
    expect(() => fBeta(confusionOf([1, 1, 1, 1]), 0)).toThrow(UserError);
    expect(() => countConfusion([true], [])).toThrow(UserError);
  });
});
