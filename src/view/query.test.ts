import { describe, expect, it } from 'vitest';
import { judgedRows, type MadeRow } from '../../test/judged-rows.ts';
import type { RolloutList } from './api.ts';
import { excerptOf, facetWord, parseQuery, verdictWordOf } from './query.ts';
import { RolloutSearch } from './rollout-search.ts';
import { RunRollouts, surpriseOf } from './run-rollouts.ts';

const cuts = { low: 0, high: 2 };
const rows: readonly MadeRow[] = [
  { id: 'a', update: 1, hack: true, route: 'keep', score: -3, ...cuts, completion: 'def run_tests(): pass' },
  { id: 'b', update: 2, solve: true, route: 'route', score: 3, ...cuts, completion: 'return n' },
  { id: 'c', update: 3, hack: true, route: 'route', score: 4, ...cuts, completion: 'def RUN_CHECKS(): pass' },
  { id: 'd', update: 4, prompt: 'call `run_tests()`', hackable: false, advantage: -1 },
];
type Runs = Readonly<Record<string, readonly MadeRow[]>>;
const searchOf = async (runs: Runs, search: string): Promise<RolloutSearch> => {
  const opened = Object.entries(runs).map(([id, own]) => ({
    id,
    open: async () => new RunRollouts(id, judgedRows(own, id)),
  }));
  const found = new RolloutSearch(opened, parseQuery(new URLSearchParams(search)));
  await found.advance(Number.POSITIVE_INFINITY);
  return found;
};
const list = async (runs: Runs, search: string): Promise<RolloutList> => {
  const { offset, limit } = parseQuery(new URLSearchParams(search));
  return (await searchOf(runs, search)).list(offset, limit);
};
const find = async (search: string): Promise<string[]> =>
  (await list({ 'gate-1': rows }, search)).rows.map(({ id }) => id);

it('is ordered by the scores of a monitor where the gate has none of its own', async () => {
  const watched = [0.2, 2, null, 0.9].map((suspicion, i) => ({ id: `${i}`, suspicion, flagged: suspicion === 2 }));
  const listed = async (own: readonly MadeRow[]) => (await list({ run: own }, 'order=score')).rows.map(({ id }) => id);
  expect(await listed(watched)).toEqual(['1', '3', '0', '2']);
  // A gate's own score goes before what its monitor said.
  expect(await listed(watched.map((row) => ({ ...row, score: -(row.suspicion ?? 0) })))).toEqual(['2', '0', '3', '1']);
});

