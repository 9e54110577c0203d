/** An experiment whose jobs are requeued, reach a time limit, see their node drained and are cancelled; without accounting. */
import { join } from 'node:path';
import type { SlurmDaemons } from './daemons.ts';
import { compare, expectThat, gq, localExperiment, runs, savedOf, settings, until, writeRecipe } from './tools.ts';

/** Requeues, drains and cancels while the first array runs under a time limit of a minute. */
async function disturb(slurm: SlurmDaemons, command: readonly string[], out: string): Promise<void> {
  const first = gq([...command, '--time', '1', '--jobs', '2'], slurm.environment);
  const job = () => /submitted as job (\d+)/.exec(first.said())?.[1] ?? '';
  const isSaved = () => savedOf(out, runs[0]) > 0 && savedOf(out, runs[1]) > 0;
  await until('two runs that have saved', isSaved, first.said);
  slurm.run('scontrol', 'requeue', `${job()}_0`);
  const isRequeued = () => /vanilla-1: job \d+_0 (PENDING|REQUEUED)/.test(first.said());
  await until('the requeue of the first run', isRequeued, first.said);
  slurm.run('scontrol', 'update', 'nodename=localhost', 'state=drain', 'reason=check');
  await until('a queue that waits for the node', () => /DRAIN/.test(slurm.run('squeue', '-h', '-t', 'PD', '-o', '%r')));
  slurm.run('scontrol', 'update', 'nodename=localhost', 'state=resume');
  await until('the third run', () => savedOf(out, runs[2]) > 0, first.said);
  slurm.run('scancel', `${job()}_2`);
  const code = await first.ended;
  expectThat(
    'a cancelled job is named, and the command fails',
    code === 1 && /vanilla-2 failed: CANCELLED/.test(first.said()),
    first.said(),
  );
  expectThat(
    'runs reached their time limit, and went on',
    first.said().includes('the time limit is near'),
    first.said(),
  );
  expectThat('the others are done', !/(vanilla-1|activation-\d) failed/.test(first.said()), first.said());
}

export async function checkDisturbed(home: string, slurm: SlurmDaemons): Promise<void> {
  const whole = await localExperiment(home);
  const out = join(home, 'disturbed');
  const command = ['experiment', writeRecipe(home, [1, 2]), '--out', out, '--on', 'slurm', ...(await settings())];
  await disturb(slurm, command, out);
  const second = gq(command, slurm.environment);
  expectThat('the same command does the rest', (await second.ended) === 0, second.said());
  expectThat('and only the rest', second.said().includes('1 of 4 runs submitted'), second.said());
  const third = gq(command, slurm.environment);
  const isNothing = (await third.ended) === 0 && third.said().includes('nothing to submit');
  expectThat('what is finished is not done again', isNothing, third.said());
  await compare(out, whole, runs);
}
