/**
 * The SHA-256 of a large file, read and hashed by a thread of its own: whoever asks for it goes on with other work until the hash is
 * needed. The signal ends the thread, and the promise is then rejected with its reason.
 */
import { createHash } from 'node:crypto';
import { closeSync, readSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { sha256File } from './hash.ts';
import { openToRead } from './regular-file.ts';
import { canBeThread } from './thread-source.ts';

/** What the thread is given: this file is the code of both sides. */
interface HashJob {
  readonly role: typeof role;
  readonly path: string;
}

/** The hash, or what the system said of a read that failed. */
type HashAnswer = { readonly hash: string } | { readonly message: string; readonly details: object };

const role = 'hashes a file';
const bytesPerRead = 4 * 2 ** 20;

export function hashInThread(path: string, signal?: AbortSignal): Promise<string> {
  if (!canBeThread(import.meta.url)) return sha256File(path, signal);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const job: HashJob = { role, path };
    const thread = new Worker(new URL(import.meta.url), { workerData: job, execArgv: [], name: role });
    const stop = (): void => {
      void thread.terminate();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
    thread.once('exit', (code) => {
      signal?.removeEventListener('abort', stop);
      // After an answer this changes nothing; without one nobody would ever be told.
      reject(new Error(`the thread that hashes ${path} ended with ${code}, without an answer`));
    });
    thread.once('error', reject);
    thread.once('message', (answer: HashAnswer) => {
      if ('hash' in answer) resolve(answer.hash);
      else reject(Object.assign(new Error(answer.message), answer.details));
    });
  });
}

function hashWhole(path: string): HashAnswer {
  try {
    const hash = createHash('sha256');
    const room = new Uint8Array(bytesPerRead);
    const file = openToRead(path);
    try {
      for (let read = readSync(file, room); read > 0; read = readSync(file, room)) hash.update(room.subarray(0, read));
    } finally {
      closeSync(file);
    }
    return { hash: hash.digest('hex') };
  } catch (error) {
    return { message: error instanceof Error ? error.message : String(error), details: { ...(error as object) } };
  }
}

const { role: asked, path: given = '' } = (workerData ?? {}) as Partial<HashJob>;
if (asked === role) parentPort?.postMessage(hashWhole(given));
