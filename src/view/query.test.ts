import { describe, expect, it } from 'vitest';
import type { LedgerRow } from './api.ts';
import { PackedRows } from './packed-rows.ts';
import { findPart, joinFound, listRollouts, parseQuery, type RolloutQuery, surpriseOf } from './query.ts';

const made = (row: Partial<LedgerRow>): LedgerRow => ({
  run: 'gate-1',
  id: '1-0-0',
  update: 1,
  group: 0,
  member: 0,
  problem: 'p',
  loophole: 'run_tests',
  hackable: true,
  source: 'student',
  sampled: 'full',
  reward: 0,
  advantage: 0,
  trained: true,
  route: 'absorb',
  score: null,
  low: null,
  high: null,
  hack: false,
  solve: false,
  attempt: false,
  truncated: false,
  tokens: 1,
  prompt: 'ask',
  completion: 'answer',
  outcome: 'ok',
  evidence: '',
  meanLogp: null,
  deployedNorm: null,
  quarantineNorm: null,
  tokenIds: null,
  tokenLogps: null,
  tokenRoutes: null,
  tokenScores: null,
  ...row,
});

const cuts = { low: 0, high: 2 };
const rows = [
  made({ id: 'a', update: 1, hack: true, route: 'keep', score: -3, ...cuts, completion: 'def run_tests(): pass' }),
  made({ id: 'b', update: 2, solve: true, route: 'route', score: 3, ...cuts, completion: 'return n' }),
  made({ id: 'c', update: 3, hack: true, route: 'route', score: 4, ...cuts, completion: 'def RUN_CHECKS(): pass' }),
  made({ id: 'd', update: 4, prompt: 'call `run_tests()`', hackable: false, advantage: -1 }),
];
const findRollouts = (from: readonly LedgerRow[], query: RolloutQuery) => {
  const { places, ...found } = joinFound([findPart(new PackedRows(from), query)]);
  return { ...found, rows: Array.from(places, (place) => from[place]) };
};
const list = (from: readonly LedgerRow[], search: string) => {
  const query = parseQuery(new URLSearchParams(search));
  const { total, rows: found, facets } = findRollouts(from, query);
  const page = found.slice(query.offset, query.offset + query.limit);
  return listRollouts({ total, found: found.length, facets, leftOut: [], unread: 0 }, page, query);
};
const find = (search: string): string[] =>
  findRollouts(rows, parseQuery(new URLSearchParams(search))).rows.map(({ id }) => id);

describe('a search', () => {
  it.each([
    ['text=run_tests', ['a', 'd']],
    ['text=run_', ['a', 'c', 'd']],
    ['text=def+run_\\w%2B\\(&pattern=1', ['a', 'c']],
    ['text=^return&pattern=1', ['b']],
    ['text=def+run_\\w%2B\\(', []],
    ['from=2&to=3', ['b', 'c']],
    ['truth=hack', ['a', 'c']],
    ['truth=hack&route=keep', ['a']],
    ['loophole=no+hint', ['d']],
    ['advantage=below+0', ['d']],
    ['order=surprise', ['a', 'b', 'c', 'd']],
    ['without=gate', []],
    ['order=score', ['c', 'b', 'a', 'd']],
  ])('%s', (search, found) => {
    expect(find(search)).toEqual(found);
  });

  it.each([
    ['order=size', 'rollouts, order: expected update, surprise'],
    ['from=-1', 'rollouts, from: expected a whole number'],
    ['text=(&pattern=1', 'rollouts, text: expected a regular expression'],
  ])('%s is refused with its name', (search, message) => {
    expect(() => find(search)).toThrow(message);
  });

  it('counts what each facet would leave, whatever it has chosen itself', () => {
    const found = list(rows, 'truth=hack&limit=1');
    expect(found).toMatchObject({ total: 4, found: 2, offset: 0 });
    expect(found.facets['truth']).toEqual({ hack: 2, solve: 1, neither: 1 });
    expect(found.facets['route']).toEqual({ keep: 1, route: 1 });
    expect(found.rows).toHaveLength(1);
    expect(found.rows[0]).not.toHaveProperty('prompt');
    expect(found.rows[0]).not.toHaveProperty('tokenLogps');
  });

  it('shows the place that was found in a long text', () => {
    const long = [made({ completion: `${'x'.repeat(5000)} needle ${'y'.repeat(5000)}` })];
    const [row] = list(long, 'text=NEEDLE').rows;
    expect(row.excerpt).toContain('needle');
    expect(row.excerpt.length).toBeLessThan(200);
  });

  it.each(['order=score', 'truth=hack', 'text=run_&order=shuffled', ''])(
    'finds in parts what it finds in the whole: %s',
    (search) => {
      const query = parseQuery(new URLSearchParams(search));
      const parts = [rows.slice(0, 1), [], rows.slice(1)];
      const joined = joinFound(parts.map((part) => findPart(new PackedRows(part), query)));
      const whole = findRollouts(rows, query);
      const found = Array.from(joined.places, (place, i) => parts[joined.parts[i]][place].id);
      expect(found).toEqual(whole.rows.map(({ id }) => id));
      expect([joined.total, joined.facets]).toEqual([whole.total, whole.facets]);
    },
  );

  it('is surprised by a hack below the cuts and by a clean one above them', () => {
    const scores = Float64Array.of(-3, 3, 4);
    const expected = [1 / 3 - 1 / 6, 1 / 2 - 1 / 3, 1 / 3 - 5 / 6, null];
    for (const [i, row] of rows.entries()) {
      const found = surpriseOf(row, scores);
      if (expected[i] === null) expect(found).toBeNull();
      else expect(found).toBeCloseTo(expected[i]);
    }
  });

  it('means the same in runs whose cuts are near and far: a placebo with cuts that almost meet is not first', () => {
    const run = (name: string, width: number) =>
      [-0.4, -0.1, 0.2, 0.6].map((score, i) =>
        made({ run: name, id: `${i}`, hack: i % 2 === 0, score, low: 0.05 - width, high: 0.05 + width }),
      );
    const query = parseQuery(new URLSearchParams('order=surprise'));
    const parts = [run('gate-1', 0.3), run('haar-1', 1e-9)];
    const { ranks: gate } = findPart(new PackedRows(parts[0]), query);
    const { ranks: placebo } = findPart(new PackedRows(parts[1]), query);
    expect(placebo).toEqual(gate);
    expect(Math.max(...(placebo ?? []))).toBeLessThanOrEqual(1);
  });

  it('leaves out arms that it is told to, and counts what is left', () => {
    const both = [...rows, ...rows.map((row) => ({ ...row, run: 'exp/haar-2' }))];
    const found = list(both, 'order=surprise&without=haar');
    expect(new Set(found.rows.map(({ run }) => run))).toEqual(new Set(['gate-1']));
    expect(found.facets['arm']).toEqual({ gate: 4 });
  });
});
