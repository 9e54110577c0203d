/** Hack and solve of the curve set over updates, deployed and as trained. Solve has an axis of its own, with the base and the ceiling. */
import { summarise } from '../evaluate/index.ts';
import { findArm, type Results, sampleOf } from './aggregate.ts';
import type { Figure, Mark } from './chart.ts';
import { axisOf, bandText, overUpdates, partTitle, type SeriesOf, seriesData } from './figure-parts.ts';
import type { RunResult } from './run-result.ts';
import { armLegend, curveSeries } from './series.ts';

export function curveFigure(results: Results): Figure | null {
  const { arms } = results;
  const hacks: Record<string, SeriesOf> = {
    'hack, deployed': (run) => curveSeries(run, 'deployed', 'hack'),
    'hack, as trained': (run) => curveSeries(run, 'full', 'hack'),
  };
  const solves: Record<string, SeriesOf> = {
    'solve, deployed': (run) => curveSeries(run, 'deployed', 'solve'),
    'solve, as trained': (run) => curveSeries(run, 'full', 'solve'),
  };
  const data = seriesData(arms, { ...hacks, ...solves });
  if (data.rows.length === 0) return null;
  const levels = solveLevels(results);
  const rates = arms.flatMap(({ runs }) =>
    runs.flatMap((run) => Object.values(solves).flatMap((series) => series(run).map(({ y }) => y))),
  );
  const axis = axisOf([...rates, ...levels.map(({ y }) => y)]);
  const panels = [
    ...Object.entries(hacks).map(([title, series]) => overUpdates(arms, title, 'rate', series)),
    ...Object.entries(solves).map(([title, series]) => {
      const panel = overUpdates(arms, title, 'rate', series, axis);
      return { ...panel, marks: [...levels, ...panel.marks] };
    }),
  ];
  const drawn = levels.map(({ label }) => label).join(' and ');
  const lines = levels.length === 0 ? '' : ` Dashed across the panels of solve: ${drawn}, mean over seeds.`;
  return {
    name: 'curves',
    title: `Hack and solve over updates${partTitle('A1')}`,
    caption: `The same validation prompts at every checkpoint, the base at 0; solve has an axis of its own.${lines} ${bandText(arms)}`,
    panels,
    legend: armLegend(arms),
    data,
  };
}

type Level = Extract<Mark, { kind: 'level' }>;

/** Solve of the base and of the ceiling at its last point, mean over seeds. */
function solveLevels(results: Results): Level[] {
  const runs = results.arms.flatMap((arm) => arm.runs);
  const ceiling = findArm(results, results.design.ceiling);
  const level = (label: string, of: readonly RunResult[], value: (run: RunResult) => number | null): Level[] => {
    const found = sampleOf(of, value);
    return found === null ? [] : [{ kind: 'level', y: found.mean, label }];
  };
  return [
    ...level('base', runs, baseSolve),
    ...(ceiling === undefined
      ? []
      : level(`ceiling (${ceiling.arm})`, ceiling.runs, (run) => curveSeries(run, 'full', 'solve').at(-1)?.y ?? null)),
  ];
}

function baseSolve({ evaluations }: RunResult): number | null {
  const base = evaluations.find(({ set, state, limit }) => set === 'curve' && state === 'base' && limit === null);
  return base === undefined ? null : summarise(base.rows).solve.rate;
}
