/** Solve kept against hack removed, a point per seed: the upper right corner is what deployment is for. */
import { claimSet, type Results, solveSet } from './aggregate.ts';
import { comparesActions } from './baselines.ts';
import type { Dot, Figure, Panel } from './chart.ts';
import { axisOf } from './figure-parts.ts';
import { keptAndRemoved } from './kept.ts';
import { armStyle } from './palette.ts';
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
