/**
 * A run, or a pack of runs, in a process of its own. One message tells the process what to do, and it reports its progress. It leads its own process
 * group, so the terminal's Ctrl-C does not reach it; it stops when it is sent a signal or when its parent is gone.
 */
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder } from '../base/node/index.ts';
import { coresVariable } from '../lab/index.ts';
import type { ExperimentPlan } from './experiment.ts';
import { noteFailure } from './failures.ts';
import { type ExperimentEnd, type JobEnd, runSideBySide, runsLeft } from './run.ts';

const source = fileURLToPath(new URL('./job-process.ts', import.meta.url));

/** The program of such a process: TypeScript when this file is, otherwise compiled JavaScript. */
const jobProgram = import.meta.url.endsWith('.ts') ? source : source.replace(/\.ts$/, '.js');

export interface JobStart {
  readonly plan: ExperimentPlan;
  readonly indices: readonly number[];
  readonly pack: number;
  /** The memory that a pack was planned to need of its GPU; null: none was planned. */
  readonly neededMiB: number | null;
  readonly directory: string;
}

export type RunReport =
  | { readonly kind: 'note' | 'warn'; readonly text: string }
  | { readonly kind: 'step'; readonly update: number; readonly seconds: number }
  /** `made`: evaluations that this took; those that were there before are not made again. */
  | { readonly kind: 'evaluated'; readonly seconds: number; readonly made: number; readonly processBytes: number };
export type Report = (report: RunReport) => void;

/** `failed`: the process itself, with every run that has not ended. */
export type JobMessage =
  | ({ readonly index: number } & (RunReport | ({ readonly kind: 'end' } & JobEnd)))
  | { readonly kind: 'failed'; readonly detail: string };

interface JobOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly reportOf: (index: number) => Report;
  readonly onEnd?: (index: number, end: JobEnd) => void;
  readonly signal: AbortSignal;
}

const keptErrorLines = 20;

/** Room for what an update allocates, in MB: what is young when garbage is collected would be copied, and later be searched for with the old. */
const youngSpace = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

/** Compiled code is kept between runs. A process with one core has none to spare for the threads that would help it collect garbage. */
export function processOptions(environment: JobOptions['environment']) {
  const thrifty = environment[coresVariable] === '1' ? ['--single-threaded-gc'] : [];
  return {
    execArgv: [...process.execArgv, ...youngSpace, ...thrifty],
    env: { NODE_COMPILE_CACHE: cacheFolder('node'), ...process.env, ...environment },
  };
}

function runJob(start: JobStart, options: JobOptions): Promise<ReadonlyMap<number, JobEnd>> {
  const { environment, reportOf, onEnd, signal } = options;
  const child = fork(jobProgram, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
    ...processOptions(environment),
  });
  const ends = new Map<number, JobEnd>();
  const reports = new Map(start.indices.map((index) => [index, reportOf(index)]));
  const end = (index: number, how: JobEnd): void => {
    // The last run's end is told at once, and again when its process leaves.
    if (ends.has(index)) return;
    ends.set(index, how);
    onEnd?.(index, how);
  };
  let errors: string[] = [];
  let failure: string | null = null;
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = [...errors, ...text.split('\n')].slice(-keptErrorLines);
  });
  child.on('message', (message: JobMessage) => {
    if (message.kind === 'failed') {
      failure = message.detail;
      return;
    }
    if (message.kind === 'end') end(message.index, { end: message.end, detail: message.detail });
    else reports.get(message.index)?.(message);
  });
  const interrupt = (): void => void child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  // A process that has ended already reads nothing: how it ended is told when it closes.
  child.send(start, () => undefined);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      signal.removeEventListener('abort', interrupt);
      const detail = failure ?? [`ended with ${killedBy ?? code}`, ...errors].join('\n').trim();
      for (const index of start.indices) {
        // A process may have been asked to stop before it was listening for the signal.
        end(index, failure === null && signal.aborted ? { end: 'interrupted', detail: '' } : { end: 'failed', detail });
      }
      resolve(ends);
    });
  });
}

export interface ProcessWork extends Pick<JobOptions, 'onEnd' | 'signal'> {
  readonly pack: number;
  readonly neededMiB?: number | null;
  readonly slots: readonly JobOptions['environment'][];
  readonly reportOf: (index: number, slot: number) => Report;
}

/** Does what is left of the plan in processes: each run in one of its own, or packs that share all runs between them. */
export async function runInProcesses(
  plan: ExperimentPlan,
  directory: string,
  { pack, neededMiB = null, slots, reportOf, ...options }: ProcessWork,
): Promise<ExperimentEnd> {
  const left = await runsLeft(plan, directory);
  const count = pack === 1 ? left.length : Math.min(slots.length, left.length);
  const groups = Array.from({ length: count }, (_, group) => left.filter((_index, i) => i % count === group));
  return await runSideBySide(plan, groups, slots.length, options.signal, async (indices, slot) => {
    const ends = await runJob(
      { plan, indices, pack, neededMiB, directory },
      { ...options, environment: slots[slot], reportOf: (index) => reportOf(index, slot) },
    );
    // A process that was killed could not note it.
    for (const [index, { end, detail }] of ends) {
      if (end === 'failed') await noteFailure(join(directory, plan.runs[index].folder), detail);
    }
    return ends;
  });
}
