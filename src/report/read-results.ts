/** Reads the results of a directory: an experiment, a folder of runs, or one run. */
import { basename, resolve } from 'node:path';
import { shellLine, UserError } from '../base/index.ts';
import { finalSets } from '../evaluate/index.ts';
import { aggregate, type LeftOut, type Results } from './aggregate.ts';
import type { Design } from './design.ts';
import { type RunResult, readRunResult } from './run-result.ts';

export interface ResultsSource {
  readonly name: string | null;
  /** The arm that others are compared with; one that was asked for by name must be there. */
  readonly baseline: string | null;
  readonly placebo: string | null;
  readonly arms: readonly string[];
  readonly runs: readonly { readonly path: string; readonly arm: string | null }[];
  /** Folders that hold parts of a run but no manifest. */
  readonly damaged?: readonly string[];
  /** What the experiment says about itself; absent outside an experiment. */
  readonly design?: Design;
}

/** Is called before a run is read, with its path, its number (from 1) and the number of runs. */
export type OnReading = (path: string, at: number, of: number) => void;

/** A run that cannot be read is left out and named; if it is the only one, its error is thrown. */
export async function readResults(directory: string, source: ResultsSource, onReading?: OnReading): Promise<Results> {
  const runs: RunResult[] = [];
  const leftOut: LeftOut[] = (source.damaged ?? []).map((path) => ({ path, why: 'it has no manifest.json' }));
  for (const [i, { path, arm }] of source.runs.entries()) {
    onReading?.(path, i + 1, source.runs.length);
    try {
      runs.push(await readRunResult(path, arm ?? undefined));
    } catch (error) {
      if (source.runs.length === 1) throw error;
      leftOut.push({ path, why: error instanceof Error ? error.message : String(error) });
    }
  }
  if (runs.length === 0 && leftOut.length > 0) {
    const found = leftOut.map(({ path, why }) => `${path}: ${why}`).join('; ');
    throw new UserError({ call: `results of ${directory}`, expected: 'a run that can be read', found });
  }
  return aggregate(runs, {
    name: source.name ?? basename(resolve(directory)),
    baseline: source.baseline ?? 'vanilla',
    placebo: source.placebo,
    order: source.arms,
    leftOut,
    ...(source.design === undefined ? {} : { design: source.design }),
  });
}

export interface MissingEvaluation {
  readonly run: string;
  readonly commands: readonly string[];
}

/** Runs whose last checkpoint has not been evaluated on any set of the final evaluation. */
export function missingEvaluations({ arms }: Results): MissingEvaluation[] {
  return arms
    .flatMap(({ runs }) => runs)
    .filter((run) => !isEvaluated(run))
    .map(({ name, path }) => ({
      run: name,
      commands: [shellLine('gq', 'eval', path), shellLine('gq', 'eval', path, '--curve')],
    }));
}

function isEvaluated({ final }: RunResult): boolean {
  return finalSets.some((set) => (final[set]?.deployed ?? null) !== null);
}

/** Says what is missing; null when nothing is. */
export function describeMissing(missing: readonly MissingEvaluation[]): string | null {
  if (missing.length === 0) return null;
  const runs = missing.map(({ run }) => run).join(', ');
  const [have, does, them] =
    missing.length === 1 ? ['has', 'it attempts or hacks', 'it'] : ['have', 'they attempt or hack', 'them'];
  return `${runs} ${have} not been evaluated: nothing here says how often ${does} on held-out prompts. These commands evaluate ${them}; then make the report again.`;
}
