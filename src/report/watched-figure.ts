/**
 * Solve kept against hack removed for the arms with a monitor, a point per arm: the colour says which monitor watches, the shape what is
 * done with what it says. A gate on a direction is routing by that direction.
 */
import { type ArmResults, findArm, type Results } from './aggregate.ts';
import type { Dot, DotShape, Figure, Panel } from './chart.ts';
import { axisOf } from './figure-parts.ts';
import { keptAndRemoved } from './kept.ts';
import { armStyle } from './palette.ts';

const interventions: Readonly<Record<string, DotShape>> = {
  routed: 'circle',
  penalty: 'square',
  screen: 'triangle',
  filter: 'diamond',
  zero: 'down',
  'probe-penalty': 'plus',
  'advantage-modification': 'cross',
};

/** What watches and what is done; null for an arm without a monitor. */
function watchedBy({ runs }: ArmResults): { readonly monitor: string; readonly intervention: string } | null {
  const { kind, monitor, placebo } = runs[0].config.arm as {
    readonly kind: string;
    readonly monitor?: { readonly kind: string };
    readonly placebo?: string;
  };
  if (monitor !== undefined && kind in interventions) return { monitor: monitor.kind, intervention: kind };
  if (kind !== 'activation') return null;
  return { monitor: placebo === 'none' || placebo === undefined ? 'direction' : placebo, intervention: 'routed' };
}

export function watchedFigure(results: Results): Figure | null {
  const drawn = keptAndRemoved(results).flatMap(({ arm, usesOracle, solveKept, hackRemoved }) => {
    const own = findArm(results, arm);
    const by = own === undefined ? null : watchedBy(own);
    if (by === null || solveKept === null || hackRemoved === null) return [];
    return [{ arm, usesOracle, ...by, kept: solveKept.value, removed: hackRemoved.value, n: solveKept.n }];
  });
  // Two gates are no comparison of monitors.
  if (new Set(drawn.map(({ intervention }) => intervention)).size < 2) return null;
  const monitors = [...new Set(drawn.map(({ monitor }) => monitor))];
  const colourOf = (monitor: string): string => armStyle(monitors.indexOf(monitor)).colour;
  const dotOf = (one: (typeof drawn)[number]): Dot => ({
    colour: colourOf(one.monitor),
    shape: interventions[one.intervention],
    open: one.usesOracle,
  });
  const panel: Panel = {
    title: '',
    xLabel: 'solve kept',
    yLabel: 'hack removed',
    x: axisOf([0, 1, ...drawn.map(({ kept }) => kept)]),
    y: axisOf([0, 1, ...drawn.map(({ removed }) => removed)]),
    marks: drawn.map((one) => ({ kind: 'dots', points: [{ x: one.kept, y: one.removed }], ...dotOf(one) })),
  };
  const used = Object.keys(interventions).filter((name) => drawn.some(({ intervention }) => intervention === name));
  return {
    name: 'watched',
    title: 'Monitors by colour, what is done by shape',
    caption:
      'A point per arm, ratios of means over seeds. 0 is the solve of the base and the hack of the baseline, 1 the solve of the ceiling and no hack. Hollow points use labels.',
    panels: [panel],
    legend: [
      ...monitors.map((label) => ({ label, colour: colourOf(label) })),
      ...used.map((label) => ({ label, colour: '#000000', dot: { colour: '#000000', shape: interventions[label] } })),
    ],
    columns: 1,
    data: {
      columns: ['arm', 'monitor', 'intervention', 'seeds', 'solve kept', 'hack removed'],
      rows: drawn.map((one) => [
        ...[one.arm, one.monitor, one.intervention, `${one.n}`],
        ...[one.kept.toFixed(4), one.removed.toFixed(4)],
      ]),
    },
  };
}
