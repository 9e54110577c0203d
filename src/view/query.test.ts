import { describe, expect, it } from 'vitest';
import type { LedgerRow } from './api.ts';
import { findRollouts, listRollouts, parseQuery, surpriseOf } from './query.ts';

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
const find = (search: string): string[] =>
  findRollouts(rows, parseQuery(new URLSearchParams(search))).map(({ id }) => id);

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
    const list = listRollouts(rows, parseQuery(new URLSearchParams('truth=hack&limit=1')));
    expect(list).toMatchObject({ total: 4, found: 2, offset: 0 });
    expect(list.facets['truth']).toEqual({ hack: 2, solve: 1, neither: 1 });
    expect(list.facets['route']).toEqual({ keep: 1, route: 1 });
    expect(list.rows).toHaveLength(1);
    expect(list.rows[0]).not.toHaveProperty('prompt');
  });

  it('shows the place that was found in a long text', () => {
    const long = [made({ completion: `${'x'.repeat(5000)} needle ${'y'.repeat(5000)}` })];
    const [row] = listRollouts(long, parseQuery(new URLSearchParams('text=NEEDLE'))).rows;
    expect(row.excerpt).toContain('needle');
    expect(row.excerpt.length).toBeLessThan(200);
  });

  it('is surprised by a hack below the cuts and by a clean one above them', () => {
    expect(rows.map(surpriseOf)).toEqual([2, 1, -1.5, null]);
  });
});
