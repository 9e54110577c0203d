import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { weightedQuantile } from '../stats/index.ts';
import { otsuSplit, splitCuts } from './calibration.ts';

const even = (scores: readonly number[]) => Float64Array.from(scores, () => 1);
const splitOf = (scores: readonly number[], weights: readonly number[] | null = null) =>
  otsuSplit(Float64Array.from(scores), weights === null ? even(scores) : Float64Array.from(weights));

/** The variance within the two parts that a threshold makes, as it is defined; Otsu's split has the least. */
function varianceWithin(scores: readonly number[], weights: readonly number[], threshold: number): number {
  return [true, false].reduce((sum, upper) => {
    const part = [...scores.keys()].filter((i) => scores[i] >= threshold === upper);
    const total = part.reduce((all, i) => all + weights[i], 0);
    const mean = part.reduce((all, i) => all + weights[i] * scores[i], 0) / total;
    return sum + part.reduce((all, i) => all + weights[i] * (scores[i] - mean) ** 2, 0);
  }, 0);
}

describe("Otsu's split", () => {
  it.each([
    { what: 'two values', scores: [0, 1], split: { below: 0, above: 1 } },
    { what: 'two heaps', scores: [1, 2, 1, 9, 8, 2], split: { below: 2, above: 8 } },
    { what: 'heaps of unequal size', scores: [0, 0, 0, 0, 0, 1, 10], split: { below: 1, above: 10 } },
    { what: 'equal splits: the lowest', scores: [0, 1, 2], split: { below: 0, above: 1 } },
    { what: 'equal scores', scores: [3, 3, 3], split: null },
    { what: 'one score', scores: [3], split: null },
  ])('$what', ({ scores, split }) => {
    expect(splitOf(scores)).toEqual(split);
  });

  it('weighs scores: what is old and far away does not draw the cut', () => {
    expect(splitOf([-50, 0, 0, 1, 5, 6])).toEqual({ below: -50, above: 0 });
    expect(splitOf([-50, 0, 0, 1, 5, 6], [1e-9, 1, 1, 1, 1, 1])).toEqual({ below: 1, above: 5 });
  });

  it('lies between the 2nd and the 98th percentile: one score of a hundred is no class', () => {
    const scores = [...Array.from({ length: 99 }, (_, i) => i / 100), 1000];
    const split = splitOf(scores);
    expect(split?.above).toBeLessThan(1);
    const ten = [...Array.from({ length: 90 }, (_, i) => i / 100), ...new Array<number>(10).fill(1000)];
    expect(splitOf(ten)?.above).toBe(1000);
  });

  it('is what a search over all thresholds finds', () => {
    const scored = fc.record({ score: fc.integer({ min: -20, max: 20 }), weight: fc.integer({ min: 1, max: 8 }) });
    fc.assert(
      fc.property(fc.array(scored, { minLength: 1, maxLength: 25 }), (rows) => {
        const scores = rows.map(({ score }) => score);
        const weights = rows.map(({ weight }) => weight / 8);
        const found = splitOf(scores, weights);
        const [least, most] = [0.02, 0.98].map((p) => weightedQuantile(scores, weights, p));
        const values = [...new Set(scores)].sort((a, b) => a - b);
        const possible = values.slice(1).filter((above, i) => values[i] <= most && above >= least);
        if (found === null) {
          expect(possible).toEqual([]);
          return;
        }
        const best = Math.min(...possible.map((threshold) => varianceWithin(scores, weights, threshold)));
        expect(varianceWithin(scores, weights, found.above)).toBeCloseTo(best, 8);
        expect(found.below).toBe(values[values.indexOf(found.above) - 1]);
      }),
    );
  });
});

describe('cuts by Otsu', () => {
  const cutsOf = (scores: readonly number[], keepTail: number | null, tail = 0.25) =>
    splitCuts(splitOf(scores), Float64Array.from(scores), even(scores), { tail, keepTail });

  it.each([
    { what: 'the low cut is a quantile', scores: [0, 1, 2, 3, 20, 21], keepTail: 0.2, cuts: { low: 1, high: 20 } },
    { what: 'of the tail by default', scores: [0, 1, 2, 3, 20], keepTail: null, cuts: { low: 1, high: 20 } },
    { what: 'and never in the upper part', scores: [0, 1, 20, 21, 22, 23], keepTail: 0.45, cuts: { low: 1, high: 20 } },
    { what: 'it is the cut itself where all is kept', scores: [0, 1, 2, 20], keepTail: 1, cuts: { low: 2, high: 20 } },
    { what: 'there are none where nothing is divided', scores: [2, 2], keepTail: 0.2, cuts: null },
  ])('$what', ({ scores, keepTail, cuts }) => {
    expect(cutsOf(scores, keepTail)).toEqual(cuts);
  });
});
