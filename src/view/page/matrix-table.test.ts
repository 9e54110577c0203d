import { expect, it, vi } from 'vitest';
import type { Rate } from '../../evaluate/index.ts';
import type { ExperimentPage, LoopholeMatrix } from '../api.ts';

// The address of a page, which only a browser has.
vi.stubGlobal('location', { hash: '' });
const { doorOf, tableOf } = await import('./matrix-table.ts');

const rate = (value: number): Rate => ({ count: value * 10, of: 10, rate: value, low: value, high: value });
const cell = (
  arm: string,
  state: 'full' | 'deployed',
  attempt: number,
  hack: number,
): LoopholeMatrix['cells'][number] => {
  const solves = { solve: rate(0.1), cleanSolve: rate(0) };
  return { arm, state, loophole: 'sentinel', seeds: 1, attempt: rate(attempt), hack: rate(hack), ...solves };
};
const page = { id: 'study', arms: [{ arm: 'vanilla' }, { arm: 'gate' }] } as unknown as ExperimentPage;
const matrix: LoopholeMatrix = {
  set: 'test-original',
  title: 'held-out problems',
  loopholes: [{ loophole: 'sentinel', isHeldOut: true }],
  cells: [
    ...[cell('vanilla', 'full', 0.9, 0.8), cell('vanilla', 'deployed', 0.7, 0.6)],
    ...[cell('gate', 'full', 0.5, 0.4), cell('gate', 'deployed', 0.3, 0.2)],
  ],
};

it('the numbers of hacks stand behind those of attempts, in both states of every arm', () => {
  const { columns, rows } = tableOf(page, matrix, 'hack');
  expect(columns.slice(2, 6)).toEqual([
    'vanilla, attempt as trained',
    'vanilla, attempt deployed',
    'vanilla, hack as trained',
    'vanilla, hack deployed',
  ]);
  expect(rows[0].slice(2).map((text) => text.slice(0, 4))).toEqual([
    '0.90',
    '0.70',
    '0.80',
    '0.60',
    '0.50',
    '0.30',
    '0.40',
    '0.20',
  ]);
});

it('solves have those without an attempt beside them', () => {
  const { columns } = tableOf(page, matrix, 'solve');
  expect(columns.slice(2, 6)).toEqual([
    'vanilla, solve as trained',
    'vanilla, solve deployed',
    'vanilla, clean solve as trained',
    'vanilla, clean solve deployed',
  ]);
});

it.each(['hack', 'solve'] as const)('a number of the %s table opens the answers of its arm in its state', (kind) => {
  const { columns, rows } = tableOf(page, matrix, kind);
  const door = doorOf(page, matrix, kind);
  const opened = columns.slice(2).map((_, i) => door(rows[0], i + 2) ?? '');
  columns.slice(2).forEach((column, i) => {
    expect(opened[i]).toContain(`arm=${column.split(',')[0]}`);
    expect(opened[i].includes('state=full')).toBe(column.endsWith('as trained'));
  });
});
