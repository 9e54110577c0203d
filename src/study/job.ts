/**
 * A run, or a pack of runs, in a process of its own. One message tells the process what to do, and it reports its progress. It leads its own process
 * group, so the terminal's Ctrl-C does not reach it; it stops when it is sent a signal or when its parent is gone.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExperimentPlan } from './experiment.ts';
import { type ExperimentEnd, type JobEnd, runSideBySide, runsLeft } from './run.ts';

const source = fileURLToPath(new URL('./job-process.ts', import.meta.url));

/** The program of such a process: TypeScript when this file is, otherwise compiled JavaScript. */
const jobProgram = import.meta.url.endsWith('.ts') ? source : source.replace(/\.ts$/, '.js');

export interface JobStart {
  readonly plan: ExperimentPlan;
  /** Places of its runs in the plan. */
  readonly indices: readonly number[];
  /** The most of them at a time. */
  readonly pack: number;
  readonly directory: string;
}

/** Reports that a run makes while it works. */
export interface WorkReports {
  note(text: string): void;
  step(update: number, seconds: number): void;
  evaluated(seconds: number): void;
  warn(text: string): void;
}

/** What is told of a run of the job. */
type RunMessage = { readonly index: number } & (
  | { readonly kind: 'note' | 'warn'; readonly text: string }
  | { readonly kind: 'step'; readonly update: number; readonly seconds: number }
  | { readonly kind: 'evaluated'; readonly seconds: number }
  | ({ readonly kind: 'end' } & JobEnd)
);

/** `failed`: the process itself, with every run that has not ended. */
export type JobMessage = RunMessage | { readonly kind: 'failed'; readonly detail: string };

interface JobOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly reportsOf: (index: number) => WorkReports;
  /** Is told how a run ended as soon as it has. */
  readonly onEnd?: (index: number, end: JobEnd) => void;
  /** Asks the process to save and stop. */
  readonly signal: AbortSignal;
}

const keptErrorLines = 20;

/** Resolves to how each of its runs ended. */
function runJob(start: JobStart, options: JobOptions): Promise<ReadonlyMap<number, JobEnd>> {
  const { environment, reportsOf, onEnd, signal } = options;
  const child = fork(jobProgram, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
    env: { ...process.env, ...environment },
  });
  const ends = new Map<number, JobEnd>();
  const reports = new Map(start.indices.map((index) => [index, reportsOf(index)]));
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
    const told = reports.get(message.index);
    if (message.kind === 'end') end(message.index, { end: message.end, detail: message.detail });
    else if (message.kind === 'step') told?.step(message.update, message.seconds);
    else if (message.kind === 'evaluated') told?.evaluated(message.seconds);
    else told?.[message.kind](message.text);
  });
  const interrupt = (): void => void child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  child.send(start);
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
  /** The runs that one process does at a time. */
  readonly pack: number;
  /** What each process that works at a time has in its environment. */
  readonly slots: readonly JobOptions['environment'][];
  readonly reportsOf: (index: number, slot: number) => WorkReports;
}

/** Does what is left of the plan in processes: each run in one of its own, or packs that share all runs between them. */
export async function runInProcesses(
  plan: ExperimentPlan,
  directory: string,
  { pack, slots, reportsOf, ...options }: ProcessWork,
): Promise<ExperimentEnd> {
  const left = await runsLeft(plan, directory);
  const count = pack === 1 ? left.length : Math.min(slots.length, left.length);
  const groups = Array.from({ length: count }, (_, group) => left.filter((_index, i) => i % count === group));
  return await runSideBySide(plan, groups, slots.length, options.signal, (indices, slot) =>
    runJob(
      { plan, indices, pack, directory },
      { ...options, environment: slots[slot], reportsOf: (index) => reportsOf(index, slot) },
    ),
  );
}
