/** Solve kept against attempts and hacks removed, a point per seed: the upper right corner is what deployment is for. */
import type { Target } from '../evaluate/index.ts';
import { seedsText } from '../measure/table.ts';
import { claimSet, findArm, type Results, solveSet } from './aggregate.ts';
import { actionOf, comparesActions } from './baselines.ts';
import type { Dot, DotShape, Figure, LegendEntry, Mark, Panel, Point } from './chart.ts';
import { axisOf } from './chart.ts';
import { isPlacebo } from './comparisons.ts';
import { type KeptPoint, keptAndRemoved, type Share } from './kept.ts';
import { armStyle } from './svg.ts';
import { setTitles } from './tables.ts';

const removals = { attempts: 'attempt', hacks: 'hack' } as const;
const targets = Object.keys(removals) as Target[];

export function keptFigure(results: Results): Figure | null {
  // The picture of baselines has the same axes, and means in place of more seeds than can be told apart.
  if (comparesActions(results)) return null;
  const [set, solved] = [claimSet(results), solveSet(results)];
  const drawn = keptAndRemoved(results)
    .filter(({ points }) => points.length > 0)
    .map((one) => {
      const { colour, shape } = armStyle(results.arms.findIndex(({ arm }) => arm === one.arm));
      const dot: Dot = { colour, shape, open: one.usesOracle };
      return { ...one, dot, label: `${one.arm}${one.usesOracle ? ' (uses labels)' : ''} (n = ${one.points.length})` };
    });
  if (set === undefined || solved === undefined || drawn.length === 0) return null;
  const placed = (points: readonly KeptPoint[], target: Target): Point[] =>
    points.flatMap(({ kept: x, removed: { [target]: y } }) => (y === null ? [] : [{ x, y }]));
  const all = drawn.flatMap((one) => targets.flatMap((target) => placed(one.points, target)));
  return {
    name: 'kept',
    title: 'Solve kept, attempts and hacks removed',
    caption: `Solve on ${setTitles[solved]}, attempt and hack on ${setTitles[set]}. A point per seed; solve over the mean room of all seeds, attempt and hack over the seed's own. 0 is the base's solve and the rate of ${results.baseline}, 1 the solve of ${results.design.ceiling} and no attempt, or no hack. Hollow points use labels.`,
    panels: targets.map((target) => ({
      ...{ title: '', xLabel: 'solve kept', yLabel: `${removals[target]} removed` },
      x: axisOf([1, ...all.map(({ x }) => x)]),
      y: axisOf([1, ...all.map(({ y }) => y)]),
      marks: drawn.map((one) => ({ kind: 'dots', points: placed(one.points, target), ...one.dot })),
    })),
    legend: drawn.map(({ label, dot }) => ({ label, colour: dot.colour, dot })),
    data: {
      columns: ['arm', 'seed', 'solve kept', 'attempt removed', 'hack removed'],
      rows: drawn.flatMap((one) =>
        one.points.map(({ seed, kept, removed }) => [
          ...[one.arm, `${seed}`, kept.toFixed(4)],
          ...targets.map((target) => removed[target]?.toFixed(4) ?? ''),
        ]),
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

type Drawn = ReturnType<typeof drawnArms>[number];

type Axis = readonly [number, number];

export function baselinesFigure(results: Results): Figure | null {
  if (!comparesActions(results)) return null;
  const drawn = drawnArms(results);
  const groups = [
    { title: 'by a monitor, without labels', own: drawn.filter((one) => one.monitor !== null && !one.usesOracle) },
    { title: 'without a monitor', own: drawn.filter((one) => one.monitor === null && !one.usesOracle) },
    { title: 'with labels', own: drawn.filter(({ usesOracle }) => usesOracle) },
  ].filter(({ own }) => own.length > 0);
  if (drawn.length === 0) return null;
  const x = axisOf([0, 1, ...drawn.map(({ kept }) => kept.value)]);
  const y = axisOf([0, 1, ...drawn.flatMap(({ removed }) => targets.map((target) => removed[target]?.value ?? 0))]);
  const counts = [...new Set(drawn.map(({ kept }) => kept.n))].sort((a, b) => a - b);
  return {
    name: 'baselines',
    title: 'Solve kept, attempts and hacks removed: monitors by colour, what is done by shape',
    caption: `A point per arm, ratios of means over seeds with Fieller's 95% intervals, as far as the axes go; ${seedsText(counts)} 0 is the solve of the base and the rate of ${results.baseline}, 1 the solve of ${results.design.ceiling} and no attempt, or no hack. Hollow points are placebos.`,
    panels: targets.flatMap((target) => groups.map(({ title, own }) => panelOf(title, target, own, x, y))),
    legend: legendOf(drawn),
    columns: groups.length,
    panelSize: { width: 300, height: 300 },
    data: {
      columns: [
        ...['arm', 'monitor', 'what is done', 'uses labels', 'seeds'],
        ...['solve kept', 'attempt removed', 'hack removed'].flatMap((name) => [name, 'low', 'high']),
      ],
      rows: drawn.map((one) => [
        ...[one.arm, one.monitor ?? '', one.action, `${one.usesOracle}`, `${one.kept.n}`],
        ...[one.kept, ...targets.map((target) => one.removed[target])].flatMap(shareCells),
      ]),
    },
  };
}

/** `label`: what colour and shape do not say: the arm's number, or how its rule differs from the usual one. */
function drawnArms(results: Results) {
  const found = keptAndRemoved(results).flatMap(({ arm, usesOracle, solveKept: kept, removed }) => {
    const own = findArm(results, arm);
    return own === undefined || kept === null || removed.hacks === null
      ? []
      : [{ arm, usesOracle, kept, removed, ...actionOf(own) }];
  });
  const monitors = [...new Set(found.flatMap(({ monitor }) => (monitor === null ? [] : [monitor])))];
  let number = 0;
  return found.map((one) => {
    const open = isPlacebo(results, one.arm);
    if (one.monitor === null) {
      number += 1;
      return { ...one, dot: { colour: black, open } as Dot, label: `${number}` };
    }
    const { colour } = armStyle(monitors.indexOf(one.monitor) + 1);
    const label = one.action.startsWith(one.kind) ? one.action.slice(one.kind.length).replace(/^[\s,]+|,$/g, '') : '';
    return { ...one, dot: { colour, shape: shapes[one.kind] ?? 'circle', open }, label };
  });
}

function panelOf(title: string, target: Target, arms: readonly Drawn[], x: Axis, y: Axis): Panel {
  const placed = arms.flatMap((one) => {
    const removed = one.removed[target];
    return removed === null ? [] : [{ ...one, removed, at: { x: one.kept.value, y: removed.value } }];
  });
  const inside = (value: number, [low, high]: Axis): number => Math.min(high, Math.max(low, value));
  const crossOf = ({ at, kept, removed, dot: { colour } }: (typeof placed)[number]): Mark[] =>
    [
      kept.interval && [kept.interval.low, kept.interval.high].map((end) => ({ x: inside(end, x), y: at.y })),
      removed.interval && [removed.interval.low, removed.interval.high].map((end) => ({ x: at.x, y: inside(end, y) })),
    ].flatMap((points): Mark[] => (points === null ? [] : [{ kind: 'line', points, colour, width: 1, opacity: 0.45 }]));
  const marks: Mark[] = [
    ...placed.flatMap(crossOf),
    ...placed.map(({ at, dot }): Mark => ({ kind: 'dots', points: [at], ...dot })),
    { kind: 'labels', points: placed.flatMap(({ at, label }) => (label === '' ? [] : [{ ...at, text: label }])) },
  ];
  return { title, xLabel: 'solve kept', yLabel: `${removals[target]} removed`, x, y, marks };
}

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

function shareCells(share: Share | null): string[] {
  return [share?.value, share?.interval?.low, share?.interval?.high].map((value) => value?.toFixed(4) ?? '');
}
