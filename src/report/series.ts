/** Rates of runs over updates, and how they are drawn: as a mean with a band, or a line for each seed. */

import { summarise } from '../evaluate/index.ts';
import { trailingHackRate, trailingSolveRate } from '../measure/index.ts';
import type { ArmResults } from './aggregate.ts';
import { averageSeries, bandSeeds } from './average-series.ts';
import type { LegendEntry, Mark, Point } from './chart.ts';
import { armStyle } from './palette.ts';
import type { RunResult } from './run-result.ts';

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

/** Rates on the whole curve set: the base at 0, then every evaluated checkpoint. Evaluations on the first prompts are left out. */
export function curveSeries(run: RunResult, state: 'full' | 'deployed', metric: 'hack' | 'solve'): Point[] {
  const wanted = run.hasQuarantine ? state : 'full';
  return run.evaluations
    .filter((one) => one.set === 'curve' && one.limit === null && (one.state === wanted || one.state === 'base'))
    .map(({ update, rows }) => ({ x: update, y: summarise(rows)[metric].rate }))
    .sort((a, b) => a.x - b.x);
}

/** Rates of training's own samples over the window of emergence: hack on hinted prompts, solve on all prompts. */
export function trainingSeries(run: RunResult, metric: 'hack' | 'solve'): Point[] {
  const rates = metric === 'hack' ? trailingHackRate(run.training) : trailingSolveRate(run.training);
  return run.training.flatMap(({ update }, i) => {
    const rate = rates[i];
    return rate === null ? [] : [{ x: update, y: rate }];
  });
}
