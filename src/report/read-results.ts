/** Reads the results of a directory: an experiment, a folder of runs, or one run. */
import { basename, resolve } from 'node:path';
import { aggregate, type Results } from './aggregate.ts';
import { readRunResults } from './run-results.ts';

export interface ResultsSource {
  readonly name: string | null;
  readonly baseline: string | null;
  readonly placebo: string | null;
  readonly arms: readonly string[];
  readonly runs: readonly { readonly path: string; readonly arm: string | null }[];
}

/** Is called before a run is read, with its path, its number (from 1) and the number of runs. */
export type OnReading = (path: string, at: number, of: number) => void;

export async function readResults(directory: string, source: ResultsSource, onReading?: OnReading): Promise<Results> {
  const runs = [];
  for (const [i, { path, arm }] of source.runs.entries()) {
    onReading?.(path, i + 1, source.runs.length);
    runs.push(await readRunResults(path, arm ?? undefined));
  }
  return aggregate(runs, {
    name: source.name ?? basename(resolve(directory)),
    baseline: source.baseline ?? 'vanilla',
    placebo: source.placebo,
    order: source.arms,
  });
}
