import { expect, test, vi } from 'vitest';

// The address of a page, which only a browser has.
vi.stubGlobal('location', { hash: '' });
vi.stubGlobal('document', { querySelector: () => null });
const { figureOf } = await import('./chart.tsx');

const line = (label: string, colour = '#000000') => ({ label, colour, points: [{ x: 1, y: 0.5 }] });
const keys = (...charts: readonly (readonly ReturnType<typeof line>[])[]): string[] =>
  figureOf({ title: '', charts: charts.map((lines) => ({ title: '', lines })) }).legend.map(({ label }) => label);

test('the legend names the lines of charts that have several: the title of another says what its one line is', () => {
  const routes = [line('keep', '#0072b2'), line('route', '#d55e00')];
  expect(keys(routes, [line('reward')], [line('KL')])).toEqual(['keep', 'route']);
  expect(keys([line('gate, seed 1')], [line('gate, seed 1')]), 'of one arm, that one').toEqual(['gate, seed 1']);
});
