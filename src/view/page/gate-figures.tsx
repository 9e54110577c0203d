/** The scores of a gate as figures: over updates with their cuts, and those of one update. */
import type { Figure, Mark } from '../../report/draw/index.ts';
import { barKey, otherColour, rateColours, routeColours, ticks, xUnder } from '../../report/draw/index.ts';
import type { GateRow } from '../api.ts';
import type { WhatIf } from '../what-if.ts';
import { changeParameters } from './address.ts';
import { Drawing, fitted } from './parts.tsx';

type Cuts = WhatIf['cuts'];

/** The least and the largest score; a spread of so many arguments would be too long a call. */
export function scoreRange(rows: readonly Pick<GateRow, 'score'>[]): [least: number, most: number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { score } of rows) [least, most] = [Math.min(least, score), Math.max(most, score)];
  return [least, most];
}

const countOf = (rows: readonly GateRow[], label: 'attempt' | 'hack'): number =>
  rows.filter((row) => row[label]).length;

const [widths, bins] = [{ width: 960, height: 320 }, 40];
const shades = ['#dddddd', '#bbbbbb', '#999999', '#777777'];

/** Shades for clean rollouts, rings for attempts, dots in them for hacks, lines for the cuts; the larger, the more. */
export function heatFigure(rows: readonly GateRow[], recorded: Cuts, other: Cuts | null, cursor: number): Figure {
  const updates = [...new Set(rows.map(({ update }) => update))].sort((a, b) => a - b);
  const [least, most] = scoreRange(rows);
  const height = (most - least || 1) / bins;
  const cells = new Map<string, { update: number; bin: number; rows: GateRow[] }>();
  for (const row of rows) {
    const bin = Math.min(bins - 1, Math.floor((row.score - least) / height));
    const key = `${row.update} ${bin}`;
    const cell = cells.get(key) ?? { update: row.update, bin, rows: [] };
    cell.rows.push(row);
    cells.set(key, cell);
  }
  const counts = [...cells.values()].map(({ update, bin, rows: own }) => {
    const [attempts, hacks] = [countOf(own, 'attempt'), countOf(own, 'hack')];
    return { x: update, y: least + (bin + 0.5) * height, clean: own.length - attempts, attempts, hacks };
  });
  const largest = Math.max(1, ...counts.map(({ clean, attempts }) => Math.max(clean, attempts)));
  const [ring, dot] = [{ colour: rateColours.attempt, open: true }, { colour: rateColours.hack }];
  const dots = (kind: 'attempts' | 'hacks', look: typeof ring | typeof dot): Mark => ({
    ...{ kind: 'dots', ...look },
    points: counts
      .filter((cell) => cell[kind] > 0)
      .map((cell) => ({ x: cell.x, y: cell.y, size: 0.5 + cell[kind] / largest })),
  });
  const cuts = (['low', 'high'] as const).filter((side) => [...recorded.values()].some((cut) => cut[side] !== null));
  const title = `Scores of the ${rows.length} rollouts that carried gradient, over ${updates.length} updates, ${countOf(rows, 'attempt')} of them attempts and ${countOf(rows, 'hack')} hacks`;
  const legend = [
    barKey('neither attempt nor hack: the darker, the more', otherColour),
    { label: 'attempt (a loophole was opened, right or wrong)', colour: ring.colour, dot: ring },
    { label: 'hack, by the grader', colour: dot.colour, dot },
    ...cuts.map((side, i) => ({ label: cutLooks[side].words, colour: cutLooks[side].colour, newRow: i === 0 })),
  ];
  return figureOf(title, legend, {
    ...{ xLabel: 'update', yLabel: 'score', x: [updates[0] - 0.5, (updates.at(-1) ?? 0) + 0.5] },
    // Room for the rings of the least and the largest score.
    y: [least - height, most + height],
    marks: [
      ...shades.map((colour, i) => ({
        ...({ kind: 'bars', colour } as const),
        bars: counts
          .filter(({ clean }) => clean > 0 && Math.ceil((clean / largest) * shades.length) === i + 1)
          .map(({ x, y }) => ({ x0: x - 0.5, x1: x + 0.5, y0: y - height / 2, y1: y + height / 2 })),
      })),
      dots('attempts', ring),
      dots('hacks', dot),
      ...cutLines(recorded, [least, most]),
      ...(other === null ? [] : cutLines(other, [least, most], '6 4')),
      { kind: 'rule', x: cursor, label: `update ${cursor}` },
    ],
  });
}

