import { describe, expect, it } from 'vitest';
import { rankAverage } from './rank.ts';

describe('rankAverage', () => {
  it('gives the examples of scipy.stats.rankdata and R rank(): equal values share the average', () => {
    expect(rankAverage([0, 2, 3, 2])).toEqual([1, 2.5, 4, 2.5]);
    expect(rankAverage([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])).toEqual([4.5, 1.5, 6, 1.5, 8, 11, 3, 10, 8, 4.5, 8]);
    expect(rankAverage([])).toEqual([]);
  });
});
