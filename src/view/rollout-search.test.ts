import { expect, test } from 'vitest';
import { UserError } from '../base/index.ts';
import type { FoundEntry } from './catalogue.ts';
import type { FoundPart } from './query.ts';
import { RolloutSearch } from './rollout-search.ts';

const runs = ['a', 'b', 'c'].map((id) => ({ id }) as FoundEntry);
const part = (): FoundPart => ({ total: 4, places: Uint32Array.of(1, 2), ranks: null, facets: { truth: { hack: 2 } } });

test('a search tells what it found so far, and goes on where it was', async () => {
  const asked: string[] = [];
  const search = new RolloutSearch(runs, async ({ id }) => {
    asked.push(id);
    return part();
  });
  expect(search.found()).toMatchObject({ total: 0, unread: 3 });
  await search.advance(0);
  expect(search.found()).toMatchObject({ total: 4, unread: 2, runs: [{ id: 'a' }] });
  // Two who wait at once share the work.
  await Promise.all([search.advance(0), search.advance(Number.POSITIVE_INFINITY)]);
  expect(search.found()).toMatchObject({ total: 12, unread: 0, facets: { truth: { hack: 6 } } });
  await search.advance(0);
  expect(asked).toEqual(['a', 'b', 'c']);
});

test('a run that cannot be read is named; an error of the search itself ends it', async () => {
  const search = new RolloutSearch(runs, async ({ id }) => {
    if (id === 'b') throw new Error('damaged');
    return part();
  });
  await search.advance(Number.POSITIVE_INFINITY);
  expect(search.found()).toMatchObject({ total: 8, unread: 0, leftOut: [{ run: 'b', why: 'damaged' }] });
  expect([...search.found().parts]).toEqual([0, 0, 1, 1]);
  const refused = new RolloutSearch(runs, async () => {
    throw new UserError({ call: 'rollouts, text', expected: 'a regular expression', found: '(' });
  });
  await expect(refused.advance(0)).rejects.toThrow('expected a regular expression');
});
