/** Calls Slurm's own programs and reads what they say about the tasks of an array. Where they are missing, the message says what to install; where they refuse, it says why. */
import { spawnSync } from 'node:child_process';
import { UserError } from '../../base/index.ts';

export interface TaskState {
  readonly outcome: 'waiting' | 'running' | 'done' | 'failed' | 'refused' | 'interrupted' | 'cancelled';
  /** Slurm's own words, such as `TIMEOUT` or `FAILED, exit code 2`. */
  readonly detail: string;
}

const waiting = ['PENDING', 'REQUEUED', 'REQUEUE_FED', 'REQUEUE_HOLD', 'SPECIAL_EXIT', 'RESV_DEL_HOLD'];
const running = ['RUNNING', 'CONFIGURING', 'COMPLETING', 'STAGE_OUT', 'SIGNALING', 'STOPPED', 'SUSPENDED', 'RESIZING'];
/** The run can go on from its last checkpoint. */
const interrupted = ['TIMEOUT', 'PREEMPTED', 'NODE_FAIL', 'BOOT_FAIL', 'DEADLINE', 'REVOKED'];

/** `words` may say more than the state: `CANCELLED by 1000`. `exit` is CODE:SIGNAL. */
export function taskState(words: string, exit: string): TaskState {
  const state = words.split(' ', 1)[0].replace(/\+$/, '');
  const code = Number(exit.split(':', 1)[0]);
  if (waiting.includes(state)) return { outcome: 'waiting', detail: state };
  if (running.includes(state)) return { outcome: 'running', detail: state };
  if (interrupted.includes(state)) return { outcome: 'interrupted', detail: state };
  if (state === 'CANCELLED') return { outcome: 'cancelled', detail: words };
  if (state === 'COMPLETED') return { outcome: 'done', detail: state };
  const detail = `${state}, exit code ${code}`;
  if (code === 75) return { outcome: 'interrupted', detail };
  return { outcome: code === 2 ? 'refused' : 'failed', detail };
}

/** `0-3,7%2` and `5` as numbers; a cut list (`0-3,...`) gives those that are named. */
export function indicesOf(text: string): number[] {
  const ranges = text.replace(/^\[|\]$|%\d+\]?$/g, '').split(',');
  return ranges.flatMap((range) => {
    const match = /^(\d+)(?:-(\d+)(?::(\d+))?)?$/.exec(range);
    if (match === null) return [];
    const [from, to, step] = [Number(match[1]), Number(match[2] ?? match[1]), Number(match[3] ?? 1)];
    return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
  });
}

/** Lines of `JOB_TASK|STATE|CODE:SIGNAL`, where a task may be a list in brackets. */
export function parseTasks(text: string, job: string): Map<number, TaskState> {
  const states = new Map<number, TaskState>();
  for (const line of text.split('\n')) {
    const [id = '', words = '', exit = ''] = line.split('|').map((field) => field.trim());
    if (!id.startsWith(`${job}_`)) continue;
    for (const index of indicesOf(id.slice(job.length + 1))) states.set(index, taskState(words, exit));
  }
  return states;
}

function ask(program: string, words: readonly string[]) {
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
