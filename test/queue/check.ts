/**
 * `npm run check:queue`: the queue as people use it, with processes of gq that train a tiny model. Jobs outlive the shell that added
 * them, go on GPUs of their own, are ordered, followed, cancelled and done again; their end is told to a command and a webhook. Then the
 * daemon is killed at random moments, two daemons start at once, files are damaged and the disk is full: no job may be lost or done twice
 * at a time, and every run must have the bytes of one that nobody disturbed. Exits 1 if anything is wrong.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { randomStream } from '../../src/base/index.ts';
import { QueueFolder } from '../../src/study/queue/folder.ts';
import { counted, expectThat, failures, gq, say, settings, start, until } from '../cluster/tools.ts';
import { gqProgram } from '../gq-command.ts';
import { fingerprint } from '../resume/kill.ts';

interface Told {
  readonly id: number;
  readonly state: string;
  readonly attempts: number;
  readonly code: number | null;
  readonly pid: number | null;
  readonly slots: readonly string[];
}

class Queue {
  readonly folder: string;
  readonly environment: NodeJS.ProcessEnv;

  constructor(home: string, name: string, variables: NodeJS.ProcessEnv = {}) {
    this.folder = join(home, name);
    this.environment = { ...process.env, ...variables, GQ_QUEUE: this.folder };
  }

  async call(...words: readonly string[]): Promise<string> {
    const command = gq(['queue', ...words], this.environment);
    if ((await command.ended) !== 0) throw new Error(`gq queue ${words.join(' ')}: ${command.said()}`);
    return command.said();
  }

  /** What the files say, without a process. */
  jobs(): Told[] {
    const read = (id: number, name: string): Record<string, unknown> => {
      const path = join(this.folder, 'jobs', `${id}`, name);
      return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>) : {};
    };
    const found: Told[] = [];
    for (let id = 1; existsSync(join(this.folder, 'jobs', `${id}`)); id++) {
      found.push({
        id,
        state: 'waiting',
        attempts: 0,
        code: null,
        pid: null,
        slots: [],
        ...read(id, 'state.json'),
      } as Told);
    }
    return found;
  }

  states(): string {
    return this.jobs().map(({ id, state }) => `${id} ${state}`).join(', '); // biome-ignore format: one line
  }

  daemon(): number | null {
    const path = join(this.folder, 'lock.json');
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly pid: number }).pid : null;
  }

  log(id: number): string {
    return readFileSync(join(this.folder, 'jobs', `${id}`, 'log.txt'), 'utf8');
  }
}

const train = async (out: string, updates: number, seed = 1): Promise<string[]> => [
  ...['train', 'micro-activation', '--out', out],
  ...(await settings([`updates=${updates}`, `seed=${seed}`])),
];

const differences = async (found: string, whole: string): Promise<string[]> => {
  const prints = await fingerprint(found);
  return [...(await fingerprint(whole))].filter(([name, print]) => prints.get(name) !== print).map(([name]) => name);
};

