/**
 * Runs an experiment to completion: finished runs are skipped, interrupted ones go on, then the last checkpoint and the curve are
 * evaluated, and the deployed policies of the arms that the experiment names are attacked. What is left of a run is known from its
 * files alone. This file decides what runs and when; a worker trains and evaluates.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { firstError, OutOfMemoryError, UserError } from '../base/index.ts';
import { HeldError } from '../base/node/index.ts';
import { curveNames, EvaluationStore, finalNames, lastCheckpoint, statesOf } from '../evaluate/index.ts';
import { type PackPlace, pluginHash, RunPack, type TrainOptions } from '../lab/index.ts';
import { relearnFolders } from '../measure/index.ts';
import type { EvaluationPlan } from '../report/experiment-schema.ts';
import type { RunEnd } from '../run/index.ts';
import { isBlind, isRun, RunDirectory, trainedStatus, userErrorOf } from '../run/index.ts';
import { countBegun } from './claim.ts';
import type { ExperimentPlan, PlannedRun } from './experiment.ts';
import { forgetFailure, noteFailure } from './failures.ts';

export interface ExperimentWorker {
  train(run: PlannedRun, path: string, start?: Pick<TrainOptions, 'claim' | 'onBegin'>): Promise<RunEnd>;
  evaluate(
    run: PlannedRun,
    path: string,
    plan: EvaluationPlan,
    siblings: readonly string[],
  ): Promise<'finished' | 'interrupted'>;
  relearn(run: PlannedRun, path: string, updates: number | null): Promise<'finished' | 'interrupted'>;
}

export type ExperimentEnd = Readonly<Awaited<ReturnType<typeof runSideBySide>>>;

export interface JobEnd {
  readonly end: RunEnd | 'failed' | 'held';
  readonly detail: string;
}

async function runOne(
  { experiment, runs, claim }: ExperimentPlan,
  index: number,
  directory: string,
  worker: ExperimentWorker,
): Promise<RunEnd> {
  const run = runs[index];
  const path = join(directory, run.folder);
  forgetFailure(path);
  expectPlannedCode(run);
  const blind = experiment.blindSeeds?.includes(run.seed) ?? false;
  const begin = (): Promise<RunEnd> =>
    worker.train(run, path, {
      claim: claim === undefined ? undefined : { hash: claim.hash, blind },
      onBegin: () => countBegun(directory, run, claim?.hash ?? null),
    });
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

export interface PlanWork {
  /** Places of the runs in the plan; default: all. */
  readonly indices?: readonly number[];
  /** The most runs at a time; several are a pack. */
  readonly size: number;
  /** The memory that a pack was planned to need of its GPU. */
  readonly neededMiB?: number | null;
  readonly signal: AbortSignal;
  readonly workerOf: (index: number, place: PackPlace | null) => ExperimentWorker;
  readonly onEnd?: (index: number, end: JobEnd) => void;
}

/**
 * Does runs of the plan in this process, one after another or as a pack. A pack's attacks follow one after another once it is done: each has a
 * model and a device of its own, and the pack's device holds the memory that there is.
 */
export async function runPlan(plan: ExperimentPlan, directory: string, work: PlanWork): Promise<ExperimentEnd> {
  const { experiment, runs } = plan;
  const { indices = [...runs.keys()], size, onEnd = () => undefined } = work;
  const { relearn } = experiment;
  if (size === 1 || relearn === null) return runTogether(plan, directory, { ...work, indices });
  const left = new Set<number>();
  const packed = await runTogether({ ...plan, experiment: { ...experiment, relearn: null } }, directory, {
    ...{ ...work, indices },
    onEnd(index, end) {
      if (end.end === 'finished' && relearn.arms.includes(runs[index].arm)) left.add(index);
      else onEnd(index, end);
    },
  });
  if (left.size === 0) return packed;
  const alone = { ...work, indices: indices.filter((index) => left.has(index)), size: 1 };
  const attacked = await runTogether(
    plan,
    directory,
    {
      ...alone,
      onEnd: (index, end) => {
        left.delete(index);
        onEnd(index, end);
      },
    },
    false,
  );
  // Those that an interruption came before.
  for (const index of left) onEnd(index, { end: 'interrupted', detail: '' });
  return {
    ...packed,
    end: packed.end === 'interrupted' ? packed.end : attacked.end,
    failed: [...packed.failed, ...attacked.failed],
    held: [...packed.held, ...attacked.held],
  };
}

