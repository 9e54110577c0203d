/** Solve kept against hack removed, a point per seed: the upper right corner is what deployment is for. */
import { claimSet, findArm, type Results, solveSet } from './aggregate.ts';
import { type Action, actionOf, comparesActions } from './baselines.ts';
import type { Dot, DotShape, Figure, LegendEntry, Mark, Panel, Point } from './chart.ts';
import { isPlacebo } from './comparisons.ts';
import { keptAndRemoved, type Share } from './kept.ts';
import { armStyle } from './palette.ts';
import { axisOf } from './series.ts';
import { setTitles } from './tables.ts';

export function keptFigure(results: Results): Figure | null {
  // The picture of baselines has the same axes, and means in place of more seeds than can be told apart.
  if (comparesActions(results)) return null;
  const [set, solved] = [claimSet(results), solveSet(results)];
  const found = keptAndRemoved(results).filter(({ points }) => points.length > 0);
  if (set === undefined || solved === undefined || found.length === 0) return null;
  const drawn = found.map((one) => {
    const { colour, shape } = armStyle(results.arms.findIndex(({ arm }) => arm === one.arm));
    const dot: Dot = { colour, shape, open: one.usesOracle };
    return { ...one, dot, label: `${one.arm}${one.usesOracle ? ' (uses labels)' : ''} (n = ${one.points.length})` };
  });
  const points = drawn.flatMap((one) => one.points);
  const panel: Panel = {
    title: '',
    xLabel: 'solve kept',
    yLabel: 'hack removed',
    x: axisOf([1, ...points.map(({ kept }) => kept)]),
    y: axisOf([1, ...points.map(({ removed }) => removed)]),
    marks: drawn.map((one) => ({
      kind: 'dots',
      points: one.points.map(({ kept, removed }) => ({ x: kept, y: removed })),
      ...one.dot,
    })),
  };
  return {
    name: 'kept',
    title: 'Solve kept and hack removed',
    caption: `Solve on ${setTitles[solved]}, hack on ${setTitles[set]}. A point per seed; solve over the mean room of all seeds, hack over the seed's own. 0 is the base's solve and ${results.baseline}'s hack, 1 the solve of ${results.design.ceiling} and no hack. Hollow points use labels.`,
    panels: [panel],
    legend: drawn.map(({ label, dot }) => ({ label, colour: dot.colour, dot })),
    columns: 1,
    data: {
      columns: ['arm', 'seed', 'solve kept', 'hack removed'],
      rows: drawn.flatMap((one) =>
        one.points.map(({ seed, kept, removed }) => [one.arm, `${seed}`, kept.toFixed(4), removed.toFixed(4)]),
      ),
    },
  };
}

const shapes: Readonly<Record<string, DotShape>> = {
  gate: 'star',
  routed: 'circle',
  penalty: 'square',
  screen: 'triangle',
  filter: 'diamond',
  zero: 'down',
  'probe-penalty': 'plus',
  'activation-penalty': 'pentagon',
  'advantage-modification': 'cross',
};

const black = '#000000';

/** An arm in the picture. */
interface Drawn extends Action {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly kept: Share;
  readonly removed: Share;
  readonly dot: Dot;
  /** What colour and shape do not say: the arm's number, or how its rule differs from the usual one; else nothing. */
  readonly label: string;
}

export function baselinesFigure(results: Results): Figure | null {
  if (!comparesActions(results)) return null;
  const drawn = drawnArms(results);
  const groups = [
    { title: 'by a monitor, without labels', own: drawn.filter((one) => one.monitor !== null && !one.usesOracle) },
    { title: 'without a monitor', own: drawn.filter((one) => one.monitor === null && !one.usesOracle) },
    { title: 'with labels', own: drawn.filter(({ usesOracle }) => usesOracle) },
  ].filter(({ own }) => own.length > 0);
  if (drawn.length === 0) return null;
  const [x, y] = [
    axisOf([0, 1, ...drawn.map(({ kept }) => kept.value)]),
    axisOf([0, 1, ...drawn.map(({ removed }) => removed.value)]),
  ];
  const counts = [...new Set(drawn.map(({ kept }) => kept.n))].sort((a, b) => a - b);
  return {
    name: 'baselines',
    title: 'Solve kept and hack removed: monitors by colour, what is done by shape',
    caption: `A point per arm, ratios of means over seeds with Fieller's 95% intervals, as far as the axes go; n = ${counts.join(', ')}.${counts.includes(1) ? ' n = 1, no claim.' : ''} 0 is the solve of the base and the hack of ${results.baseline}, 1 the solve of ${results.design.ceiling} and no hack. Hollow points are placebos.`,
    panels: groups.map(({ title, own }) => panelOf(title, own, x, y)),
    legend: legendOf(drawn),
    columns: groups.length,
    panelSize: { width: 300, height: 300 },
    data: {
      columns: [
        ...['arm', 'monitor', 'what is done', 'uses labels', 'seeds'],
        ...['solve kept', 'low', 'high', 'hack removed', 'low', 'high'],
      ],
      rows: drawn.map((one) => [
        ...[one.arm, one.monitor ?? '', one.action, `${one.usesOracle}`, `${one.kept.n}`],
        ...shareCells(one.kept),
        ...shareCells(one.removed),
      ]),
    },
  };
}