async function checkUse(home: string): Promise<void> {
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'nvidia-smi'), '#!/bin/sh\nprintf "0\\n1\\n"\n', { mode: 0o755 });
  const queue = new Queue(home, 'use', { PATH: `${bin}:${process.env['PATH']}`, CUDA_VISIBLE_DEVICES: undefined });
  const heard: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { id, state } = JSON.parse(text) as Told;
    heard.push(`${id} ${state}`);
    response.end();
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const told = join(home, 'told');
  await queue.call('notify', '--command', `echo "$GQ_JOB_ID $GQ_JOB_STATE $GQ_JOB_CODE" >> ${told}`, '--webhook', `http://127.0.0.1:${port}/`); // biome-ignore format: one call
  // A shell adds a job and is killed with everything in its group, as a terminal that is closed.
  const words = [process.execPath, gqProgram(), 'queue', 'add', ...(await train(join(home, 'use-1'), 300))];
  const shell = start('setsid', ['sh', '-c', '"$@"; echo added; exec sleep 600', 'sh', ...words], queue.environment);
  await until('a job from a shell', () => shell.said().includes('added'), shell.said);
  process.kill(-(shell.child.pid ?? 0), 'SIGKILL');
  await queue.call('add', ...(await train(join(home, 'use-2'), 300)));
  await queue.call('add', ...(await train(join(home, 'use-3'), 5)));
  await queue.call(
    'add',
    '--priority',
    '3',
    'train',
    'micro-vanilla',
    '--set',
    'model=./absent',
    '--out',
    join(home, 'use-4'),
  );
  const running = () => queue.jobs().filter(({ state }) => state === 'running');
  await until('two jobs at a time', () => running().length === 2);
  expectThat('a job outlives its shell; two jobs have a GPU each', running().map(({ id, slots }) => `${id} ${slots.join()}`).join(' ') === '1 gpu0 2 gpu1', queue.states()); // biome-ignore format: one call
  const variables = (id: number): string => {
    const pid = (JSON.parse(readFileSync(join(queue.folder, 'jobs', `${id}`, 'state.json'), 'utf8')) as { pid: number })
      .pid;
    return /(?:^|\0)CUDA_VISIBLE_DEVICES=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? 'none';
  };
  expectThat('which their variables name', `${variables(1)} ${variables(2)}` === '0 1');
  const follow = gq(['queue', 'follow', '1'], queue.environment);
  await until('checkpoints', () => existsSync(join(home, 'use-2', 'checkpoints', '00005')));
  await queue.call('cancel', '2');
  await until('a cancelled job', () => queue.jobs()[1].state === 'cancelled');
  await until('the refused job', () => queue.jobs()[3].state === 'refused');
  await until('the third job', () => queue.jobs()[2].state !== 'waiting');
  await queue.call('retry', '2');
  await queue.call('priority', '2', '7');
  expectThat('following ends with the job, with 0', (await follow.ended) === 0 && follow.said().includes('job 1: done'), follow.said()); // biome-ignore format: one call
  await until('the end of all', () => queue.jobs().every(({ state }) => !['waiting', 'running'].includes(state)));
  await until('a daemon that ends with its work', () => queue.daemon() === null);
  expectThat('every job has its end', queue.states() === '1 done, 2 done, 3 done, 4 refused', queue.states());
  // A row of the table for each update: the first one is there once.
  const begun = queue.log(2).match(/^ +1 /gm)?.length;
  expectThat('the cancelled one went on where it was', begun === 1, queue.log(2).slice(0, 2000));
  const [first, second] = (JSON.parse(await queue.call('list', '--json')) as { readonly began: string }[]).slice(2);
  expectThat('the higher priority began first', second.began < first.began, `${second.began} ${first.began}`);
  const ends = '1 done,2 cancelled,2 done,3 done,4 refused';
  await until('all notices', () => heard.length >= 5);
  expectThat('the webhook heard of every end', [...heard].sort().join() === ends, heard.join());
  const lines = readFileSync(told, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(0, 2).join(' '));
  expectThat('and so did the command', lines.sort().join() === ends, lines.join());
  const apart = await differences(join(home, 'use-2'), join(home, 'use-1'));
  expectThat('the disturbed run has the bytes of the other', apart.length === 0, apart.join());
  server.close();
}

const isBeginning = (queue: Queue): boolean =>
  queue.jobs().some(({ state, pid }) => state === 'running' && pid === null);

/** Waits for the moment to kill at: while a job is being started in every second round, any moment in the others. */
async function waitToKill(queue: Queue, round: number, chance: number): Promise<void> {
  if (round % 2 === 0) return wait(chance ** 2 * 2500);
  for (const end = performance.now() + 8000; performance.now() < end && !isBeginning(queue); ) await wait(1);
  await wait(chance * 12);
}

/** All jobs train the same run, so that the bytes of every one are known; there are always some that wait. */
async function addJobs(queue: Queue, home: string): Promise<void> {
  const folder = new QueueFolder(queue.folder);
  while (queue.jobs().filter(({ state }) => state === 'waiting').length < 4) {
    const words = await train(join(home, `kills-${queue.jobs().length + 1}`), 20);
    const said = { folder: home, why: '', resolve: '', priority: 0, slots: 1, output: null };
    await folder.add({ format: 1, words, ...said, added: new Date().toISOString() });
  }
}

/** Kills the daemon at random moments, half of them while it starts jobs. */
async function checkKills(home: string, wanted: number): Promise<void> {
  const queue = new Queue(home, 'kills');
  const stream = randomStream(5, 'daemon', 0);
  await queue.call('slots', 'cpu:2');
  let [kills, within] = [0, 0];
  for (let i = 0; kills < wanted; i++) {
    await addJobs(queue, home);
    const began = performance.now();
    // Now and then two daemons at once: one gets the lock.
    const daemons = (i % 4 === 0 ? [1, 2] : [1]).map(() => gq(['queue', 'work'], queue.environment));
    const codes = Promise.all(daemons.map(({ ended }) => ended));
    await until(
      'a living daemon',
      () => daemons.some(({ child }) => child.pid === queue.daemon()) || performance.now() - began > 20_000,
      undefined,
      2,
    );
    await waitToKill(queue, i, stream.uniformAt(i));
    const pid = queue.daemon();
    // A lock that a killed daemon left has a number that another process may have by now.
    if (pid !== null && daemons.some(({ child }) => child.pid === pid && child.exitCode === null)) {
      process.kill(pid, 'SIGKILL');
      kills++;
      if (isBeginning(queue)) within++;
    }
    for (const { child } of daemons) if (child.pid !== pid) child.kill('SIGTERM');
    await codes;
  }
  const last = gq(['queue', 'work'], queue.environment);
  expectThat(`${kills} kill -9 of the daemon, and the last one ends with 0`, (await last.ended) === 0, last.said());
  const jobs = queue.jobs();
  const attempts = jobs.map((job) => job.attempts);
  say(`${within} kills while a job was being started; ${jobs.length} jobs, attempts: ${attempts.join(', ')}`);
  const ends = jobs.flatMap(({ id, state, code }) =>
    state === 'done' ? [] : [`${id} ${state} with ${code}: ${queue.log(id).slice(-800)}`],
  );
  expectThat('every job is done', ends.length === 0, ends.join('\n'));
  const met = jobs.filter(({ id }) => /no other process trains/.test(queue.log(id)));
  expectThat('no job met a second process of its own', met.length === 0, met.map(({ id }) => queue.log(id)).join('\n'));
  const whole = gq(await train(join(home, 'kills-whole'), 20), process.env);
  await whole.ended;
  const apart: string[] = [];
  for (const { id } of jobs) apart.push(...(await differences(join(home, `kills-${id}`), join(home, 'kills-whole'))));
  expectThat('and the bytes of all are those of a run without a queue', apart.length === 0, apart.join());
}

