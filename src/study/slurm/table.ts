/** What a Slurm cluster is asked for: the `[slurm]` table of an experiment, changed by flags of the command. */
import { z } from 'zod';

const word = (message: string) =>
  z
    .string(message)
    .regex(/^[\w.,:+@/-]+$/, message)
    .nullable()
    .default(null);
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

/** The lines of a script that ask for what the table says. */
export function requestLines({
  partition,
  account,
  time,
  gpus,
  cpus,
  memory,
  warnSeconds,
  options,
}: SlurmTable): string[] {
  const named = { partition, account, time, gres: gpus === null ? null : `gpu:${gpus}`, 'cpus-per-task': cpus };
  return [
    ...Object.entries({ ...named, mem: memory, signal: `B:USR1@${warnSeconds}` })
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `--${name}=${value}`),
    ...options,
  ];
}
