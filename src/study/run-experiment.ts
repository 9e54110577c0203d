/**
 * Runs an experiment to completion: finished runs are skipped, interrupted ones go on, then the last checkpoint and the curve are
 * evaluated, and the deployed policies of the arms that the experiment names are attacked. This file decides what runs and when; the caller decides how a run is trained and evaluated. Runs go one after
 * another in this process, or side by side, each started by the caller in a process of its own.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readStatus } from '../analyse/index.ts';
import { OutOfMemoryError, UserError } from '../base/index.ts';
import { type PackPlace, pluginHash, RunPack } from '../lab/index.ts';
import type { Manifest, RunEnd } from '../run/index.ts';
import { isBlind, RunDirectory, userErrorOf } from '../run/index.ts';
import { countBegun } from './claim.ts';
import { EndedRuns } from './ended-runs.ts';
import type { ExperimentPlan, PlannedRun } from './experiment.ts';
import type { EvaluationPlan } from './experiment-schema.ts';

export interface ExperimentWorker {
  /** Starts the run, or continues it. */
  train(run: PlannedRun, path: string, claim?: Manifest['claim']): Promise<RunEnd>;
  /** Evaluates the run; evaluations that exist are not made again. */
  evaluate(
    run: PlannedRun,
    path: string,
    plan: EvaluationPlan,
    siblings: readonly string[],
  ): Promise<'finished' | 'interrupted'>;
  /** Attacks the deployed policy of the run; an attack that is finished is not made again. */
  relearn(run: PlannedRun, path: string, updates: number | null): Promise<'finished' | 'interrupted'>;
}

export interface ExperimentEnd {
  readonly end: 'finished' | 'interrupted';
  /** Runs that the tripwire stopped: they are evaluated like the others. */
  readonly tripped: readonly string[];
  /** Runs that ended with an error, and what it said. */
  readonly failed: readonly FailedRun[];
}

export interface FailedRun {
  readonly folder: string;
  readonly detail: string;
}

/** Does what is left of one run of the plan. */
export async function runOne(
  { experiment, runs, claim }: ExperimentPlan,
  index: number,
  directory: string,
  worker: ExperimentWorker,
): Promise<RunEnd> {
  const run = runs[index];
  const path = join(directory, run.folder);
  expectPlannedCode(run);
  const blind = experiment.blindSeeds?.includes(run.seed) ?? false;
  const begin = (): Promise<RunEnd> => {
    if (!existsSync(join(path, 'manifest.json'))) countBegun(directory, run, claim?.hash ?? null);
    return worker.train(run, path, claim === undefined ? undefined : { hash: claim.hash, blind });
  };
  const end = (await trainedStatus(path)) ?? (await begin());
  if (end === 'interrupted' || isBlind(path)) return end;
  const siblings = runs.filter(({ folder }) => folder !== run.folder).map(({ folder }) => join(directory, folder));
  const evaluated = await worker.evaluate(run, path, experiment.evaluation, siblings);
  if (evaluated === 'interrupted') return evaluated;
  const { relearn } = experiment;
  // A run that the tripwire stopped has no policy worth attacking.
  if (end !== 'finished' || !relearn?.arms.includes(run.arm)) return end;
  const attacked = await worker.relearn(run, path, relearn.updates);
  return attacked === 'interrupted' ? attacked : end;
}

/** Seeds of one arm that other code trained could not be pooled. */
function expectPlannedCode({ folder, config, plugins }: PlannedRun): void {
  if (plugins === null || plugins === pluginHash(config)) return;
  throw new UserError({
    call: `run ${folder}`,
    expected: 'the code of its plugins as it was when the experiment began',
    found: `other content in one of ${config.plugins.join(', ')}, or in what they import`,
    fix: 'Restore it and call the command again, or choose another --out for the new code.',
  });
}

/**
 * Does the runs one after another. A run that is refused, as one whose model does not write the pairs that its arm needs, does not stop
 * the others; if that is the first run, it ends the experiment, because what is wrong with it is most likely wrong with all.
 */
