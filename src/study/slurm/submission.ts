/**
 * The arrays that were submitted for an experiment: `.jobs/slurm.json` has a line for each, with the runs of its tasks. A run is
 * submitted when it is not complete and no task of an earlier array waits or runs for it. Tasks are followed until none waits or runs. What counts as done
 * is what the files of a run say, never Slurm's word alone. A run that was interrupted by the cluster is submitted again as long as it saved more work
 * than before; a run that failed, was refused or was cancelled is not.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { UserError } from '../../base/index.ts';
import { makeFolder, waitForLock, writeFileAtomic } from '../../base/node/index.ts';
import { readStored, trainedStatus } from '../../run/index.ts';
import { jobsFolder, storePlan } from '../directory.ts';
import type { ExperimentPlan } from '../experiment.ts';
import { type ExperimentEnd, runsLeft, savedWork } from '../run.ts';
import { cancelJob, largestArray, submitScript, type TaskState, taskStates } from './client.ts';
import { followLog, lastLine } from './log-tail.ts';
import { arrayScript, type SlurmTable } from './script.ts';

const arraySchema = z.object({
  job: z.string().regex(/^\d+$/),
  tasks: z.array(z.object({ index: z.number().int().min(0), folder: z.string() })),
});
const fileSchema = z.object({ format: z.literal(1), arrays: z.array(arraySchema) });

const filePath = (directory: string): string => join(jobsFolder(directory), 'slurm.json');

export function readArrays(directory: string): readonly z.infer<typeof arraySchema>[] {
  if (!existsSync(filePath(directory))) return [];
  const fix = 'Delete it once no job of the experiment waits or runs (squeue): finished runs are known by their files.';
  return readStored(filePath(directory), 'the list of submitted jobs', fileSchema, fix).arrays;
}

export interface SubmitOptions {
  readonly table: SlurmTable;
  /** Most tasks at a time; null: as many as the cluster gives. */
  readonly jobs: number | null;
  readonly gq: readonly string[];
  /** Number of neighbours in the plan that one task does as a pack; default: 1. */
  readonly pack?: number;
}

/** The number of a run's task: the place of the first run of its pack. */
const taskOf = (index: number, pack: number): number => index - (index % pack);

export async function writeScript(
  plan: ExperimentPlan,
  directory: string,
  indices: readonly number[],
  { table, jobs, gq, pack = 1 }: SubmitOptions,
): Promise<string> {
  const planPath = await storePlan(plan, directory);
  const folder = jobsFolder(directory);
  makeFolder(join(folder, 'logs'));
  const script = arrayScript({
    name: plan.experiment.name,
    indices: [...new Set(indices.map((index) => taskOf(index, pack)))],
    jobs,
    command: [...gq, 'task', ...(pack === 1 ? [] : ['--pack', `${pack}`]), planPath],
    workingFolder: process.cwd(),
    logFolder: join(folder, 'logs'),
    table,
  });
  const path = join(folder, 'slurm.sh');
  await writeFileAtomic(path, script);
  return path;
}

/** The number of a task is the place of its run in the plan, so the whole plan must fit into an array. */
function expectRoom(indices: readonly number[]): void {
  const [largest, last] = [largestArray(), Math.max(...indices)];
  if (largest === null || last < largest) return;
  throw new UserError({
    call: '--on slurm',
    expected: `an experiment of at most ${largest} runs (MaxArraySize of this cluster)`,
    found: `run ${last + 1}`,
    fix: 'Call it for parts of the experiment, one after another, with --arms or --seeds and the same --out.',
  });
}

export interface RunTask {
  readonly job: string;
  readonly index: number;
  /** Null for a task that Slurm has forgotten. */
  readonly state: TaskState | null;
}

function latestTasks(directory: string): Map<string, RunTask> | null {
  const found = new Map<string, RunTask>();
  for (const { job, tasks } of readArrays(directory)) {
    const states = taskStates(job);
    if (states === null) return null;
    for (const { index, folder } of tasks) found.set(folder, { job, index, state: states.get(index) ?? null });
  }
  return found;
}

const isActive = ({ state }: RunTask): boolean => state?.outcome === 'waiting' || state?.outcome === 'running';

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

/** Submits an array for those of these runs that no job works on meanwhile, and returns their places in the plan; null if there are none. */
export async function submitRuns(
  plan: ExperimentPlan,
  directory: string,
  wanted: readonly number[],
  options: SubmitOptions,
): Promise<{ readonly job: string; readonly indices: readonly number[] } | null> {
  makeFolder(jobsFolder(directory));
  const expected = 'an experiment that no other command submits at this moment';
  using _lock = await waitForLock(join(jobsFolder(directory), 'lock.json'), { call: `submit ${directory}`, expected });
  const tasks = expectTasks(directory);
  const { pack = 1 } = options;
  const isFree = (index: number): boolean => {
    const task = tasks.get(plan.runs[index].folder);
    return task === undefined || !isActive(task);
  };
  // A task begins with none of its runs while another task works on one of them.
  const busy = new Set([...plan.runs.keys()].filter((index) => !isFree(index)).map((index) => taskOf(index, pack)));
  const indices = wanted.filter((index) => !busy.has(taskOf(index, pack)));
  if (indices.length === 0) return null;
  expectRoom(indices);
  const earlier = readArrays(directory);
  const job = submitScript(await writeScript(plan, directory, indices, options));
  const own = indices.map((index) => ({ index: taskOf(index, pack), folder: plan.runs[index].folder }));
  // The numbers of a cluster that was set up anew begin again; a number has one array, the last one.
  const arrays = [...earlier.filter((array) => array.job !== job), { job, tasks: own }];
  await writeFileAtomic(filePath(directory), `${JSON.stringify({ format: 1, arrays }, null, 1)}\n`);
  return { job, indices };
}

function logPath(directory: string, { job, index }: RunTask): string {
  return join(jobsFolder(directory), 'logs', `${job}_${index}.log`);
}

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
  const logs = new Map<string, () => string[]>();
  return (folder, task) => {
    const path = logPath(directory, task);
    // What was over before the following began is no news.
    if (!logs.has(path) && !isActive(task)) return;
    // A log that was there before is told from its last lines on.
    const newLines = logs.get(path) ?? followLog(path, 2048);
    logs.set(path, newLines);
    for (const line of newLines()) say(`${folder} | ${line}`);
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
