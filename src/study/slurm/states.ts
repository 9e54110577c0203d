/** What Slurm says about the tasks of an array, from sacct or, where there is no accounting, from squeue. */

export type TaskOutcome = 'waiting' | 'running' | 'done' | 'failed' | 'refused' | 'interrupted' | 'cancelled';

export interface TaskState {
  readonly outcome: TaskOutcome;
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
