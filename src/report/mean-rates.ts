/** Means of an arm's rates over its seeds, and the words that statements say them in. */
import type { FinalSet } from '../evaluate/index.ts';
import type { ArmResults, Metric, State } from './aggregate.ts';
import { finalSample } from './aggregate.ts';

export type MeanRates = Readonly<NonNullable<ReturnType<typeof meanRatesOf>>>;

/** Means over the seeds. */
export function meanRatesOf(name: string, runs: ArmResults['runs'], set: FinalSet, state: State) {
  const rate = (metric: Metric): number | null => finalSample(runs, set, state, metric)?.mean ?? null;
  const [attempt, hack, solve, cleanSolve] = [rate('attempt'), rate('hack'), rate('solve'), rate('clean-solve')];
  if (attempt === null || hack === null || solve === null || cleanSolve === null) return null;
  return { name, attempt, hack, solve, cleanSolve };
}

/** `12 points below`, or that no whole point lies between. */
export function pointsText(difference: number): string {
  const points = Math.round(Math.abs(100 * difference));
  if (points === 0) return difference === 0 ? 'equal to' : 'within half a point of';
  return `${points} ${points === 1 ? 'point' : 'points'} ${difference < 0 ? 'below' : 'above'}`;
}

export const percentText = (rate: number): string => `${(100 * rate).toFixed(0)}%`;
