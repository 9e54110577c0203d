import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, nearestName } from './nearest.ts';

describe('editDistance', () => {
  it.each([
    // Wagner and Fischer's and Wikipedia's examples ("Levenshtein distance", "Damerau–Levenshtein distance").
    ['kitten', 'sitting', 3],
    ['saturday', 'sunday', 3],
    ['ca', 'abc', 3],
    ['ab', 'ba', 1],
    ['', 'abc', 3],
    ['same', 'same', 0],
  ])('of %j and %j is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it('is symmetric, 0 only for equals, and between the length difference and the longer length', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('nearestName', () => {
  const names = ['learningRate', 'learningRateWarmup', 'group', 'seed', 'maxNewTokens'];
  it.each([
    ['learningrate', 'learningRate'],
    ['learnign-rate', 'learningRate'],
    ['sed', 'seed'],
    ['maxTokens', 'maxNewTokens'],
    ['temperature', undefined],
    ['x', undefined],
  ])('of %j is %j', (name, nearest) => {
    expect(nearestName(name, names)).toBe(nearest);
  });

  it('takes the earlier of equally near names', () => {
    expect(nearestName('bat', ['cat', 'hat'])).toBe('cat');
  });
});
