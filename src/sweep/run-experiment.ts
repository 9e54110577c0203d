/**
 * Runs an experiment to completion: what is finished is skipped, what was interrupted goes on, then the last checkpoint and the
 * curve are evaluated. How a run is trained and evaluated is the caller's: this decides what and when. One run after another in
 * this process, or some side by side, each started by the caller in a process of its own.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readStatus } from '../analyse/index.ts';
import type { RunEnd } from '../run/index.ts';
import { RunDirectory } from '../run/index.ts';
import type { EvaluationPlan, ExperimentPlan, PlannedRun } from './experiment.ts';

export interface ExperimentWorker {
  /** Starts the run, or goes on with it. */
  train(run: PlannedRun, path: string): Promise<RunEnd>;
  /** What is evaluated already costs nothing. */
  evaluate(
    run: PlannedRun,
    path: string,
    plan: EvaluationPlan,
    siblings: readonly string[],
  ): Promise<'finished' | 'interrupted'>;
}

export interface ExperimentEnd {
  readonly end: 'finished' | 'interrupted';
  /** Runs that the tripwire stopped: they are evaluated like the others. */
  readonly tripped: readonly string[];
  /** Runs that ended with an error, and what it said. */
  readonly failed: readonly { readonly folder: string; readonly detail: string }[];
}

/** One run of the plan, as far as it is not done. */
export async function runOne(
  { experiment, runs }: ExperimentPlan,
  index: number,
  directory: string,
  worker: ExperimentWorker,
): Promise<RunEnd> {
  const run = runs[index];
  const path = join(directory, run.folder);
  const end = (await trainedStatus(path)) ?? (await worker.train(run, path));
  if (end === 'interrupted') return end;
  const siblings = runs.filter(({ folder }) => folder !== run.folder).map(({ folder }) => join(directory, folder));
  const evaluated = await worker.evaluate(run, path, experiment.evaluation, siblings);
  return evaluated === 'interrupted' ? evaluated : end;
}

/** One after another; an error ends it. */
export async function runExperiment(
  plan: ExperimentPlan,
  directory: string,
  workerOf: (index: number) => ExperimentWorker,
): Promise<ExperimentEnd> {
  const tripped: string[] = [];
  for (const [index, { folder }] of plan.runs.entries()) {
    const end = await runOne(plan, index, directory, workerOf(index));
    if (end === 'interrupted') return { end, tripped, failed: [] };
    if (end === 'tripwire') tripped.push(folder);
  }
  return { end: 'finished', tripped, failed: [] };
}

export interface JobEnd {
  readonly end: RunEnd | 'failed';
  readonly detail: string;
}

/** At most `jobs` at a time, in the plan's order. A run that fails leaves the others alone. */
export async function runSideBySide(
  { runs }: ExperimentPlan,
  jobs: number,
  signal: AbortSignal,
  start: (index: number, slot: number) => Promise<JobEnd>,
): Promise<ExperimentEnd> {
  const tripped: string[] = [];
  const failed: { folder: string; detail: string }[] = [];
  let interrupted = false;
  const queue = runs.entries();
  async function drain(slot: number): Promise<void> {
    // The iterator is shared: each run goes to the slot that asks first.
    for (const [index, { folder }] of queue) {
      const { end, detail } = signal.aborted ? { end: 'interrupted', detail: '' } : await start(index, slot);
      if (end === 'interrupted') interrupted = true;
      else if (end === 'tripwire') tripped.push(folder);
      else if (end === 'failed') failed.push({ folder, detail });
    }
  }
  await Promise.all(Array.from({ length: Math.min(jobs, runs.length) }, (_, slot) => drain(slot)));
  return { end: interrupted ? 'interrupted' : 'finished', tripped, failed };
}

/** null for a run that still has to be trained. */
export async function trainedStatus(path: string): Promise<'finished' | 'tripwire' | null> {
  if (!existsSync(join(path, 'manifest.json'))) return null;
  const run = RunDirectory.open(path);
  // A run that is over but not sealed was killed in between: training it again finishes that.
  if (!run.isSealed()) return null;
  const status = await readStatus(run);
  return status === 'unfinished' ? null : status;
}