function drawnArms(results: Results): Drawn[] {
  const found = keptAndRemoved(results).flatMap(({ arm, usesOracle, solveKept: kept, hackRemoved: removed }) => {
    const own = findArm(results, arm);
    return own === undefined || kept === null || removed === null
      ? []
      : [{ arm, usesOracle, kept, removed, ...actionOf(own) }];
  });
  const monitors = [...new Set(found.flatMap(({ monitor }) => (monitor === null ? [] : [monitor])))];
  let number = 0;
  return found.map((one) => {
    const open = isPlacebo(results, one.arm);
    if (one.monitor === null) {
      number += 1;
      return { ...one, dot: { colour: black, open }, label: `${number}` };
    }
    const { colour } = armStyle(monitors.indexOf(one.monitor) + 1);
    const label = one.action.startsWith(one.kind) ? one.action.slice(one.kind.length).replace(/^[\s,]+|,$/g, '') : '';
    return { ...one, dot: { colour, shape: shapes[one.kind] ?? 'circle', open }, label };
  });
}

function panelOf(title: string, own: readonly Drawn[], x: readonly [number, number], y: readonly [number, number]) {
  const at = ({ kept, removed }: Drawn): Point => ({ x: kept.value, y: removed.value });
  const marks: Mark[] = [
    ...own.flatMap((one) => intervals(one, x, y)),
    ...own.map((one): Mark => ({ kind: 'dots', points: [at(one)], ...one.dot })),
    { kind: 'labels', points: own.flatMap((one) => (one.label === '' ? [] : [{ ...at(one), text: one.label }])) },
  ];
  return { title, xLabel: 'solve kept', yLabel: 'hack removed', x, y, marks } satisfies Panel;
}

/** The cross of an arm's two intervals, inside the axes. */
function intervals({ kept, removed, dot: { colour } }: Drawn, x: readonly [number, number], y: typeof x): Mark[] {
  const inside = (value: number, [low, high]: readonly [number, number]) => Math.min(high, Math.max(low, value));
  const line = (from: Point, to: Point): Mark => ({
    kind: 'line',
    points: [from, to],
    colour,
    width: 1,
    opacity: 0.45,
  });
  return [
    ...(kept.interval === null
      ? []
      : [
          line(
            { x: inside(kept.interval.low, x), y: removed.value },
            { x: inside(kept.interval.high, x), y: removed.value },
          ),
        ]),
    ...(removed.interval === null
      ? []
      : [
          line(
            { x: kept.value, y: inside(removed.interval.low, y) },
            { x: kept.value, y: inside(removed.interval.high, y) },
          ),
        ]),
  ];
}

/** Colours of monitors, shapes of what is done, and the numbers of the arms without a monitor. */
function legendOf(drawn: readonly Drawn[]): LegendEntry[] {
  const colours = new Map(drawn.flatMap(({ monitor, dot }) => (monitor === null ? [] : [[monitor, dot.colour]])));
  const used = Object.keys(shapes).filter((kind) => drawn.some((one) => one.kind === kind));
  const rows: readonly (readonly LegendEntry[])[] = [
    [...colours].map(([label, colour]) => ({ label, colour })),
    used.map((label) => ({ label, colour: black, dot: { colour: black, shape: shapes[label] } })),
    drawn.flatMap(({ monitor, label, arm, dot }) =>
      monitor === null ? [{ label: `${label} ${arm}`, colour: black, dot }] : [],
    ),
  ];
  return rows.flatMap((row) => row.map((entry, i) => (i === 0 ? { ...entry, newRow: true } : entry)));
}

function shareCells({ value, interval }: Share): string[] {
  return [value.toFixed(4), interval?.low.toFixed(4) ?? '', interval?.high.toFixed(4) ?? ''];
}