/** A file system of its own that is full; without the right to mount one, nothing is tried. */
async function checkFullDisk(home: string): Promise<void> {
  const disk = join(home, 'disk');
  mkdirSync(disk);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]).status !== 0) {
    say('-- full disk is not tried: no right to mount one');
    return;
  }
  try {
    const queue = new Queue(disk, 'queue');
    const out = join(home, 'full-1');
    await queue.call('add', ...(await train(out, 40)));
    await until('a job with a process', () => existsSync(join(out, 'checkpoints', '00005')));
    spawnSync('sh', ['-c', 'cat /dev/zero > "$0"', join(disk, 'filler')]);
    const refused = gq(['queue', 'add', ...(await train(join(home, 'full-2'), 5))], queue.environment);
    const code = await refused.ended;
    expectThat(
      'on a full disk, adding fails with 1 and names the reason',
      code === 1 && /no space|full/i.test(refused.said()),
      `${code} ${refused.said()}`,
    );
    expectThat('and leaves no half of a job', queue.jobs().length === 1);
    await until('a run that is finished', () => existsSync(join(out, 'checkpoints', '00040')));
    await wait(5000);
    expectThat('what runs goes on, and is not called failed', queue.states() === '1 running', queue.states());
    rmSync(join(disk, 'filler'));
    await until('the end of the job', () => queue.jobs()[0].state !== 'running');
    expectThat('its exit code is not lost', queue.jobs()[0].code !== null);
    // Its log could not be written, so it may end with 1; its run is finished all the same.
    if (queue.states() === '1 failed') await queue.call('retry', '1');
    await until('the end of the job', () => queue.jobs()[0].state !== 'failed' && queue.daemon() === null);
    expectThat('with room again it is done', queue.states() === '1 done', queue.states());
    await until('the end of the daemon', () => queue.daemon() === null);
  } finally {
    spawnSync('umount', ['-l', disk]);
  }
}

async function checkDamage(home: string): Promise<void> {
  const queue = new Queue(home, 'damage');
  await queue.call('slots', 'cpu:1');
  const stopped = start('true', [], process.env);
  await stopped.ended;
  writeFileSync(join(queue.folder, 'lock.json'), `{"pid":${process.pid},"host":"elsewhere","started":null}`);
  for (const seed of [1, 2, 3]) await queue.call('add', ...(await train(join(home, `damage-${seed}`), 5, seed)));
  appendFileSync(join(queue.folder, 'jobs', '1', 'job.json'), '}');
  writeFileSync(join(queue.folder, 'jobs', '2', 'state.json'), '');
  const other = gq(['queue', 'work'], queue.environment);
  expectThat('a daemon of another machine is named', (await other.ended) === 2 && other.said().includes(`process ${process.pid} on elsewhere`), other.said()); // biome-ignore format: one call
  rmSync(join(queue.folder, 'lock.json'));
  const work = gq(['queue', 'work'], queue.environment);
  expectThat('damaged jobs are named, and the others are done', (await work.ended) === 0 && ['jobs/1/job.json', 'jobs/2/state.json', 'job 3: done'].every((text) => work.said().includes(text)), work.said()); // biome-ignore format: one call
  const list = gq(['queue', 'list'], queue.environment);
  expectThat('the list names them too, and ends with 1', (await list.ended) === 1 && list.said().includes('jobs/1/job.json'), list.said()); // biome-ignore format: one call
}

const parts: Readonly<Record<string, (home: string) => Promise<void>>> = {
  use: checkUse,
  kills: (home) => checkKills(home, 20),
  damage: checkDamage,
  disk: checkFullDisk,
};
const asked = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'gq-queue-'));
try {
  for (const [name, check] of Object.entries(parts)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    const began = performance.now();
    say(`-- ${name}`);
    await check(home);
    say(`-- ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
say(failures.length === 0 ? `all as it must be: ${counted()}` : `${failures.length} wrong: ${failures.join('; ')}`);
process.exitCode = failures.length === 0 ? 0 : 1;
