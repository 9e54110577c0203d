import { beforeAll, expect, it, vi } from 'vitest';
import { otherColour, rateColours } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';

vi.stubGlobal('location', { hash: '' });
let figures: typeof import('./gate-figures.tsx');
beforeAll(async () => {
  vi.stubGlobal('document', { querySelector: () => null });
  figures = await import('./gate-figures.tsx');
});

const row = (score: number, attempt: boolean, hack = false, update = 7) =>
  ({ score, attempt, hack, update }) as GateRow;
const clean = [row(0, false), row(0, false), row(0, false), row(1, false)];
const rows = [...clean, row(1, true, true), row(1, true, true), row(1, true)];

it('what attempts nothing stands above the line, hacks below it, hatched, and other attempts below those, each as tall as there are of its kind', () => {
  const { title, panels, legend } = figures.histogramOf(rows, { low: 0.2, high: 0.8 }, 7);
  const { marks, yNames } = panels[0];
  expect(yNames?.map(({ y, name }) => [y, name])).toEqual([-2, 0, 2].map((y) => [y, String(Math.abs(y))]));
  const bars = marks.flatMap((mark) =>
    mark.kind === 'bars' ? mark.bars.map(({ x0, y0, y1 }) => [mark.colour, x0 > 0.5, y0, y1]) : [],
  );
  expect(bars).toEqual([
    [otherColour, false, 0, 3],
    [otherColour, true, 0, 1],
    [rateColours.hack, true, -2, 0],
    [rateColours.attempt, true, -3, -2],
  ]);
  const hatched = marks.flatMap((mark) => (mark.kind === 'bars' && mark.hatched === true ? [mark.colour] : []));
  expect(hatched).toEqual([rateColours.hack]);
  expect(legend.map(({ colour, hatched: isHatched }) => (isHatched === true ? 'hatched' : colour))).toEqual([
    otherColour,
    'hatched',
    rateColours.attempt,
  ]);
  expect(marks.flatMap((mark) => (mark.kind === 'rule' ? [mark.x] : []))).toEqual([0.2, 0.8]);
  expect(title).toBe('Scores of update 7: 3 attempts, of them 2 hacks, and 4 others');
});

it('over updates, a cell is shaded by its clean rollouts, ringed by its attempts and dotted by its hacks', () => {
  const all = [...rows, row(0.5, false, false, 8)];
  const recorded = new Map([7, 8].map((update) => [update, { low: -9, high: 0.5 }]));
  const { panels, legend, title } = figures.heatFigure(all, recorded, null, 8);
  expect(title).toMatch(/^Scores of the \d+ rollouts that carried gradient, over 2 updates, \d+ of them attempts/);
  const { marks, x, y } = panels[0];
  expect({ x, y }, 'a cell of room for dots at the ends').toEqual({ x: [6.5, 8.5], y: [-1 / 40, 1 + 1 / 40] });
  const shaded = marks.map((mark) => (mark.kind === 'bars' ? mark.bars.map(({ x0 }) => x0 + 0.5) : []));
  expect(shaded.slice(0, 4)).toEqual([[], [7, 8], [], [7]]);
  const dots = marks.filter((mark) => mark.kind === 'dots');
  expect(
    dots.map(({ open = false, colour, points }) => [open, colour, points.map(({ x, size }) => [x, size])]),
  ).toEqual([
    [true, rateColours.attempt, [[7, 1.5]]],
    [false, rateColours.hack, [[7, 0.5 + 2 / 3]]],
  ]);
  expect(legend.map(({ label }) => label.split(/[ :,]/)[0])).toEqual(['neither', 'attempt', 'hack', 'kept', 'routed']);
  const lines = marks.filter((mark) => mark.kind === 'line');
  expect(
    lines.map(({ points }) => points.map((point) => point.y)),
    'cuts stay in the picture',
  ).toEqual([
    [0, 0, 0, 0],
    [0.5, 0.5, 0.5, 0.5],
  ]);
});

it('the one cut of a monitor is the only line and the only rule, and an update without one has neither', () => {
  const rules = (cuts: Parameters<typeof figures.histogramOf>[1]) =>
    figures.histogramOf(rows, cuts, 7).panels[0].marks.flatMap((mark) => (mark.kind === 'rule' ? [mark.label] : []));
  expect([rules({ low: null, high: 0.5 }), rules(undefined)]).toEqual([['route'], []]);
  const heat = figures.heatFigure(rows, new Map([[7, { low: null, high: 0.5 }]]), null, 7);
  const { marks } = heat.panels[0];
  expect(heat.legend.map(({ label }) => label).slice(3)).toEqual(['routed above']);
  expect(marks.flatMap((mark) => (mark.kind === 'line' ? [mark.points.length] : []))).toEqual([0, 2]);
});