export async function runExperiment(
  plan: ExperimentPlan,
  directory: string,
  workerOf: (index: number) => ExperimentWorker,
  onFailed: (failed: FailedRun) => void = () => undefined,
): Promise<ExperimentEnd> {
  const tripped: string[] = [];
  const failed: FailedRun[] = [];
  const ended = new EndedRuns(directory);
  for (const [index, { folder }] of plan.runs.entries()) {
    await ended.keep();
    try {
      const end = await runOne(plan, index, directory, workerOf(index));
      ended.add(folder);
      if (end === 'interrupted') return { end, tripped, failed };
      if (end === 'tripwire') tripped.push(folder);
    } catch (error) {
      if (index === 0 || !isOfOneRun(error)) throw error;
      const own = { folder, detail: (userErrorOf(error) ?? error).message };
      failed.push(own);
      onFailed(own);
    }
  }
  return { end: 'finished', tripped, failed };
}

/** Whether an error says what is wrong with one run, and not that the machine or the grader failed. */
function isOfOneRun(error: unknown): error is Error {
  return error instanceof UserError || error instanceof OutOfMemoryError;
}

export interface JobEnd {
  readonly end: RunEnd | 'failed';
  readonly detail: string;
}

/** Does at most `jobs` runs at a time, in the plan's order. A run that fails does not stop the others. */
export async function runSideBySide(
  { runs }: ExperimentPlan,
  jobs: number,
  signal: AbortSignal,
  start: (index: number, slot: number) => Promise<JobEnd>,
  indices: readonly number[] = [...runs.keys()],
): Promise<ExperimentEnd> {
  const tripped: string[] = [];
  const failed: FailedRun[] = [];
  let interrupted = false;
  const queue = indices.values();
  async function drain(slot: number): Promise<void> {
    // All slots share the iterator: each run goes to the slot that asks first.
    for (const index of queue) {
      const { folder } = runs[index];
      const { end, detail } = signal.aborted ? { end: 'interrupted', detail: '' } : await start(index, slot);
      if (end === 'interrupted') interrupted = true;
      else if (end === 'tripwire') tripped.push(folder);
      else if (end === 'failed') failed.push({ folder, detail });
    }
  }
  await Promise.all(Array.from({ length: Math.min(jobs, indices.length) }, (_, slot) => drain(slot)));
  return { end: interrupted ? 'interrupted' : 'finished', tripped, failed };
}

/**
 * Does these runs of the plan in this process, at most `size` at a time, as a pack. A run that fails leaves it, and another takes its place.
 */
export async function runPacked(
  plan: ExperimentPlan,
  directory: string,
  { indices, size, signal, workerOf, onEnd = () => undefined }: PackedOptions,
): Promise<ExperimentEnd> {
  await using pack = new RunPack();
  const ended = new EndedRuns(directory);
  const start = async (index: number): Promise<JobEnd> => {
    using place = pack.join();
    await ended.keep();
    const end = await runOne(plan, index, directory, workerOf(index, place)).then(
      (ending): JobEnd => ({ end: ending, detail: '' }),
      (error: unknown): JobEnd => ({ end: 'failed', detail: (userErrorOf(error) ?? wholeError(error)).message }),
    );
    ended.add(plan.runs[index].folder);
    onEnd(index, end);
    return end;
  };
  return await runSideBySide(plan, size, signal, start, indices);
}

export interface PackedOptions {
  /** Places of the runs in the plan; default: all. */
  readonly indices?: readonly number[];
  /** The most runs at a time. */
  readonly size: number;
  /** Asks all runs to save and stop. */
  readonly signal: AbortSignal;
  readonly workerOf: (index: number, place: PackPlace) => ExperimentWorker;
  readonly onEnd?: (index: number, end: JobEnd) => void;
}

/** An error that no user could have caused, with the lines that say where it came from. */
function wholeError(error: unknown): { readonly message: string } {
  return { message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
}

/** How training ended; null for a run that still has to be trained. */
export async function trainedStatus(path: string): Promise<'finished' | 'tripwire' | null> {
  if (!existsSync(join(path, 'manifest.json'))) return null;
  const run = RunDirectory.open(path);
  // A run that is over but not sealed was killed while it was being sealed: training it again seals it.
  if (!run.isSealed()) return null;
  const status = await readStatus(run);
  return status === 'unfinished' ? null : status;
}
