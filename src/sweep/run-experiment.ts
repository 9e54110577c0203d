/**
 * Runs an experiment to completion, one run after another: what is finished is skipped, what was interrupted goes on, then the
 * last checkpoint and the curve are evaluated. How a run is trained and evaluated is the caller's: this decides what and when.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readStatus } from '../evaluate/judged.ts';
import { RunDirectory } from '../run/directory.ts';
import type { EvaluationPlan, ExperimentPlan, PlannedRun } from './experiment.ts';

export interface ExperimentWorker {
  /** Starts the run, or goes on with it. */
  train(run: PlannedRun, path: string): Promise<'finished' | 'tripwire' | 'interrupted'>;
  /** What is evaluated already costs nothing. */
  evaluate(run: PlannedRun, path: string, plan: EvaluationPlan, siblings: readonly string[]): Promise<void>;
  /** Between runs. */
  onRun?(run: PlannedRun, index: number, total: number): void;
}

export interface ExperimentEnd {
  readonly end: 'finished' | 'interrupted';
  /** Runs that the tripwire stopped: they are evaluated like the others. */
  readonly tripped: readonly string[];
}

export async function runExperiment(
  { experiment, runs }: ExperimentPlan,
  directory: string,
  worker: ExperimentWorker,
): Promise<ExperimentEnd> {
  const tripped: string[] = [];
  for (const [index, run] of runs.entries()) {
    const path = join(directory, run.folder);
    worker.onRun?.(run, index, runs.length);
    const end = (await statusOf(path)) ?? (await worker.train(run, path));
    if (end === 'interrupted') return { end, tripped };
    if (end === 'tripwire') tripped.push(run.folder);
    const siblings = runs.filter(({ folder }) => folder !== run.folder).map(({ folder }) => join(directory, folder));
    await worker.evaluate(run, path, experiment.evaluation, siblings);
  }
  return { end: 'finished', tripped };
}

/** null for a run that still has to be trained. */
async function statusOf(path: string): Promise<'finished' | 'tripwire' | null> {
  if (!existsSync(join(path, 'manifest.json'))) return null;
  const run = RunDirectory.open(path);
  // A run that is over but not sealed was killed in between: training it again finishes that.
  if (!run.sealed) return null;
  const status = await readStatus(run);
  return status === 'unfinished' ? null : status;
}
