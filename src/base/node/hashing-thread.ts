/**
 * A thread that writes pieces to an open file and hashes them, so that the thread that trains does neither. The memory of a piece
 * goes with it and is not copied: arrays that were handed over are empty afterwards.
 */
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { canBeThread } from './thread-source.ts';

/** What the thread is given: this file is the code of both sides. */
interface Start {
  readonly role: typeof role;
  readonly descriptor: number;
}

/** The hash when all is written, or what the system said of a write that failed. */
type Answer = { readonly hash: string } | { readonly message: string; readonly details: object };

const role = 'writes and hashes a file';

export class HashingThread implements AsyncDisposable {
  readonly #thread: Worker | null;
  readonly #send: (bytes: Uint8Array | null) => void;
  readonly #answer: Promise<Answer>;

  /** The file must stay open until `digest` resolves. */
  constructor(descriptor: number) {
    const start: Start = { role, descriptor };
    const thread = canBeThread(import.meta.url)
      ? new Worker(new URL(import.meta.url), { workerData: start, execArgv: [], name: role })
      : null;
    let send = (bytes: Uint8Array | null): void => thread?.postMessage(bytes);
    this.#answer = new Promise((resolve, reject) => {
      thread?.once('message', resolve);
      thread?.once('error', reject);
      if (thread === null) send = serve(descriptor, resolve);
    });
    // It is told by `digest`.
    this.#answer.catch(() => undefined);
    [this.#thread, this.#send] = [thread, send];
  }

  write(bytes: Uint8Array): void {
    const isWhole = bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
    const own = isWhole ? bytes : bytes.slice();
    const transfer = [own.buffer as ArrayBuffer];
    if (this.#thread === null) this.#send(structuredClone(own, { transfer }));
    else this.#thread.postMessage(own, transfer);
  }

  /** The SHA-256 of all that was written, in hexadecimal. */
  async digest(): Promise<string> {
    this.#send(null);
    const answer = await this.#answer;
    if ('hash' in answer) return answer.hash;
    throw Object.assign(new Error(answer.message), answer.details);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.terminate();
  }
}

function serve(descriptor: number, tell: (answer: Answer) => void): (bytes: Uint8Array | null) => void {
  const hash = createHash('sha256');
  let failed = false;
  return (bytes) => {
    if (failed) return;
    try {
      if (bytes === null) tell({ hash: hash.digest('hex') });
      else {
        for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done, bytes.length - done);
        hash.update(bytes);
      }
    } catch (error) {
      failed = true;
      tell({ message: error instanceof Error ? error.message : String(error), details: { ...(error as object) } });
    }
  };
}

const { role: asked, descriptor = -1 } = (workerData ?? {}) as Partial<Start>;
if (asked === role)
  parentPort?.on(
    'message',
    serve(descriptor, (answer) => parentPort?.postMessage(answer)),
  );
