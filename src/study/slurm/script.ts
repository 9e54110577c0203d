/**
 * The script of a job array: each task does what is left of one run, or of a pack of runs. Before its time limit a task is asked to save (SIGUSR1), and puts
 * itself back into the queue; a task that was cancelled is not put back. Slurm itself requeues what it pre-empts or loses with a node.
 */
import { z } from 'zod';
import { shellLine, UserError } from '../../base/index.ts';

const words = /^[\w.,:+@/-]+$/;
const word = (message: string) => z.string(message).regex(words, message).nullable().default(null);
const whole = (message: string) => z.number(message).int(message).min(1, message).nullable().default(null);
const optionText = 'options of sbatch such as "--qos=low", without spaces and quotes';

export const slurmSchema = z.strictObject({
  partition: word('the name of a partition').describe('partition; null: that of the cluster'),
  account: word('the name of an account').describe('account that is charged; null: that of the user'),
  time: word('a time limit such as "8:00:00", or minutes such as "90"').describe(
    'time limit of one attempt; null: that of the partition',
  ),
  gpus: whole('a whole number of at least 1').describe('GPUs of a run; null: none are asked for'),
  cpus: whole('a whole number of at least 1').describe('cores of a run; null: as many as the cluster gives'),
  memory: word('an amount such as "32G"').describe('memory of a run; null: that of the partition'),
  warnSeconds: z
    .number('a whole number of seconds')
    .int('a whole number of seconds')
    .min(10, 'at least 10 seconds')
    .max(65_535, 'at most 65535 seconds')
    .default(120)
    .describe('how long before the time limit a run is asked to save; longer than one update takes'),
  options: z
    .array(z.string(optionText).regex(/^--?[A-Za-z][\w-]*(=[^\s'"\\]+)?$/, optionText), `a list of ${optionText}`)
    .default([])
    .describe('further options of sbatch'),
});

export type SlurmTable = z.infer<typeof slurmSchema>;

function requestLines({ partition, account, time, gpus, cpus, memory, warnSeconds, options }: SlurmTable): string[] {
  const named = { partition, account, time, gres: gpus === null ? null : `gpu:${gpus}`, 'cpus-per-task': cpus };
  return [
    ...Object.entries({ ...named, mem: memory, signal: `B:USR1@${warnSeconds}` })
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `--${name}=${value}`),
    ...options,
  ];
}

export interface ArrayScript {
  readonly name: string;
  /** Numbers of the tasks: the place in the plan of each one's first run. */
  readonly indices: readonly number[];
  /** Most tasks at a time; null: as many as the cluster gives. */
  readonly jobs: number | null;
  readonly command: readonly string[];
  readonly workingFolder: string;
  readonly logFolder: string;
  readonly table: SlurmTable;
}

/** `0-3,7` of 0, 1, 2, 3, 7. */
export function rangesOf(indices: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const index of indices) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',');
}

/** A path for a line of options, which ends where the line ends; what came after would be a line of the script. */
function linePath(path: string): string {
  if (!/[\\\p{Cc}]/u.test(path)) return path;
  throw new UserError({
    call: '--on slurm',
    expected: 'folders without line breaks, control characters and backslashes in their paths',
    found: JSON.stringify(path),
    fix: 'Slurm cannot be told such a path. Call it in another folder, with another --out.',
  });
}

/** Slurm reads `%` in the path of a log as a pattern. */
const plainPath = (path: string): string => linePath(path).replaceAll('%', '%%');
/** Slurm splits the lines of options at spaces, and takes quotes off. */
const quoted = (text: string): string => (/^[\w./%=:,@+-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`);

const body = `
# Exit codes of gq: 0 done, 1 failed, 2 do not retry, 75 interrupted (the same command goes on).
task="\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}"
echo "task $task on $(hostname), attempt $((\${SLURM_RESTART_COUNT:-0} + 1))"
if [ -n "\${SLURM_CPUS_PER_TASK:-}" ]; then export GQ_CORES="$SLURM_CPUS_PER_TASK"; fi
limit_is_near=
trap 'limit_is_near=1; kill -USR1 "$child" 2>/dev/null' USR1
# Whoever ends the job decides what becomes of it.
trap 'limit_is_near=; kill -TERM "$child" 2>/dev/null' TERM
COMMAND "$SLURM_ARRAY_TASK_ID" &
child=$!
wait "$child"; code=$?
# A signal ends the waiting, not the run.
while kill -0 "$child" 2>/dev/null; do wait "$child"; code=$?; done
if [ "$code" = 75 ] && [ -n "$limit_is_near" ]; then
  echo "the time limit is near: back into the queue"
  # The number of the job alone would stand for the whole array in its last task.
  scontrol requeue "$task" && { sleep 600 >/dev/null 2>&1 & wait $!; kill $! 2>/dev/null; }
fi
exit "$code"
`;

export function arrayScript(script: ArrayScript): string {
  const { name, indices, jobs, command, workingFolder, logFolder, table } = script;
  const options = [
    `--job-name=gq-${name}`,
    `--array=${rangesOf(indices)}${jobs === null ? '' : `%${jobs}`}`,
    `--chdir=${linePath(workingFolder)}`,
    `--output=${plainPath(logFolder)}/%A_%a.log`,
    '--open-mode=append',
    '--requeue',
    ...requestLines(table),
  ];
  const head = options.map((option) => `#SBATCH ${quoted(option)}`);
  return ['#!/bin/bash', ...head, body.replace('COMMAND', () => shellLine(...command))].join('\n');
}
