/** Values over updates, averaged over seeds. A point is averaged only where every seed has it, so runs of different length never mix. */
import { mean, standardError } from '../stats/index.ts';
import type { Point } from './chart.ts';

/** A band (± SEM) needs so many seeds; with fewer, each seed is a line of its own. */
export const bandSeeds = 3;

export interface SeriesPoint extends Point {
  readonly n: number;
  readonly sem: number | null;
}

export function averageSeries(series: readonly (readonly Point[])[]): SeriesPoint[] {
  const [first = [], ...others] = series;
  return first.flatMap(({ x, y }) => {
    const values = [y, ...others.flatMap((other) => other.filter((point) => point.x === x).map((point) => point.y))];
    if (values.length !== series.length) return [];
    const sem = values.length < 2 ? null : standardError(values);
    return [{ x, y: mean(values), n: values.length, sem }];
  });
}
