/** Equality is Python's, on random pairs; `npm run check:grader` compares many more. */
import { expect, test } from 'vitest';
import { compareWithPython } from './equality.ts';

test('values, trees and literals are equal exactly where Python says so', () => {
  const { pairs, equal, differences } = compareWithPython(4000, 5);
  expect(differences).toEqual([]);
  expect(pairs).toBe(4000);
  expect(equal).toBeGreaterThan(1000);
  expect(pairs - equal).toBeGreaterThan(500);
});