/** A run that fails does not stop the others, unless it is the first of several alone, since what is wrong with it is most likely wrong with all, or the machine or the grader failed. */
async function runTogether(
  plan: ExperimentPlan,
  directory: string,
  {
    indices,
    size,
    neededMiB = null,
    signal,
    workerOf,
    onEnd = () => undefined,
  }: PlanWork & { readonly indices: readonly number[] },
  stopsEarly = size === 1,
): Promise<ExperimentEnd> {
  await using pack = size === 1 ? null : new RunPack({ neededMiB });
  const alone = indices.map((index) => [index]);
  return await runSideBySide(plan, alone, size, signal, async ([index]) => {
    using place = pack?.join() ?? null;
    const end = await runOne(plan, index, directory, workerOf(index, place)).then(
      (ending): JobEnd => ({ end: ending, detail: '' }),
      async (thrown: unknown): Promise<JobEnd> => {
        const error = firstError(thrown);
        if (error instanceof HeldError) return { end: 'held', detail: holderText(error) };
        await noteFailure(join(directory, plan.runs[index].folder), failureText(error));
        // Another error is not of one run: the machine or the grader failed.
        const isOfOneRun = error instanceof UserError || error instanceof OutOfMemoryError;
        if (stopsEarly && (index === indices[0] || !isOfOneRun)) throw error;
        return { end: 'failed', detail: failureText(error) };
      },
    );
    onEnd(index, end);
    return new Map([[index, end]]);
  });
}

/** Does at most `slots` groups of runs at a time, in their order. A slot whose runs were interrupted begins no others. */
export async function runSideBySide(
  { runs }: ExperimentPlan,
  groups: readonly (readonly number[])[],
  slots: number,
  signal: AbortSignal,
  start: (indices: readonly number[], slot: number) => Promise<ReadonlyMap<number, JobEnd>>,
) {
  const ends: (JobEnd & { readonly folder: string })[] = [];
  let isInterrupted = false;
  const queue = groups.values();
  async function drain(slot: number): Promise<void> {
    // All slots share the iterator: each group goes to the slot that asks first.
    for (const indices of queue) {
      const ended = signal.aborted ? null : await start(indices, slot);
      for (const [index, end] of ended ?? []) ends.push({ folder: runs[index].folder, ...end });
      if (ended !== null && ![...ended.values()].some(({ end }) => end === 'interrupted')) continue;
      isInterrupted = true;
      return;
    }
  }
  await Promise.all(Array.from({ length: Math.min(slots, groups.length) }, (_, slot) => drain(slot)));
  const named = (how: JobEnd['end']) =>
    ends.filter(({ end }) => end === how).map(({ folder, detail }) => ({ folder, detail }));
  return {
    end: isInterrupted ? ('interrupted' as const) : ('finished' as const),
    /** Runs that the tripwire stopped: they are evaluated like the others. */
    tripped: ends.filter(({ end }) => end === 'tripwire').map(({ folder }) => folder),
    failed: named('failed'),
    /** Runs that another process trains now, and which process: they were left to it. */
    held: named('held'),
  };
}

const holderText = ({ holder: { pid, host } }: HeldError): string => `process ${pid} on ${host}`;

/** What an error says; one that no user could have caused, with the lines that say where it came from. */
export function failureText(thrown: unknown): string {
  const error = firstError(thrown);
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return userErrorOf(error)?.message ?? stack;
}

export function evaluationsLeft(path: string, plan: EvaluationPlan): ReturnType<typeof finalNames> {
  const run = RunDirectory.open(path);
  const store = new EvaluationStore(path);
  const all = evaluationsOf(statesOf(run.readManifest()), run.listCheckpoints(), plan);
  return all.filter((name) => !store.has(name));
}

export function evaluationsOf(
  states: ReturnType<typeof statesOf>,
  checkpoints: readonly number[],
  { sets, scales, limit, curveEvery }: EvaluationPlan,
): ReturnType<typeof finalNames> {
  return [
    ...finalNames(states, { update: checkpoints.at(-1) ?? 0, sets, scales, limit }),
    ...(curveEvery === 0 ? [] : curveNames(states, checkpoints, curveEvery)),
  ];
}

async function isComplete({ experiment, runs }: ExperimentPlan, index: number, directory: string): Promise<boolean> {
  const path = join(directory, runs[index].folder);
  const end = await trainedStatus(path);
  if (end !== null && isBlind(path)) return true;
  if (end === null || evaluationsLeft(path, experiment.evaluation).length > 0) return false;
  if (experiment.evaluation.curveEvery > 0 && !existsSync(join(path, 'eval-curve.json'))) return false;
  if (end !== 'finished' || !experiment.relearn?.arms.includes(runs[index].arm)) return true;
  return (await trainedStatus(relearnFolders(resolve(path)).attack)) !== null;
}

export async function runsLeft(plan: ExperimentPlan, directory: string): Promise<number[]> {
  const left: number[] = [];
  for (const index of plan.runs.keys()) if (!(await isComplete(plan, index, directory))) left.push(index);
  return left;
}

/** A number that grows whenever a run saves something it can go on from: updates and evaluations, its own and those of its attack. */
export function savedWork(path: string): number {
  if (!isRun(path)) return 0;
  const evaluations = join(path, 'evaluations');
  const evaluated = existsSync(evaluations) ? readdirSync(evaluations).length : 0;
  return lastCheckpoint(RunDirectory.open(path)) + evaluated + savedWork(relearnFolders(resolve(path)).attack);
}
