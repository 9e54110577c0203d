/**
 * An experiment that loses its place on a cluster with accounting: its jobs are pre-empted, their node dies with all that runs on it,
 * and the daemon of the node dies alone. Slurm puts the jobs back into the queue; they must go on, once each, to the same bytes.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskStates } from '../../src/study/slurm/client.ts';
import type { SlurmDaemons } from './daemons.ts';
import { compare, expectThat, gq, localExperiment, runs, savedOf, settings, until, writeRecipe } from './tools.ts';

const own = runs.slice(0, 2);

export async function checkLost(home: string, slurm: SlurmDaemons): Promise<void> {
  const whole = await localExperiment(home);
  const out = join(home, 'lost');
  const where = ['--out', out, '--on', 'slurm', '--partition', 'low'];
  const command = gq(['experiment', writeRecipe(home, [1]), ...where, ...(await settings())], slurm.environment);
  const job = () => /submitted as job (\d+)/.exec(command.said())?.[1] ?? '';
  const states = () => slurm.run('squeue', '-h', '-r', '-j', job(), '-o', '%T').trim().split('\n');
  const log = (index: number) => readFileSync(join(out, '.jobs', 'logs', `${job()}_${index}.log`), 'utf8');
  const saved = () => own.map((run) => savedOf(out, run));
  const grown = async (what: string, from: readonly number[]) =>
    until(`updates ${what}`, () => saved().every((updates, i) => updates > from[i]), command.said);

  await grown('of both runs', [0, 0]);
  slurm.run('sbatch', '--partition=main', '--ntasks=2', '--output=/dev/null', '--wrap=sleep 5');
  await until('pre-empted jobs', () => states().every((state) => state === 'PENDING'), command.said);
  await grown('after the pre-emption', saved());
  expectThat(
    'pre-empted jobs begin again',
    own.every((_, i) => log(i).includes('attempt 2')),
    command.said(),
  );

  slurm.killNode();
  await until('a node that is down', () => /down/.test(slurm.run('sinfo', '-h', '-o', '%t')));
  await slurm.restartNode();
  await grown('after the death of the node', saved());
  expectThat(
    'jobs of a dead node begin again',
    own.every((_, i) => log(i).includes('attempt 3')),
    command.said(),
  );

  slurm.killNode('daemon');
  await until('a node that is down', () => /down/.test(slurm.run('sinfo', '-h', '-o', '%t')));
  await slurm.restartNode();
  const code = await command.ended;
  expectThat(
    'jobs whose daemon died alone begin again',
    own.every((_, i) => log(i).includes('attempt 4')),
    command.said(),
  );
  expectThat('the command ends with 0', code === 0, command.said());
  expectThat('and submits no second job for a run', !command.said().includes('submitted again'), command.said());
  await compare(out, whole, own);
  await until(
    'a controller that has forgotten the job',
    () => slurm.run('squeue', '-h', '-t', 'all', '-j', job()).trim() === '',
  );
  Object.assign(process.env, { SLURM_CONF: slurm.environment['SLURM_CONF'] });
  const remembered = [...(taskStates(job()) ?? [])].map(([index, { outcome }]) => `${index} ${outcome}`);
  expectThat('accounting remembers it', remembered.sort().join() === '0 done,1 done', remembered.join());
}
