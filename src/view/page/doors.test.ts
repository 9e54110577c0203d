import { expect, test, vi } from 'vitest';
import { type MadeResults, madeArm, madeResults } from '../../../test/lab/made-results.ts';
import { attributionTable, windowTable } from '../../measure/gate/tables.ts';
import { gateWindows } from '../../measure/index.ts';
import { numbersOf } from '../../report/chart.ts';
import { allFigures, allTables, type Table } from '../../report/index.ts';
import type { ExperimentPage, ListedRun } from '../api.ts';

// The address of a page, which only a browser has.
vi.stubGlobal('location', { hash: '' });
const { experimentDoor, gateDoor, ordered } = await import('./doors.ts');

const run = (arm: string, seed: number, status = 'finished') =>
  ({ id: `claim/${arm}-${seed}`, arm, seed, status }) as ListedRun;

const page = {
  id: 'claim',
  baseline: 'vanilla',
  runs: [run('vanilla', 2), run('vanilla', 3), run('gate', 1), run('gate', 3), run('late', 1, 'not started')],
} as unknown as ExperimentPage;

const set = 'test-original';

test.each([
  ['rates', { arm: 'gate', set }, 'answers/claim?arm=gate&set=test-original'],
  ['samples of training', { arm: 'gate', training: true as const }, 'rollouts/claim?arm=gate'],
  ['a loophole', { arm: 'gate', loophole: 'sentinel' }, 'answers/claim?arm=gate&loophole=sentinel'],
  [
    'a difference',
    { arm: 'gate', against: 'vanilla', set },
    'compare/claim%2Fgate-3?with=claim%2Fvanilla-3&set=test-original',
  ],
  ['a difference of arms without a common seed', { arm: 'gate', against: 'late' }, null],
  ['an arm that has not begun', { arm: 'late' }, null],
  ['no arm', {}, null],
])('%s of an experiment', (_name, about, to) => {
  expect(experimentDoor(page)([{ text: 'a row', ...about }, '0.5'], 1)).toBe(to === null ? null : `#/${to}`);
});

const arms: MadeResults[] = [
  ...madeArm('vanilla', { kind: 'vanilla' }, [[8, 1], [9, 0], [7, 2]]),
  ...madeArm('gate', { kind: 'activation' }, [[1, 4], [0, 5], [2, 4]]),
]; // biome-ignore format: one arm a line

test('other captions, columns and names of rows change no link', async () => {
  const results = await madeResults(arms);
  const figures = (await allFigures(results)).map((figure) => numbersOf(figure));
  const tables = [...allTables(results), ...figures];
  const links = (shown: readonly Table[]) =>
    shown.map(({ rows }) => rows.map((row) => row.map((_, column) => experimentDoor(page)(row, column))));
  const found = links(tables);
  expect(new Set(found.flat(2).map((link) => link?.split(/[/?]/)[1] ?? null))).toEqual(
    new Set(['answers', 'rollouts', 'compare']),
  );
  expect(found.flat(2)).toContain('#/answers/claim?arm=vanilla&set=test-original');
  const renamed = tables.map(({ columns, rows }) => ({
    title: 'x',
    columns: columns.map(() => 'x'),
    rows: rows.map((row) => row.map((cell) => (typeof cell === 'string' ? 'x' : { ...cell, text: 'x' }))),
  }));
  expect(links(renamed)).toEqual(found);
});

test('a window of a gate leads to the rollouts of its updates, a column of praised ones to those', () => {
  const door = gateDoor('claim/gate-1');
  const rollout = { update: 3, score: 1, low: 0, high: 2, trained: true, advantage: 1, hack: false, attempt: false };
  const { rows } = windowTable(
    gateWindows(
      [
        { ...rollout, route: 'keep' },
        { ...rollout, update: 12, route: 'keep' },
      ],
      10,
    ),
    false,
  );
  expect(door(rows[1], 1)).toBe('#/rollouts/claim%2Fgate-1?from=11&to=12');
  const praised = ['AUROC', '0.9', { text: '0.8', advantage: 'above 0' as const }];
  expect(door(praised, 2)).toBe('#/rollouts/claim%2Fgate-1?advantage=above+0');
  expect(door(praised, 1)).toBe('#/rollouts/claim%2Fgate-1');
});

test('a share of the deployed gradient leads to the rollouts that it came from', () => {
  const share = { route: 'absorb', deed: 'clean in a group with attempts', sign: '−', sampled: 'deployed' } as const;
  const shares = [{ ...share, rollouts: 3, share: 0.6 }, { ...share, deed: 'attempt', sign: '+', rollouts: 1, share: 0.4 }] as const; // biome-ignore format: rows
  const { rows } = attributionTable({ from: 1, to: 2, rollouts: 4, energy: 1, shares });
  const doors = rows.map((row) => gateDoor('claim/gate-1')(row, 0));
  expect(doors).toEqual([
    '#/rollouts/claim%2Fgate-1?attempt=no&route=absorb&advantage=below+0&sampled=deployed',
    '#/rollouts/claim%2Fgate-1?attempt=yes&route=absorb&advantage=above+0&sampled=deployed',
  ]);
});

test.each([
  ['surprise', '', { order: 'surprise', without: 'random,haar' }],
  ['surprise', 'arm=random', { order: 'surprise', without: null }],
  ['score', 'order=surprise&without=random', { order: 'score', without: null }],
  ['score', 'route=keep&without=random', { order: 'score' }],
])('the order %s of a search of "%s" has its placebos left out where they would fill it', (order, search, changes) => {
  expect(ordered(order, new URLSearchParams(search), ['random', 'haar'])).toEqual(changes);
});
