import { expect, test } from 'vitest';
import { judgedRows } from '../../test/judged-rows.ts';
import { parseQuery } from './query.ts';
import { RolloutSearch } from './rollout-search.ts';
import { RunRollouts } from './run-rollouts.ts';

const query = (text = '') => parseQuery(new URLSearchParams(text));
const opened = (asked: string[] = [], broken = '') =>
  ['a', 'b', 'c'].map((id) => ({
    id,
    open: async () => {
      asked.push(id);
      if (id === broken) throw new Error('damaged');
      return new RunRollouts(id, judgedRows([{ id: '1-0-0', hack: true }, { id: '1-0-1' }], id));
    },
  }));

test('a search tells what it found so far, and goes on where it was', async () => {
  const asked: string[] = [];
  const search = new RolloutSearch(opened(asked), query());
  expect(search.counts).toMatchObject({ total: 0, unread: 3 });
  await search.advance(0);
  expect(search.counts).toMatchObject({ total: 2, unread: 2 });
  expect((await search.list(0, 10)).rows.map(({ run, id }) => `${run} ${id}`)).toEqual(['a 1-0-0', 'a 1-0-1']);
  // Two who wait at once share the work.
  await Promise.all([search.advance(0), search.advance(Number.POSITIVE_INFINITY)]);
  expect(search.counts).toMatchObject({ total: 6, found: 6, unread: 0, facets: { truth: { hack: 3, neither: 3 } } });
  await search.advance(0);
  expect(asked).toEqual(['a', 'b', 'c']);
  expect((await search.rows(3, 2)).map(({ run, id }) => `${run} ${id}`)).toEqual(['b 1-0-1', 'c 1-0-0']);
});

test('pages of an order before all runs are searched', async () => {
  const search = new RolloutSearch(opened(), query('order=shuffled'));
  await search.advance(0);
  const [first] = (await search.list(0, 1)).rows;
  const [second] = (await search.list(1, 1)).rows;
  expect(search.counts.unread).toBe(2);
  expect([first.id, second.id].sort()).toEqual(['1-0-0', '1-0-1']);
});

test('a run that cannot be read is named; an error of the search itself ends it', async () => {
  const search = new RolloutSearch(opened([], 'b'), query());
  await search.advance(Number.POSITIVE_INFINITY);
  expect(search.counts).toMatchObject({ total: 4, unread: 0, leftOut: [{ run: 'b', why: 'damaged' }] });
  expect((await search.list(0, 10)).rows.map(({ run }) => run)).toEqual(['a', 'a', 'c', 'c']);
  const refused = new RolloutSearch(opened(), query('text=(&pattern=1'));
  await expect(refused.advance(0)).rejects.toThrow('expected a regular expression');
});
