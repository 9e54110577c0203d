/**
 * Follows the tasks of an experiment until none waits or runs. What counts as done is what the files of a run say, never Slurm's word
 * alone. A run that was interrupted by the cluster is submitted again as long as it saved more work than before; a run that failed,
 * was refused or was cancelled is not.
 */
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { trainedStatus } from '../../run/index.ts';
import type { ExperimentPlan } from '../experiment.ts';
import { type ExperimentEnd, runsLeft, savedWork } from '../run.ts';
import { cancelJob } from './client.ts';
import { LogTail, lastLine } from './log-tail.ts';
import {
  expectTasks,
  isActive,
  latestTasks,
  logPath,
  type RunTask,
  type SubmitOptions,
  submitRuns,
} from './submission.ts';

export interface FollowOptions extends SubmitOptions {
  readonly say: (text: string) => void;
  /** Ends the following; the jobs go on. */
  readonly signal: AbortSignal;
  readonly pollSeconds?: number;
}

export function cancelRuns(directory: string): string[] {
  const tasks = [...expectTasks(directory).values()].filter(isActive);
  // Runs of a pack have one task.
  const names = [...new Set(tasks.map(nameOf))];
  for (const name of names) cancelJob(name);
  return names;
}

function teller(directory: string, say: (text: string) => void): (folder: string, task: RunTask) => void {
  const said = new Map<string, string>();
  const tails = new Map<string, LogTail>();
  return (folder, task) => {
    const path = logPath(directory, task);
    // What was over before the following began is no news.
    if (!tails.has(path) && !isActive(task)) return;
    // A log that was there before is told from its last lines on.
    const tail = tails.get(path) ?? new LogTail(path, 2048);
    tails.set(path, tail);
    for (const line of tail.read()) say(`${folder} | ${line}`);
    const words = `${nameOf(task)} ${task.state?.detail ?? 'forgotten by Slurm'}`;
    if (said.get(folder) === words) return;
    said.set(folder, words);
    say(`${folder}: job ${words}`);
  };
}

/** Remembers in `ends` how tasks ended: without accounting, Slurm forgets it after some minutes, while others still run. */
function withEnds(tasks: ReadonlyMap<string, RunTask>, ends: Map<string, RunTask>): Map<string, RunTask> {
  const complete = (task: RunTask): RunTask => {
    if (task.state === null) return ends.get(nameOf(task)) ?? task;
    // A task that ended may be put back into the queue.
    if (isActive(task)) ends.delete(nameOf(task));
    else ends.set(nameOf(task), task);
    return task;
  };
  return new Map([...tasks].map(([folder, task]) => [folder, complete(task)]));
}

const nameOf = ({ job, index }: RunTask): string => `${job}_${index}`;

export async function followRuns(
  plan: ExperimentPlan,
  directory: string,
  { say, signal, pollSeconds = 3, ...submit }: FollowOptions,
): Promise<ExperimentEnd> {
  const tell = teller(directory, say);
  const ends = new Map<string, RunTask>();
  const saved = plan.runs.map(({ folder }) => savedWork(join(directory, folder)));
  for (;;) {
    const found = latestTasks(directory);
    if (signal.aborted) return { end: 'interrupted', tripped: [], failed: [], held: [] };
    if (found === null) say('Slurm does not answer; asking again');
    else {
      const tasks = withEnds(found, ends);
      for (const { folder } of plan.runs) {
        const task = tasks.get(folder);
        if (task !== undefined) tell(folder, task);
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
        const submitted = await submitRuns(plan, directory, again, submit);
        const folders = submitted?.indices.map((index) => plan.runs[index].folder).join(', ');
        if (submitted !== null) say(`${folders}: submitted again as job ${submitted.job}`);
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
  return { end: 'finished', tripped, failed, held: [] };
}