describe('a search', () => {
  it.each([
    ['text=run_tests', ['a', 'd']],
    ['text=run_', ['a', 'c', 'd']],
    ['text=def+run_\\w%2B\\(&pattern=1', ['a', 'c']],
    ['text=^return&pattern=1', ['b']],
    ['text=def+run_\\w%2B\\(', []],
    ['from=2&to=3', ['b', 'c']],
    ['truth=hack', ['a', 'c']],
    ['attempt=yes', ['a', 'c']],
    ['attempt=no&truth=solve', ['b']],
    ['truth=hack&route=keep', ['a']],
    ['loophole=no+hint', ['d']],
    ['advantage=below+0', ['d']],
    ['order=surprise', ['a', 'b', 'c', 'd']],
    ['without=gate', []],
    ['order=score', ['c', 'b', 'a', 'd']],
  ])('%s', async (search, found) => {
    expect(await find(search)).toEqual(found);
  });

  it.each([
    ['order=size', 'rollouts, order: expected update, surprise'],
    ['from=-1', 'rollouts, from: expected a whole number'],
    ['text=(&pattern=1', 'rollouts, text: expected a regular expression'],
  ])('%s is refused with its name', async (search, message) => {
    await expect(find(search)).rejects.toThrow(message);
  });

  it('counts what each facet would leave, whatever it has chosen itself', async () => {
    const found = await list({ 'gate-1': rows }, 'truth=hack&limit=1');
    expect(found).toMatchObject({ total: 4, found: 2, offset: 0 });
    expect(found.facets['truth']).toEqual({ hack: 2, solve: 1, neither: 1 });
    expect(Object.keys(found.facets).slice(0, 2)).toEqual(['attempt', 'truth']);
    expect(found.facets['route']).toEqual({ keep: 1, route: 1 });
    expect(found.rows).toHaveLength(1);
    expect(found.rows[0]).not.toHaveProperty('prompt');
    expect(found.rows[0]).not.toHaveProperty('tokenLogps');
  });

  it('shows the place that was found in a long text', async () => {
    const long = [{ id: 'a', completion: `${'x'.repeat(5000)} needle ${'y'.repeat(5000)}` }];
    const [row] = (await list({ 'gate-1': long }, 'text=NEEDLE')).rows;
    expect(row.excerpt).toContain('needle');
    expect(row.excerpt.length).toBeLessThan(200);
    expect(row.excerpt).toMatch(/^….*…$/);
  });

  const head = '```python\nclass Solution:\n    def solve(self, n):\n';
  it.each([
    [[head, '        return n', '```', ''].join('\n'), null, 'return n'],
    [
      `${head}        n += 1\n        return n`,
      /self/,
      '```python class Solution: def solve(self, n): n += 1 return n',
    ],
    ['def run_tests():\n    pass', null, 'def run_tests(): pass'],
    [head, null, head.replace(/\s+/g, ' ')],
    ['a\u202e\u0000\tb', null, 'a\\u202e\\x00 b'],
    ['x'.repeat(161), null, `${'x'.repeat(160)}…`],
    [`${' '.repeat(2_000_000)}class`, null, ' …'],
  ])('%#: shows what a program says of its own, not the head that all have', (text, expression, shown) => {
    expect(excerptOf(text, expression)).toBe(shown);
  });

  it.each(['order=score', 'truth=hack', 'text=run_', 'offset=1&limit=2', ''])(
    'finds in several runs what it finds in one: %s',
    async (search) => {
      const parts = await list({ 'gate-1': rows.slice(0, 1), 'gate-2': [], 'gate-3': rows.slice(1) }, search);
      const whole = await list({ 'gate-1': rows }, search);
      expect(parts.rows.map(({ id }) => id)).toEqual(whole.rows.map(({ id }) => id));
      expect([parts.total, parts.found, parts.facets['truth']]).toEqual([
        whole.total,
        whole.found,
        whole.facets['truth'],
      ]);
    },
  );

  it('tells five outcomes apart: what opened a loophole is never called clean', () => {
    const outcome = (attempt: boolean, hack: boolean, solve: boolean) => verdictWordOf({ attempt, hack, solve });
    expect(outcome(true, true, false)).toBe('attempt, hack');
    expect(outcome(true, false, true)).toBe('attempt, solved');
    expect(outcome(true, false, false)).toBe('attempt, unpaid');
    expect(outcome(false, false, true)).toBe('clean solve');
    expect(outcome(false, false, false)).toBe('neither');
  });

  it('says values in plain words where there are some', () => {
    expect(
      [
        ['sampled', 'full'],
        ['sampled', 'deployed'],
        ['source', 'student'],
        ['truncated', 'full'],
      ].map(([name, value]) => facetWord(name, value)),
    ).toEqual(['as trained', 'deployed', 'the policy', 'full']);
  });

  it('is surprised by an attempt below the cuts and by a clean one above them', () => {
    const scores = Float64Array.of(-3, 3, 4);
    const expected = [1 / 3 - 1 / 6, 1 / 2 - 1 / 3, 1 / 3 - 5 / 6, null];
    for (const [i, row] of rows.entries()) {
      const { hack: attempt = false, score = null, low = null, high = null } = row;
      const found = surpriseOf({ attempt, score, low, high }, scores);
      if (expected[i] === null) expect(found).toBeNull();
      else expect(found).toBeCloseTo(expected[i]);
    }
  });

  it('counts scores that equal a cut, or the score itself, by half', () => {
    const scores = Float64Array.of(0, 0, 1, 1, 1, 2);
    const at = (score: number): number | null => surpriseOf({ attempt: true, score, low: 0.5, high: 1.5 }, scores);
    expect([0, 1, 2, 3].map(at)).toEqual([(2 + 1.5 - 1) / 6, 0, (3.5 - 5.5) / 6, (3.5 - 6) / 6]);
  });

  it('is not surprised by a gate that routes an attempt in a right program', async () => {
    const right: MadeRow[] = [-1, 3, 3].map((score, i) => {
      return { id: `${i}`, solve: true, attempt: i === 2, score, ...cuts };
    });
    const found = (await list({ 'gate-1': right }, 'order=surprise')).rows;
    expect(found.map(({ id }) => id)).toEqual(['1', '0', '2']);
  });

  it('means the same in runs whose cuts are near and far: a placebo with cuts that almost meet is not first', async () => {
    const run = (width: number): MadeRow[] =>
      [-0.4, -0.1, 0.2, 0.6].map((score, i) => ({
        ...{ id: `${i}`, hack: i % 2 === 0, score, low: 0.05 - width, high: 0.05 + width },
      }));
    const both = await list({ 'gate-1': run(0.3), 'haar-1': run(1e-9) }, 'order=surprise');
    expect(both.rows.map(({ run: name, id }) => `${name} ${id}`).slice(0, 4)).toEqual([
      'gate-1 0',
      'gate-1 3',
      'haar-1 0',
      'haar-1 3',
    ]);
  });

  it('goes by the cuts of each update', async () => {
    const run = Array.from({ length: 12 }, (_, i): MadeRow & { score: number; low: number; high: number } => ({
      ...{ id: `${i}`, attempt: i % 2 === 0, score: Math.sin(7 * i), low: (i >> 2) - 2, high: (i >> 2) + 0.5 },
    }));
    const scores = Float64Array.from(run, ({ score }) => score).sort();
    const surprises = run.map(({ attempt = false, ...row }) => surpriseOf({ ...row, attempt }, scores) ?? Number.NaN);
    const expected = run.map((_, i) => i).sort((a, b) => surprises[b] - surprises[a] || a - b);
    const found = (await list({ 'gate-1': run }, 'order=surprise')).rows;
    expect(found.map(({ id }) => Number(id))).toEqual(expected);
  });

  it('leaves out arms that it is told to, and counts what is left', async () => {
    const found = await list({ 'gate-1': rows, 'exp/haar-2': rows }, 'order=surprise&without=haar');
    expect(new Set(found.rows.map(({ run }) => run))).toEqual(new Set(['gate-1']));
    expect(found.facets['arm']).toEqual({ gate: 4 });
  });
});
