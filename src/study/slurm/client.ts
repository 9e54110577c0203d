/** Calls Slurm's own programs. Where they are missing, the message says what to install; where they refuse, it says why. */
import { spawnSync } from 'node:child_process';
import { UserError } from '../../base/index.ts';
import { parseTasks, type TaskState } from './states.ts';

interface Answer {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function ask(program: string, words: readonly string[]): Answer {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8', timeout: 60_000 });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') {
    throw new UserError({
      call: '--on slurm',
      expected: `Slurm's program ${program} on this machine`,
      found: 'no such program',
      fix: 'Call it on a login node of the cluster, or install it (Debian: apt-get install slurm-wlm). Without Slurm, --on local runs here.',
    });
  }
  return { code: status, out: stdout ?? '', err: `${stderr ?? ''}${error === undefined ? '' : error.message}`.trim() };
}

export function expectSlurm(): void {
  const { code, err } = ask('sinfo', ['--noheader', '--format=%P']);
  if (code === 0) return;
  throw new UserError({
    call: '--on slurm',
    expected: 'a Slurm controller that answers sinfo',
    found: err.split('\n').at(-1) || 'silence',
    fix: 'Call it where sinfo works. Without --on slurm everything runs on this machine.',
  });
}

/** The most tasks of an array that this cluster takes; null if it does not say. */
export function largestArray(): number | null {
  const { code, out } = ask('scontrol', ['show', 'config']);
  const text = code === 0 ? /^MaxArraySize\s*=\s*(\d+)/m.exec(out)?.[1] : undefined;
  return text === undefined ? null : Number(text);
}

/** Submits a script, and returns the number of its array. */
export function submitScript(path: string): string {
  const { code, out, err } = ask('sbatch', ['--parsable', path]);
  const id = /^(\d+)/.exec(out.trim())?.[1];
  if (code === 0 && id !== undefined) return id;
  throw new UserError({ call: `sbatch ${path}`, expected: 'a job that Slurm accepts', found: err || out });
}

/** The tasks of an array that wait or run now, and for a few minutes those that ended; null when the controller does not answer. */
function queuedTasks(job: string): Map<number, TaskState> | null {
  const format = 'JobArrayID:.64,State:.32,exit_code:.16';
  const queued = ask('squeue', ['--noheader', '--array', '--states=all', `--jobs=${job}`, `--Format=${format}`]);
  if (queued.code !== 0) return /invalid job id/i.test(queued.err) ? new Map() : null;
  const lines = queued.out.split('\n').map((line) => line.trim().split(/\s+/).join('|'));
  return parseTasks(lines.join('\n'), job);
}

/** The latest states of the tasks of an array; null when the controller does not answer now. A task that Slurm forgot is absent. */
export function taskStates(job: string): Map<number, TaskState> | null {
  const queued = queuedTasks(job);
  if (queued === null) return null;
  const accounted = ask('sacct', ['-n', '-P', '-X', '-j', job, '-o', 'JobID,State,ExitCode']);
  const remembered = accounted.code === 0 ? parseTasks(accounted.out, job) : new Map<number, TaskState>();
  // The controller knows what is. Accounting knows what was, lags behind (a task that was put back into the queue is still the one that
  // was interrupted), and may be off.
  return new Map([...remembered, ...queued]);
}

export function cancelJob(job: string): void {
  const { code, err } = ask('scancel', [job]);
  if (code !== 0) throw new UserError({ call: `scancel ${job}`, expected: 'a job that can be cancelled', found: err });
}
