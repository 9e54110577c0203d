/** What an update of one run costs, from its timings and its events. */
import type { StepEvent } from '../grpo/index.ts';
import { type RunDirectory, readTimings } from '../run/index.ts';
import { average, median } from '../stats/index.ts';

export interface RunCosts {
  /** Median seconds of an update; null where none were recorded. */
  readonly seconds: number | null;
  /** Completions that a model read in an update without learning from them, mean over updates; null where nobody counted. */
  readonly scoringPasses: number | null;
  /** What the monitor counted beside passes, mean over updates. */
  readonly beside: Readonly<Record<string, number>>;
}

export async function readCosts(run: RunDirectory, steps: readonly StepEvent[]): Promise<RunCosts> {
  const seconds = await readTimings(run);
  // Runs of earlier versions counted no passes.
  const counted = steps.filter(({ scoringPasses }) => typeof scoringPasses === 'number');
  const asked = (name: string): number => average(steps.map(({ watched }) => watched?.costs[name] ?? 0));
  const names = new Set(steps.flatMap(({ watched }) => Object.keys(watched?.costs ?? {})));
  names.delete('passes');
  return {
    seconds: seconds.length === 0 ? null : median(seconds),
    scoringPasses:
      counted.length === 0 ? null : average(counted.map(({ scoringPasses }) => scoringPasses)) + asked('passes'),
    beside: Object.fromEntries([...names].map((name) => [name, asked(name)])),
  };
}
