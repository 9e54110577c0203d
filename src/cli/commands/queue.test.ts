import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder, writeRun } from '../../../test/lab/hand-made.ts';
import { QueueFolder } from '../../study/queue/folder.ts';
import { runCli } from '../program.ts';

afterEach(() => void vi.unstubAllEnvs());

/** A queue whose daemon seems to work, so that none is started; `call` returns the code and what was said. */
function queueOf() {
  const path = join(temporaryFolder(), 'q');
  vi.stubEnv('GQ_QUEUE', path);
  const queue = new QueueFolder(path);
  const call = async (...words: readonly string[]): Promise<string> => {
    using _daemon = queue.lock();
    let said = '';
    const stream = { write: (text: string) => (said += text) };
    return `${await runCli(['queue', ...words], { stdout: stream, stderr: stream })} ${said}`;
  };
  return { queue, call };
}

describe('gq queue', () => {
  it.each([
    ['a command that does not exist', ['frobnicate'], "unknown command 'frobnicate'"],
    ['an option that does not exist', ['train', 'micro-vanilla', '--otu', 'x'], "unknown option '--otu'"],
    ['a recipe that does not exist', ['train', 'micro-vanila'], 'micro-vanila'],
    ['an experiment that does not exist', ['experiment', 'gone.toml'], 'gone.toml'],
    ['a key that does not exist', ['train', 'micro-vanilla', '--set', 'updatse=3'], 'did you mean updates?'],
    ['a run that is not there', ['train', '--resume', 'runs/gone'], 'runs/gone'],
    ['too few words', ['eval'], "missing required argument 'run'"],
  ])('refuses %s when it is added', async (_, words, message) => {
    const { queue, call } = queueOf();
    const said = await call('add', ...words);
    expect(said).toContain(message);
    expect(said.startsWith('2 ')).toBe(true);
    expect(queue.all()).toEqual([]);
  });

  it('adds a command with its own options, before or after which its own may stand', async () => {
    const { queue, call } = queueOf();
    const run = join(temporaryFolder(), 'z');
    await writeRun(run, {});
    await call('add', 'train', 'micro-vanilla', '--out', '/x', '--set', 'updates=1', '--json');
    expect(await call('add', 'train', 'micro-vanilla', '--gpus', '3')).toContain("unknown option '--gpus'");
    await call(
      'add',
      '--why',
      'w',
      '--priority',
      '-2',
      'experiment',
      '--jobs',
      '2',
      'recipes/micro-claim.toml',
      '--on=slurm',
    );
    await call('add', 'train', 'micro-vanilla', '--json', '--out=/y');
    expect(await call('add', '--why', 'w', 'train', '--resume', run)).not.toContain('why');
    expect(await call('add', '--why', 'w', 'train', 'micro-vanilla')).toContain('the results will not show why');
    expect(queue.all().map(({ job }) => [job.words.length, job.slots, job.priority, job.why, job.output])).toEqual([
      [7, 1, 0, '', '/x'],
      [5, 0, -2, 'w', join(process.cwd(), 'runs', 'micro-claim')],
      [4, 1, 0, '', '/y'],
      [3, 1, 0, 'w', run],
      [2, 1, 0, 'w', null],
    ]);
  });

  it('keeps words, questions and answers as they are, and shows none of them raw', async () => {
    const { queue, call } = queueOf();
    const hostile = `"' \`id\` $(id)\n\u001b[31m*`;
    await call('add', '--why', hostile, 'train', 'micro-vanilla', '--out', hostile);
    await call('resolve', '1', hostile);
    expect(queue.read(1).job).toMatchObject({
      why: hostile,
      resolve: hostile,
      words: ['train', 'micro-vanilla', '--out', hostile],
    });
    const listed = await call('list');
    expect(listed.split('\n')).toHaveLength(4);
    expect(listed).not.toContain('\u001b');
  });

  it('refuses what cannot be asked of a job', async () => {
    const { queue, call } = queueOf();
    expect(await call('retry', '1')).toContain('2 gq: job 1: expected a job of the queue');
    expect(await call('add', 'queue', 'list')).toContain('a command of gq that comes to an end');
    await call('add', 'train', 'micro-vanilla');
    expect(await call('retry', '1')).toContain('expected a job that is over, found one that is waiting');
    expect(await call('priority', '1', '3')).toBe('0 job 1: priority 3\n');
    expect(await call('resolve', '1', 'no')).toBe('0 job 1: resolved\n');
    await queue.writeState(1, { ...queue.read(1).state, state: 'done' });
    expect(await call('priority', '1', '4')).toContain('expected a job that waits or runs, found one that is done');
    expect(queue.read(1).job.priority).toBe(3);
    expect(await call('slots', '0,0')).toContain('expected numbers of GPUs');
    expect(await call('notify', '--webhook', 'file:///x')).toContain('http:// or https://');
    expect(await call('add', '--priority', 'x', 'train')).toMatch(/^2 /);
    writeFileSync(queue.file(1, 'state.json'), '{');
    expect(await call('list')).toMatch(/^1 .*jobs\/1\/state\.json/);
  });

  it('adds nothing where the settings are damaged, and the list says so: no job would ever begin', async () => {
    const { queue, call } = queueOf();
    await call('add', 'train', 'micro-vanilla');
    writeFileSync(join(queue.path, 'settings.json'), '{');
    expect(await call('add', 'train', 'micro-vanilla')).toMatch(/^2 .*settings\.json.*Delete it/s);
    expect(queue.ids()).toEqual([1]);
    expect(await call('list')).toMatch(/^1 .*settings\.json.*\n1 {4}waiting/s);
  });

  it('says so where jobs are left and no daemon works', async () => {
    const { queue, call } = queueOf();
    await call('add', 'train', 'micro-vanilla');
    const list = async (): Promise<string> => {
      let said = '';
      const stream = { write: (text: string) => (said += text) };
      expect(await runCli(['queue', 'list'], { stdout: stream, stderr: stream })).toBe(0);
      return said;
    };
    expect(await list()).toContain('no daemon works through the queue now');
    expect(await call('list')).not.toContain('no daemon');
    await queue.writeState(1, { ...queue.read(1).state, state: 'done', code: 0 });
    expect(await list()).not.toContain('no daemon');
  });

  it('follows a long log to its end', async () => {
    const { queue, call } = queueOf();
    await call('add', 'train', 'micro-vanilla');
    writeFileSync(queue.file(1, 'log.txt'), `${'x'.repeat(999)}\n`.repeat(3000));
    await queue.writeState(1, { ...queue.read(1).state, state: 'done', code: 0 });
    expect((await call('follow', '1')).split('\n')).toHaveLength(3002);
  });
});
