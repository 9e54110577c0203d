/** The lock of a run between processes: a dead holder, one whose parent never asked how it ended, and many takers at once. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { takeLock } from '../../src/base/node/index.ts';
import { contendForLocks } from './locks.ts';

const lockRun = (folder: string): Disposable =>
  takeLock(join(folder, 'lock.json'), { call: `train ${folder}`, expected: 'a run that no other process trains' });

/** `npm run check:crash` has 600. */
const rounds = 60;

it(`of three processes that find a stale lock at once, one takes it: ${rounds} rounds`, async () => {
  expect(await contendForLocks(rounds)).toEqual([]);
});

it.runIf(process.platform === 'linux')(
  'a process that ended counts as dead while its parent has not asked',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
    // The shell becomes a program that never asks how its child ended, before the child ends.
    const child = '( until grep -q sleep /proc/$$/comm; do sleep 0.05; done )';
    const parent = spawn('sh', ['-c', `${child} & echo $!; exec sleep 6000`], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await new Promise<string[]>((resolve) =>
        parent.stdout.on('data', (chunk) => resolve(`${chunk}`.split('\n'))),
      );
      const fields = (): string[] => {
        const text = readFileSync(`/proc/${line}/stat`, 'utf8');
        return text.slice(text.lastIndexOf(')') + 2).split(' ');
      };
      await expect.poll(() => fields()[0]).toBe('Z');
      const holder = { pid: Number(line), host: hostname(), started: fields()[19], token: 'ended' };
      writeFileSync(join(folder, 'lock.json'), JSON.stringify(holder));
      lockRun(folder)[Symbol.dispose]();
      expect(readdirSync(folder)).toEqual([]);
    } finally {
      parent.kill('SIGKILL');
    }
  },
);

it('a lock that another process has taken over in the meantime is not removed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const lock = lockRun(folder);
  const other = JSON.stringify({ pid: 1, host: 'elsewhere', started: null, token: 'other' });
  writeFileSync(join(folder, 'lock.json'), other);
  lock[Symbol.dispose]();
  expect(readFileSync(join(folder, 'lock.json'), 'utf8')).toBe(other);
});

it.runIf(process.platform === 'linux')('a pipe in the place of a lock is refused instead of waited for', () => {
  const directory = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  expect(spawnSync('mkfifo', [join(directory, 'lock.json')]).status).toBe(0);
  expect(() => lockRun(directory)).toThrow(/lock\.json.*a named pipe/);
});

it('a lock on another machine holds, unless it is of an earlier attempt of the same job of a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const holder = { pid: 1, host: 'elsewhere', started: null, token: 'dead', attempt: { job: 'lab 7', restarts: 1 } };
  const restarted = (job: string, restarts: string): void => {
    vi.stubEnv('SLURM_CLUSTER_NAME', 'lab').stubEnv('SLURM_JOB_ID', job).stubEnv('SLURM_RESTART_COUNT', restarts);
  };
  try {
    for (const [job, restarts] of [
      ['7', '1'],
      ['8', '2'],
    ]) {
      restarted(job, restarts);
      writeFileSync(join(folder, 'lock.json'), JSON.stringify(holder));
      expect(() => lockRun(folder)).toThrow('process 1 on elsewhere');
    }
    restarted('7', '2');
    lockRun(folder)[Symbol.dispose]();
    expect(readdirSync(folder)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

it('a process may hold as many locks as a pack has runs: one listener gives all of them back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gq-lock-'));
  const before = process.listenerCount('exit');
  const locks = Array.from({ length: 32 }, (_, run) =>
    takeLock(join(folder, `${run}.json`), { call: '', expected: '' }),
  );
  expect(process.listenerCount('exit')).toBe(before + 1);
  for (const lock of locks) lock[Symbol.dispose]();
  expect(process.listenerCount('exit')).toBe(before);
  expect(readdirSync(folder)).toEqual([]);
});
