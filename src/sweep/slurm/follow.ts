/**
 * Follows the tasks of an experiment until none waits or runs. What counts as done is what the files of a run say, never Slurm's word
 * alone. A run that was interrupted by the cluster is submitted again as long as it saved more work than before; a run that failed,
 * was refused or was cancelled is not.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { UserError } from '../../base/index.ts';
import type { ExperimentPlan } from '../experiment.ts';
import { type ExperimentEnd, trainedStatus } from '../run-experiment.ts';
import { runsLeft, savedWork } from '../work-left.ts';
import { cancelJob } from './client.ts';
import { LogTail, lastLine } from './log-tail.ts';
import { latestTasks, logPath, type RunTask, type SubmitOptions, submitRuns } from './submission.ts';

export interface FollowOptions extends SubmitOptions {
  readonly say: (text: string) => void;
  /** Ends the following; the jobs go on. */
  readonly signal: AbortSignal;
  readonly pollSeconds?: number;
}

const isActive = ({ state }: RunTask): boolean => state?.outcome === 'waiting' || state?.outcome === 'running';

/** The runs that are left and for which no task waits or runs. */
export async function runsToSubmit(plan: ExperimentPlan, directory: string): Promise<number[]> {
  const left = await runsLeft(plan, directory);
  if (left.length === 0) return [];
  const tasks = expectTasks(directory);
  const isWorkedOn = (index: number): boolean => {
    const task = tasks.get(plan.runs[index].folder);
    return task !== undefined && isActive(task);
  };
  return left.filter((index) => !isWorkedOn(index));
}

/** Nobody can tell which runs a job works on while Slurm is silent, and a second job for a run would only be in the way. */
function expectTasks(directory: string): Map<string, RunTask> {
  const tasks = latestTasks(directory);
  if (tasks !== null) return tasks;
  throw new UserError({
    call: '--on slurm',
    expected: 'an answer of squeue about the jobs of this experiment',
    found: 'none',
    fix: 'Call it again when the controller answers; jobs that were submitted go on.',
  });
}

/** Cancels the tasks of an experiment that wait or run, and returns their numbers. */
export function cancelRuns(directory: string): string[] {
  const tasks = [...expectTasks(directory).values()].filter(isActive);
  const names = tasks.map(({ job, index }) => `${job}_${index}`);
  for (const name of names) cancelJob(name);
  return names;
}

/** Tells what is new: states that changed, and the lines of the logs. */
class Telling {
  readonly #directory: string;
  readonly #say: (text: string) => void;
  readonly #told = new Map<string, string>();
  readonly #tails = new Map<string, LogTail>();

  constructor(directory: string, say: (text: string) => void) {
    this.#directory = directory;
    this.#say = say;
  }

  tell(folder: string, task: RunTask): void {
    const path = logPath(this.#directory, task);
    // What was over before the following began is no news.
    if (!this.#tails.has(path) && !isActive(task)) return;
    // A log that was there before is told from its last lines on.
    const tail = this.#tails.get(path) ?? new LogTail(path, 2048);
    this.#tails.set(path, tail);
    for (const line of tail.read()) this.#say(`${folder} | ${line}`);
    const words = `${task.job}_${task.index} ${task.state?.detail ?? 'forgotten by Slurm'}`;
    if (this.#told.get(folder) === words) return;
    this.#told.set(folder, words);
    this.#say(`${folder}: job ${words}`);
  }
}

export async function followRuns(
  plan: ExperimentPlan,
  directory: string,
  { say, signal, pollSeconds = 3, ...submit }: FollowOptions,
): Promise<ExperimentEnd> {
  const telling = new Telling(directory, say);
  const saved = plan.runs.map(({ folder }) => savedWork(join(directory, folder)));
  for (;;) {
    const tasks = latestTasks(directory);
    if (signal.aborted) return { end: 'interrupted', tripped: [], failed: [] };
    if (tasks === null) say('Slurm does not answer; asking again');
    else {
      for (const { folder } of plan.runs) {
        const task = tasks.get(folder);
        if (task !== undefined) telling.tell(folder, task);
      }
      const left = await runsLeft(plan, directory);
      const resting = left.filter((index) => {
        const task = tasks.get(plan.runs[index].folder);
        return task === undefined || !isActive(task);
      });
      const again = resting.filter((index) => {
        const { folder } = plan.runs[index];
        const work = savedWork(join(directory, folder));
        const grew = work > saved[index];
        saved[index] = work;
        return grew && tasks.get(folder)?.state?.outcome === 'interrupted';
      });
      if (again.length > 0) {
        const job = await submitRuns(plan, directory, again, submit);
        say(`${again.map((index) => plan.runs[index].folder).join(', ')}: submitted again as job ${job}`);
      } else if (resting.length === left.length) return await ended(plan, directory, left, tasks);
    }
    await wait(pollSeconds * 1000, undefined, { signal }).catch(() => undefined);
  }
}

async function ended(
  { runs }: ExperimentPlan,
  directory: string,
  left: readonly number[],
  tasks: ReadonlyMap<string, RunTask>,
): Promise<ExperimentEnd> {
  const ends = await Promise.all(runs.map(({ folder }) => trainedStatus(join(directory, folder))));
  const tripped = runs.filter((_, index) => ends[index] === 'tripwire').map(({ folder }) => folder);
  const failed = left.map((index) => {
    const { folder } = runs[index];
    const task = tasks.get(folder);
    if (task === undefined) return { folder, detail: 'it was not submitted' };
    const line = lastLine(logPath(directory, task));
    const what = task.state?.detail ?? 'forgotten by Slurm before it was done';
    return { folder, detail: `${what}; ${line === null ? 'it has no log' : `last line: ${line}`}` };
  });
  return { end: 'finished', tripped, failed };
}
