import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../test/lab/hand-made.ts';
import { isSameProcess } from '../../base/node/index.ts';
import { nextJob, runDaemon, stateAfter } from './daemon.ts';
import { newState, QueueFolder, type QueueJob } from './folder.ts';
import { launch } from './launch.ts';

/** Jobs here are lines of a shell in place of words of gq. */
const gq = ['sh', '-c', 'eval "$1"', 'sh'];
const jobOf = (line: string, changes: Partial<QueueJob> = {}): QueueJob => ({
  format: 1,
  words: [line],
  folder: '/',
  why: '',
  resolve: '',
  priority: 0,
  slots: 1,
  output: null,
  added: '2026-01-01T00:00:00Z',
  ...changes,
});

async function work(queue: QueueFolder, signal = new AbortController().signal): Promise<string[]> {
  const said: string[] = [];
  await runDaemon(queue.path, { gq, say: (text) => said.push(text), signal, pollSeconds: 0.02 });
  return said;
}

const statesOf = (queue: QueueFolder): string[] => queue.all().map(({ state }) => `${state.state} ${state.code}`);

describe('a queue', () => {
  it('starts the highest priority first, then the oldest; a large job is not overtaken, a follower of a cluster always fits', () => {
    const entry = (id: number, changes: Partial<QueueJob>) => ({ id, job: jobOf('x', changes), state: newState });
    const jobs = [entry(1, {}), entry(2, { priority: 3, slots: 2 }), entry(3, { priority: 3 })];
    expect(nextJob(jobs, 2)?.id).toBe(2);
    expect(nextJob(jobs, 1)).toBeNull();
    expect(nextJob([...jobs, entry(4, { slots: 0 })], 0)?.id).toBe(4);
  });

  it('follows the contract of exit codes', () => {
    expect([0, 1, 2, 75, null].map((code) => stateAfter(code, 1, false))).toEqual(['done', 'failed', 'refused', 'waiting', 'failed']); // biome-ignore format: one line
    expect([0, 75, 1].map((code) => stateAfter(code, 1, true))).toEqual(['done', 'cancelled', 'cancelled']);
    expect(stateAfter(75, 1000, false)).toBe('failed');
  });

  it('does its jobs, one on each GPU, and again those that were interrupted', async () => {
    const folder = temporaryFolder();
    const queue = new QueueFolder(join(folder, 'q'));
    await queue.writeSettings({ slots: ['gpu3', 'gpu5'], command: null, webhook: null });
    const [mark, gpus] = [join(folder, 'mark'), join(folder, 'gpus')];
    await queue.add(jobOf(`test -e ${mark} || { touch ${mark}; exit 75; }`));
    await queue.add(jobOf('exit 2'));
    await queue.add(jobOf('exit 1'));
    await queue.add(jobOf(`echo $CUDA_VISIBLE_DEVICES > ${gpus}`, { slots: 9 }));
    await queue.add(jobOf('true', { folder: join(folder, 'absent') }));
    await work(queue);
    expect(statesOf(queue)).toEqual(['done 0', 'refused 2', 'failed 1', 'done 0', 'failed null']);
    expect(queue.read(1).state.attempts).toBe(2);
    expect(readFileSync(gpus, 'utf8')).toBe('3,5\n');
    await queue.ask(3, 'retry');
    await work(queue);
    expect(queue.read(3).state).toMatchObject({ state: 'failed', attempts: 2 });
  });

  it('cancels what runs and what waits', async () => {
    const folder = temporaryFolder();
    const [queue, ready] = [new QueueFolder(join(folder, 'q')), join(folder, 'ready')];
    await queue.add(jobOf(`trap "exit 75" TERM; touch ${ready}; for i in $(seq 12000); do sleep 0.05; done`));
    await queue.add(jobOf('true'));
    await queue.ask(2, 'cancel');
    const done = work(queue);
    const isRunning = (): boolean => existsSync(ready) && queue.read(1).state.pid !== null;
    await expect.poll(isRunning).toBe(true);
    await queue.ask(1, 'cancel');
    await done;
    expect(statesOf(queue)).toEqual(['cancelled 75', 'cancelled null']);
  });

  it('takes over the jobs of a daemon that is gone: those that run, those that ended, and those that were lost with the machine', async () => {
    const folder = temporaryFolder();
    const queue = new QueueFolder(join(folder, 'q'));
    const stop = new AbortController();
    await queue.add(jobOf(`sleep 0.4; echo once >> ${join(folder, 'ran')}`));
    const first = work(queue, stop.signal);
    await expect.poll(() => queue.read(1).state.pid).not.toBeNull();
    stop.abort();
    await first;
    const lost = { ...newState, state: 'running', attempts: 1, pid: 2 ** 22 + 1 } as const;
    await queue.add(jobOf(`echo twice >> ${join(folder, 'lost')}`));
    await queue.writeState(2, lost);
    await queue.add(jobOf('false'));
    await queue.writeState(3, lost);
    writeFileSync(queue.file(3, 'code'), '0\n');
    await work(queue);
    expect(statesOf(queue)).toEqual(['done 0', 'done 0', 'done 0']);
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('once\n');
    expect(readFileSync(join(folder, 'lost'), 'utf8')).toBe('twice\n');
  });

  it('does a job once whose daemon was killed while it started it, before or after the job began', async () => {
    const folder = temporaryFolder();
    const queue = new QueueFolder(join(folder, 'q'));
    const began = { ...newState, state: 'running', attempts: 1 } as const;
    for (const id of [1, 2]) {
      await queue.add(jobOf(`sleep 0.2; echo ${id} >> ${join(folder, 'ran')}`));
      await queue.writeState(id, began);
    }
    // The daemon of the first job was killed before it could write down which process it had started.
    launch(queue, { ...queue.read(1), state: began }, gq, {});
    await expect.poll(() => existsSync(queue.file(1, 'attempt-1'))).toBe(true);
    await work(queue);
    expect(statesOf(queue)).toEqual(['done 0', 'done 0']);
    expect(queue.all().map(({ state }) => state.attempts)).toEqual([1, 2]);
    expect(readFileSync(join(folder, 'ran'), 'utf8').split('\n').sort().join('')).toBe('12');
    // A process of an attempt that was given up comes too late.
    const { pid, processStart } = launch(queue, { ...queue.read(2), state: began }, gq, {});
    await expect.poll(() => isSameProcess(pid, processStart)).toBe(false);
    expect(readFileSync(join(folder, 'ran'), 'utf8')).toHaveLength(4);
  });

  it('remembers that a job was cancelled when its daemon is gone, and ends one at once that does not listen', async () => {
    const folder = temporaryFolder();
    const queue = new QueueFolder(join(folder, 'q'));
    const stop = new AbortController();
    const [listens, deaf] = [join(folder, 'listens'), join(folder, 'deaf')];
    const going = 'for i in $(seq 30000); do sleep 0.02; done';
    await queue.add(jobOf(`trap "sleep 0.3; exit 75" TERM; touch ${listens}; ${going}`));
    await queue.add(jobOf(`trap "" TERM; touch ${deaf}; ${going}`));
    const first = work(queue, stop.signal);
    await expect.poll(() => existsSync(listens)).toBe(true);
    await queue.ask(1, 'cancel');
    await wait(100);
    stop.abort();
    await first;
    const second = work(queue);
    await expect.poll(() => queue.read(1).state.state).toBe('cancelled');
    await expect.poll(() => existsSync(deaf)).toBe(true);
    await queue.ask(2, 'cancel');
    await wait(100);
    expect(queue.read(2).state.state).toBe('running');
    await queue.ask(2, 'kill');
    await second;
    expect(statesOf(queue)).toEqual(['cancelled 75', 'cancelled null']);
    expect([1, 2].map((id) => queue.asked(id))).toEqual([null, null]);
  });

  it('has one daemon; names a damaged job once and does the others', async () => {
    const queue = new QueueFolder(join(temporaryFolder(), 'q'));
    await queue.add(jobOf('true'));
    await queue.add(jobOf('sleep 0.1'));
    appendFileSync(queue.file(1, 'job.json'), '}');
    {
      using _other = queue.lock();
      await expect(work(queue)).rejects.toThrow('a queue that no other daemon works through');
    }
    const said = await work(queue);
    expect(said.filter((line) => line.includes('jobs/1/job.json'))).toHaveLength(1);
    expect(queue.read(2).state.state).toBe('done');
  });

  it('sends no signal to a stranger who has the number of a cancelled job that was lost with the machine, nor does it begin that job again', async () => {
    const folder = temporaryFolder();
    const queue = new QueueFolder(join(folder, 'q'));
    const stranger = spawn('sleep', ['20'], { detached: true, stdio: 'ignore' });
    const end = new Promise((resolve) => stranger.on('exit', (_code, signal) => resolve(signal)));
    await queue.add(jobOf(`touch ${join(folder, 'ran')}`));
    const lost = { ...newState, state: 'running', attempts: 1, pid: stranger.pid ?? null } as const;
    await queue.writeState(1, { ...lost, processStart: 'before the restart' });
    await queue.ask(1, 'cancel');
    await work(queue);
    stranger.kill('SIGUSR1');
    expect(await end).toBe('SIGUSR1');
    expect(statesOf(queue)).toEqual(['cancelled null']);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  });

  it('calls a state damaged whose process number stands for every process, and settings without a slot', async () => {
    const queue = new QueueFolder(join(temporaryFolder(), 'q'));
    await queue.add(jobOf('true'));
    for (const pid of [0, 1, -1]) {
      await queue.writeState(1, { ...newState, state: 'running', attempts: 1, pid });
      expect(() => queue.read(1)).toThrow('key pid');
    }
    await queue.writeSettings({ slots: [], command: null, webhook: null });
    expect(() => queue.readSettings()).toThrow('key slots');
  });

  it('names a job whose files cannot be used, leaves it as it is, and does the others meanwhile', async () => {
    const queue = new QueueFolder(join(temporaryFolder(), 'q'));
    for (let i = 0; i < 3; i++) await queue.add(jobOf('true'));
    await queue.writeState(2, { ...newState, state: 'running', attempts: 1, pid: 2 ** 22 + 1 });
    const inTheWay = [queue.file(1, 'asked'), queue.file(2, 'code')];
    for (const path of inTheWay) mkdirSync(path);
    const done = work(queue);
    await expect.poll(() => queue.read(3).state.state).toBe('done');
    expect(statesOf(queue)).toEqual(['waiting null', 'running null', 'done 0']);
    for (const path of inTheWay) rmdirSync(path);
    const said = await done;
    for (const id of [1, 2]) expect(said.filter((line) => line.startsWith(`job ${id}: EISDIR`))).toHaveLength(1);
    expect(statesOf(queue)).toEqual(['done 0', 'done 0', 'done 0']);
  });

  it('tells the end of a job to a command and a webhook; nothing in a why is obeyed, and no failure stops it', async () => {
    const folder = temporaryFolder();
    const heard: unknown[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      heard.push(JSON.parse(text));
      response.writeHead(500).end();
    });
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const queue = new QueueFolder(join(folder, 'q'));
    const told = join(folder, 'told');
    const command = `echo "$GQ_JOB_STATE $GQ_JOB_LAST_LINE $GQ_JOB_WHY" > ${told}; exit 3`;
    await queue.writeSettings({ slots: null, command, webhook: `http://127.0.0.1:${port}/` });
    const why = `$(touch ${folder}/obeyed) \`touch ${folder}/obeyed\``;
    await queue.add(jobOf('echo no model; exit 1', { why }));
    const said = await work(queue);
    await expect.poll(() => said.length).toBe(4);
    expect(readFileSync(told, 'utf8')).toBe(`failed no model ${why}\n`);
    expect(heard).toMatchObject([{ id: 1, state: 'failed', code: 1, why, lastLine: 'no model' }]);
    expect(said.slice(2)).toEqual(['notify command: it ended with 3', 'notify webhook: it answered 500']);
    expect(existsSync(join(folder, 'obeyed'))).toBe(false);
    server.close();
    await queue.writeSettings({ slots: null, command: 'true', webhook: null });
    await queue.add(jobOf('true', { why: 'x'.repeat(200_000) }));
    const last = await work(queue);
    await expect.poll(() => last.at(-1)).toContain('notify command: spawn E2BIG');
  });
});
