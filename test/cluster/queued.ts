/** Jobs of `gq queue` that are experiments on Slurm: they take no slot, are cancelled with their jobs, survive their daemon, and tell why. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SlurmDaemons } from './daemons.ts';
import { expectThat, gq, savedOf, settings, until, writeRecipe } from './tools.ts';

export async function checkQueued(home: string, slurm: SlurmDaemons): Promise<void> {
  const environment = { ...slurm.environment, GQ_QUEUE: join(home, 'queue') };
  const say = async (...words: readonly string[]): Promise<string> => {
    const command = gq(['queue', ...words], environment);
    if ((await command.ended) !== 0) throw new Error(`gq queue ${words.join(' ')}: ${command.said()}`);
    return command.said();
  };
  const states = async (): Promise<string> => {
    const jobs = JSON.parse(await say('list', '--json')) as { readonly id: number; readonly state: string }[];
    return jobs.map(({ id, state }) => `${id} ${state}`).join(', ');
  };
  const out = join(home, 'queued');
  const sets = await settings(['updates=250']);
  const command = ['experiment', writeRecipe(home, [1]), '--out', out, '--on', 'slurm', ...sets];
  await say('slots', 'cpu:1');
  await say('add', 'train', 'micro-vanilla', '--out', join(home, 'beside'), ...sets);
  await say('add', '--why', 'Does $(it) wait "well"?', ...command);
  const isSaved = (): boolean => savedOf(out, 'vanilla-1') > 0 && savedOf(home, 'beside') > 0;
  await until('a run on the cluster beside one here', isSaved);
  expectThat('a job on the cluster takes no slot', (await states()) === '1 running, 2 running');
  await say('cancel', '2');
  await until('a queue of Slurm without jobs', () => slurm.run('squeue', '-h').trim() === '');
  const follow = gq(['queue', 'follow', '2'], environment);
  const code = await follow.ended;
  expectThat('its cancellation ends its jobs', code === 1 && follow.said().includes('job 2: cancelled'), follow.said());
  const saved = savedOf(out, 'vanilla-1');
  await say('retry', '2');
  await until('more updates', () => savedOf(out, 'vanilla-1') > saved);
  const { pid } = JSON.parse(readFileSync(join(home, 'queue', 'lock.json'), 'utf8')) as { readonly pid: number };
  process.kill(pid, 'SIGKILL');
  await say('resolve', '2', 'It does.');
  const work = gq(['queue', 'work'], environment);
  expectThat('another daemon takes over after kill -9', (await work.ended) === 0, work.said());
  expectThat('both jobs are done', (await states()) === '1 done, 2 done', await say('list'));
  const log = readFileSync(join(home, 'queue', 'jobs', '2', 'log.txt'), 'utf8');
  expectThat(`the run went on from update ${saved}`, saved > 0 && log.includes(`resumed from update ${saved}`), log);
  const results = gq(['results', out], environment);
  await results.ended;
  const told = ['Does $(it) wait "well"?', 'It does.'].every((text) => results.said().includes(text));
  expectThat('gq results shows why and answer', told, results.said());
}
