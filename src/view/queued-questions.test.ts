/** Why a job of the queue was added and what was found, beside the results that it made. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { runCli } from '../cli/program.ts';
import { QueueFolder } from '../study/queue/folder.ts';
import { type PageKind, ViewLibrary } from './library.ts';

afterEach(() => void vi.unstubAllEnvs());

/** An experiment of one run. Both were jobs of the queue, and so was another one. */
async function queuedRuns() {
  const home = temporaryFolder();
  const directory = join(home, 'runs');
  vi.stubEnv('GQ_QUEUE', join(home, 'queue'));
  vi.stubEnv('GQ_CACHE', join(home, 'cache'));
  const config = { arm: { kind: 'vanilla' }, updates: 1, seed: 1 };
  await writeRun(join(directory, 'vanilla-1'), { config, rollouts: [{ update: 1 }], checkpoints: [1] });
  const evaluation = { update: 1, set: 'test-original', outcomes: 'hs-' } as const;
  await writeEvaluations(join(directory, 'vanilla-1'), [
    { ...evaluation, update: 0, state: 'base' },
    { ...evaluation, state: 'full' },
    { ...evaluation, state: 'deployed' },
  ]);
  const arms = [{ name: 'vanilla', recipe: 'vanilla.toml' }];
  const runs = [{ arm: 'vanilla', seed: 1, folder: 'vanilla-1', configHash: '' }];
  const plan = { format: 1, experiment: { name: 'pair', seeds: [1], arms }, runs };
  writeFileSync(join(directory, 'experiment.json'), JSON.stringify(plan));
  const queue = new QueueFolder();
  const job = { format: 1, words: ['train'], folder: home, resolve: '', priority: 0, slots: 1, added: '' } as const;
  await queue.add({ ...job, words: ['train'], why: 'Does\nit hack?', output: directory });
  await queue.add({ ...job, words: ['train'], why: 'Does one seed?', output: join(directory, 'vanilla-1') });
  await queue.add({ ...job, words: ['train'], why: 'Of other results?', output: join(home, 'other') });
  const resolve = (id: number, text: string) => queue.writeJob(id, { ...queue.read(id).job, resolve: text });
  return { directory, resolve };
}

it('is printed by gq results of the same folder, at once when it is resolved', async () => {
  const { directory, resolve } = await queuedRuns();
  const results = async (...words: readonly string[]): Promise<string> => {
    let said = '';
    const stdout = { write: (text: string) => (said += text) };
    expect(await runCli(['results', ...words], { stdout, stderr: { write: () => true } })).toBe(0);
    return said;
  };
  expect((await results(directory)).split('\n').slice(-2)).toEqual(['why (job 1): Does\\x0ait hack?', '']);
  await resolve(1, 'It does.');
  expect(await results(directory)).toMatch(/why \(job 1\): .*\nresolved \(job 1\): It does\.\n$/);
  expect(await results(join(directory, 'vanilla-1'))).toMatch(/why \(job 2\): Does one seed\?\n$/);
  expect(await results(directory, '--format', 'csv')).not.toContain('job 1');
});

it('is looked for, and no queue is made where there is none', async () => {
  const { directory } = await queuedRuns();
  const other = join(temporaryFolder(), 'other');
  vi.stubEnv('GQ_QUEUE', other);
  const stream = { write: () => true };
  expect(await runCli(['results', directory], { stdout: stream, stderr: stream })).toBe(0);
  expect(existsSync(other)).toBe(false);
  writeFileSync(other, '');
  expect(await runCli(['results', directory], { stdout: stream, stderr: stream })).toBe(0);
});

it('is on the pages of the experiment and of the run, at once when it is resolved', async () => {
  const { directory, resolve } = await queuedRuns();
  const library = new ViewLibrary(directory);
  const page = async (kind: PageKind, id: string) =>
    (await library.answer(kind, new URLSearchParams({ id }))) as { words?: string[]; facts?: [string, string][] };
  const [experiment, run] = ['runs', 'runs/vanilla-1'];
  expect((await page('experiment', experiment)).words?.[0]).toBe('why (job 1): Does\nit hack?');
  expect((await page('run', run)).facts?.at(-1)).toEqual(['why (job 2)', 'Does one seed?']);
  await resolve(1, 'It does.');
  await resolve(2, 'It does not.');
  expect((await page('experiment', experiment)).words?.[1]).toBe('resolved (job 1): It does.');
  expect((await page('run', run)).facts?.slice(-2)).toEqual([['why (job 2)', 'Does one seed?'], ['resolved (job 2)', 'It does not.']]); // biome-ignore format: one line
});
