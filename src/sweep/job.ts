/**
 * A run in a process of its own. One message tells the process what to do, and it reports its progress. It leads its own process
 * group, so the terminal's Ctrl-C does not reach it; it stops when it is sent a signal or when its parent is gone.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExperimentPlan } from './experiment.ts';
import type { JobEnd } from './run-experiment.ts';

const source = fileURLToPath(new URL('./job-process.ts', import.meta.url));

/** The program of such a process: TypeScript when this file is, otherwise compiled JavaScript. */
export const jobProgram = import.meta.url.endsWith('.ts') ? source : source.replace(/\.ts$/, '.js');

export interface JobStart {
  readonly plan: ExperimentPlan;
  readonly index: number;
  readonly directory: string;
}

/** Reports that a run makes while it works. */
export interface WorkReports {
  note(text: string): void;
  step(update: number, seconds: number): void;
  evaluated(seconds: number): void;
  warn(text: string): void;
}

export type JobMessage =
  | { readonly kind: 'note' | 'warn'; readonly text: string }
  | { readonly kind: 'step'; readonly update: number; readonly seconds: number }
  | { readonly kind: 'evaluated'; readonly seconds: number }
  | ({ readonly kind: 'end' } & JobEnd);

export interface JobOptions {
  readonly program: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly reports: WorkReports;
  /** Asks the process to save and stop. */
  readonly signal: AbortSignal;
}

const keptErrorLines = 20;

export function runJob(start: JobStart, { program, environment, reports, signal }: JobOptions): Promise<JobEnd> {
  const child = fork(program, [], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
    env: { ...process.env, ...environment },
  });
  let end: JobEnd | null = null;
  let errors: string[] = [];
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = [...errors, ...text.split('\n')].slice(-keptErrorLines);
  });
  child.on('message', (message: JobMessage) => {
    if (message.kind === 'end') end = { end: message.end, detail: message.detail };
    else if (message.kind === 'step') reports.step(message.update, message.seconds);
    else if (message.kind === 'evaluated') reports.evaluated(message.seconds);
    else reports[message.kind](message.text);
  });
  const interrupt = (): void => void child.kill('SIGINT');
  signal.addEventListener('abort', interrupt, { once: true });
  child.send(start);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      signal.removeEventListener('abort', interrupt);
      if (end !== null) resolve(end);
      // The process was asked to stop before it was listening for the signal.
      else if (signal.aborted) resolve({ end: 'interrupted', detail: '' });
      else resolve({ end: 'failed', detail: [`ended with ${killedBy ?? code}`, ...errors].join('\n').trim() });
    });
  });
}
