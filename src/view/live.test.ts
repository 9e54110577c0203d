import { expect, it } from 'vitest';
import { changedIds, restAfter } from './page/live.ts';

it('what appeared, grew or is gone has changed, and nothing else', () => {
  expect(changedIds({ a: 1, b: 2, c: 3 }, { a: 1, b: 5, d: 4 })).toEqual(['b', 'c', 'd']);
  expect(changedIds({ a: 1 }, { a: 1 })).toEqual([]);
});

it('a page rests five seconds after a change, fifty times as long as a slow one took, and never more than fifteen', () => {
  expect([0, 50, 200, 10_000].map(restAfter)).toEqual([5000, 5000, 10_000, 15_000]);
});
