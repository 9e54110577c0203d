/** A file hashed by a thread: the hash, what the system says of a file that cannot be read, and an end before it is done. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { hashInThread } from './file-hash-thread.ts';
import { sha256 } from './hash.ts';
import { canBeThread } from './thread-source.ts';

const home = mkdtempSync(join(tmpdir(), 'gq-hash-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

it('is that of its bytes, in several pieces', async () => {
  const bytes = Buffer.alloc(9 * 2 ** 20 + 5, 'neither the length of a piece nor a divisor of one');
  const path = join(home, 'pieces');
  writeFileSync(path, bytes);
  expect(await hashInThread(path)).toBe(sha256(bytes));
});

it('tells what the system said', async () => {
  await expect(hashInThread(join(home, 'none'))).rejects.toMatchObject({ code: 'ENOENT', syscall: 'open' });
});

it('ends with the signal’s reason', async () => {
  const stop = new AbortController();
  const path = join(home, 'stopped');
  writeFileSync(path, 'x');
  const hash = hashInThread(path, stop.signal);
  stop.abort(new Error('closed'));
  await expect(hash).rejects.toThrow('closed');
});

const threads = canBeThread(new URL('./file-hash-thread.ts', import.meta.url).href);
const why = threads ? '' : ' (not run: this Node starts no threads of TypeScript sources)';

it.runIf(threads)(`says so where the thread ends without an answer${why}`, async () => {
  const path = join(home, 'ended');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 28);
  const end = (thread: Worker): void => void thread.terminate();
  process.on('worker', end);
  await expect(hashInThread(path)).rejects.toThrow('without an answer');
  process.off('worker', end);
});
