/**
 * A run in a process of its own. The process is told what to do once, and tells how far it is; it does not see the terminal's
 * Ctrl-C (it leads its own group), only what it is sent, and stops by itself when whoever started it is gone.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ExperimentPlan } from './experiment.ts';
import type { JobEnd } from './run-experiment.ts';

const source = fileURLToPath(new URL('./job-process.ts', import.meta.url));

/** The program of such a process: TypeScript where this file is, JavaScript where it was compiled. */
export const jobProgram = import.meta.url.endsWith('.ts') ? source : source.replace(/\.ts$/, '.js');

export interface JobStart {
  readonly plan: ExperimentPlan;
  readonly index: number;
  readonly directory: string;
}

/** What a run tells while it works. */
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
      // One that was asked to stop before it could listen.
      else if (signal.aborted) resolve({ end: 'interrupted', detail: '' });
      else resolve({ end: 'failed', detail: [`ended with ${killedBy ?? code}`, ...errors].join('\n').trim() });
    });
  });
}
