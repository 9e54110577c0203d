import fc from 'fast-check';
import { expect, test } from 'vitest';
import { largestFirst } from './rollout-search.ts';

test('sorts as comparisons do, and leaves equal numbers in their order', () => {
  const number = fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(0, -0, 1, -1, 0.1, -0.1, -Infinity, Infinity));
  fc.assert(
    fc.property(fc.array(number, { maxLength: 40 }), (numbers) => {
      const places = numbers.map((_, i) => i);
      const expected = places.sort((a, b) => (numbers[a] === numbers[b] ? a - b : numbers[b] - numbers[a]));
      expect([...largestFirst(Float64Array.from(numbers))]).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});
