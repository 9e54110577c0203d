/** Rates of runs over updates, and how they are drawn: as a mean with a band, or a line for each seed. */
import { summarise } from '../evaluate/index.ts';
import { trailingRate } from '../measure/index.ts';
import { type ArmResults, rateOf } from './aggregate.ts';
import type { Figure, LegendEntry, Mark, Panel, Point } from './chart.ts';
import { averageSeries, bandSeeds } from './chart.ts';
import type { RunResult } from './run-result.ts';
import { armStyle, ticks } from './svg.ts';

export function armLegend(arms: readonly ArmResults[]): LegendEntry[] {
  return arms.map(({ arm, runs }, i) => {
    const { shape: _, ...style } = armStyle(i);
    return { label: `${arm} (n = ${runs.length})`, ...style };
  });
}

export function seriesMarks(series: readonly (readonly Point[])[], style: { colour: string; dash?: string }): Mark[] {
  const shown = series.filter((points) => points.length > 0);
  if (shown.length === 0) return [];
  if (shown.length < bandSeeds) {
    const width = shown.length === 1 ? 2 : 1;
    return shown.map((points) => ({ kind: 'line' as const, points, width, ...style }));
  }
  const average = averageSeries(shown);
  const band = average.map(({ x, y, sem }) => ({ x, low: y - (sem ?? 0), high: y + (sem ?? 0) }));
  return [
    { kind: 'band', points: band, colour: style.colour },
    { kind: 'line', points: average, ...style },
  ];
}

export const drawnMetrics = ['attempt', 'hack', 'solve', 'clean-solve'] as const;
export type DrawnMetric = (typeof drawnMetrics)[number];
export const metricName = (metric: DrawnMetric): string => metric.replace('-', ' ');

/** Rates on the whole curve set: the base at 0, then every evaluated checkpoint. Evaluations on the first prompts are left out. */
export function curveSeries(run: RunResult, state: 'full' | 'deployed', metric: DrawnMetric): Point[] {
  const wanted = run.hasQuarantine ? state : 'full';
  return run.evaluations
    .filter((one) => one.set === 'curve' && one.limit === null && (one.state === wanted || one.state === 'base'))
    .map(({ update, rows }) => ({ x: update, y: rateOf(summarise(rows), metric)?.rate ?? 0 }))
    .sort((a, b) => a.x - b.x);
}

const counted = { attempt: 'attempts', hack: 'hacks', solve: 'solves', 'clean-solve': 'cleanSolves' } as const;

/** Rates of training's own samples over the window of emergence: attempts and hacks on hinted prompts, solves on all prompts. */
export function trainingSeries({ training }: RunResult, metric: DrawnMetric): Point[] {
  const rates = trailingRate(training, counted[metric]);
  return training.flatMap(({ update }, i) => {
    const rate = rates[i];
    return rate === null ? [] : [{ x: update, y: rate }];
  });
}

export function bandText(arms: readonly ArmResults[]): string {
  const counts = [...new Set(arms.map(({ runs }) => runs.length))].sort((a, b) => a - b);
  const single = counts.length === 1 && counts[0] === 1 ? ' n = 1, no claim.' : '';
  const band = counts.some((n) => n >= bandSeeds)
    ? `Mean, band ± SEM where n ≥ ${bandSeeds} seeds`
    : 'One line per seed';
  return `${band}; n = ${counts.join(', ')}.${single}`;
}

export type SeriesOf = (run: RunResult) => Point[];

export function overUpdates(
  arms: readonly ArmResults[],
  title: string,
  yLabel: string,
  series: SeriesOf,
  y: readonly [number, number] = [0, 1],
): Panel {
  const marks = arms.flatMap(({ runs }, i) => seriesMarks(runs.map(series), armStyle(i)));
  const longest = Math.max(1, ...arms.flatMap(({ runs }) => runs.flatMap((run) => series(run).map(({ x }) => x))));
  return { title, xLabel: 'updates completed', yLabel, x: [0, longest], y, marks };
}

/** An axis from a tick at or below all values to one at or above them; it includes 0. */
export function axisOf(values: readonly number[]): readonly [number, number] {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  if (low === high) return [0, 1];
  const marks = ticks(low, high, 5);
  const gap = marks[1] - marks[0];
  const round = (value: number): number => Number((Math.round(value) * gap).toPrecision(12));
  return [round(Math.floor(low / gap + 1e-9)), round(Math.ceil(high / gap - 1e-9))];
}

export const partTitle = (part: string): string => ` (${part} of the write-up)`;

export function seriesData(arms: readonly ArmResults[], named: Readonly<Record<string, SeriesOf>>): Figure['data'] {
  const rows = Object.entries(named).flatMap(([what, series]) =>
    arms.flatMap(({ arm, runs }) =>
      averageSeries(runs.map(series)).map(({ x, y, sem, n }) => [
        arm,
        what,
        `${x}`,
        y.toFixed(4),
        sem === null ? '' : sem.toFixed(4),
        `${n}`,
      ]),
    ),
  );
  return { columns: ['arm', 'what', 'update', 'mean', 'sem', 'n'], rows };
}