const figureOf = (title: string, legend: Figure['legend'], panel: Omit<Figure['panels'][number], 'title'>): Figure => ({
  ...{ name: '', title, caption: '', legend, columns: 1, panelSize: widths, data: { columns: [], rows: [] } },
  panels: [{ title: '', ...panel }],
});

const cutLooks = {
  low: { words: 'kept below', colour: routeColours.keep },
  high: { words: 'routed above', colour: routeColours.route },
} as const;

function cutLines(cuts: Cuts, [least, most]: readonly [number, number], dash?: string): Mark[] {
  const within = (score: number): number => Math.min(most, Math.max(least, score));
  return (['low', 'high'] as const).map((side) => ({
    ...{ kind: 'line', width: 2.5, dash, colour: cutLooks[side].colour },
    points: [...cuts].flatMap(([update, { [side]: cut }]) =>
      cut === null ? [] : [-0.5, 0.5].map((by) => ({ x: update + by, y: within(cut) })),
    ),
  }));
}

/** The scores of one update: what attempts nothing above the line, attempts below it, hacks first and hatched, and the cuts across both. */
export function histogramOf(
  rows: readonly GateRow[],
  cuts: { readonly low: number | null; readonly high: number } | undefined,
  update: number,
): Figure {
  const { low = null, high = null } = cuts ?? {};
  const drawn = [[low, 'keep'] as const, [high, 'route'] as const].flatMap(([score, label]) =>
    score === null ? [] : [{ score, label }],
  );
  const [least, most] = scoreRange([...rows, ...drawn]);
  const width = (most - least || 1) / bins;
  const count = (holds: (row: GateRow) => boolean): number[] => {
    const counts = new Array<number>(bins).fill(0);
    for (const { score } of rows.filter(holds)) counts[Math.min(bins - 1, Math.floor((score - least) / width))] += 1;
    return counts;
  };
  const clean = count(({ attempt }) => !attempt);
  const [attempts, hacks] = [count(({ attempt }) => attempt), count(({ hack }) => hack)];
  const tallest = Math.max(1, ...clean, ...attempts);
  const [zero, hacksDown, attemptsDown] = [clean.map(() => 0), hacks.map((n) => -n), attempts.map((n) => -n)];
  const bars = (from: readonly number[], to: readonly number[], look: { colour: string; hatched?: true }): Mark => ({
    ...{ kind: 'bars', ...look },
    bars: from
      .map((y0, i) => ({ x0: least + i * width, x1: least + (i + 1) * width, y0, y1: to[i] }))
      .filter(({ y0, y1 }) => y1 > y0),
  });
  const [attempted, hacked] = [countOf(rows, 'attempt'), countOf(rows, 'hack')];
  const words = `${attempted} attempts, of them ${hacked} hacks, and ${rows.length - attempted} others`;
  const legend = [
    barKey('above the line: neither attempt nor hack', otherColour),
    { label: 'below it: hack', colour: rateColours.hack, hatched: true },
    barKey('below it: another attempt', rateColours.attempt),
  ];
  return figureOf(`Scores of update ${update}: ${words}`, legend, {
    ...{ xLabel: 'score', yLabel: 'rollouts', x: [least, least + bins * width], y: [-tallest, tallest] },
    yNames: ticks(-tallest, tallest, 5).map((y) => ({ y, name: String(Math.abs(y)) })),
    marks: [
      bars(zero, clean, { colour: otherColour }),
      bars(hacksDown, zero, { colour: rateColours.hack, hatched: true }),
      bars(attemptsDown, hacksDown, { colour: rateColours.attempt }),
      ...drawn.map(({ score, label }): Mark => ({ kind: 'rule', x: score, label })),
    ],
  });
}

type GateFiguresProps = {
  readonly rows: readonly GateRow[];
  readonly recorded: Cuts;
  readonly other: Cuts | null;
  readonly cursor: number;
};

export function GateFigures({ rows, recorded, other, cursor }: GateFiguresProps) {
  const heat = heatFigure(rows, recorded, other, cursor);
  const own = rows.filter(({ update }) => update === cursor);
  const choose = ({ currentTarget, clientX }: MouseEvent & { readonly currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const update = Math.round(xUnder(fitted(heat), (clientX - left) / width));
    if (rows.some((row) => row.update === update)) changeParameters({ update });
  };
  return (
    <>
      <Drawing figure={heat} onClick={choose} />
      {own.length > 0 && <Drawing figure={histogramOf(own, recorded.get(cursor), cursor)} />}
    </>
  );
}
