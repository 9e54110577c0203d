/**
 * Normal numbers of many random streams, drawn by several threads at once. Every number is a function of its stream and position, so the
 * threads give the bytes that one would. A thread is started when there is work for it, and all end with the pool.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { PhiloxKey } from '../philox.ts';
import { RandomStream } from '../rng.ts';
import { canBeThread } from './thread-source.ts';

/** The first `length` normal numbers of a stream, times `scale`. */
interface NormalDraw {
  readonly key: PhiloxKey;
  readonly step: number;
  readonly row: number;
  readonly length: number;
  readonly scale: number;
}

interface Waiting extends NormalDraw {
  readonly done: (numbers: Float32Array) => void;
  readonly failed: (error: unknown) => void;
}

/** What a thread is given that is to draw: this file is the code of both sides. */
const role = 'draws normal numbers';
/** Numbers that are drawn sooner here than a thread starts. */
const fewNumbers = 2 ** 16;

/** Draws without a thread. */
export async function drawHere(stream: RandomStream, length: number, scale: number): Promise<Float32Array> {
  const numbers = new Float32Array(length);
  stream.fillNormal(numbers, scale);
  return numbers;
}

export class NormalThreads implements AsyncDisposable {
  readonly #most: number;
  readonly #queue: Waiting[] = [];
  readonly #idle: Worker[] = [];
  readonly #threads = new Map<Worker, Waiting | null>();

  constructor(most: number) {
    this.#most = most;
  }

  draw(stream: RandomStream, length: number, scale: number): Promise<Float32Array> {
    if (length < fewNumbers || !canBeThread(import.meta.url)) return drawHere(stream, length, scale);
    const { key, step, row } = stream;
    return new Promise((done, failed) => {
      this.#queue.push({ key, step, row, length, scale, done, failed });
      const thread = this.#idle.pop() ?? (this.#threads.size < this.#most ? this.#start() : null);
      if (thread !== null) this.#next(thread);
    });
  }

  #start(): Worker {
    const thread = new Worker(new URL(import.meta.url), { workerData: role, execArgv: [], name: role });
    this.#threads.set(thread, null);
    thread.on('message', (numbers: Float32Array) => {
      this.#threads.get(thread)?.done(numbers);
      this.#next(thread);
    });
    thread.on('error', (error) => {
      this.#threads.get(thread)?.failed(error);
      this.#threads.delete(thread);
      for (const { failed } of this.#queue.splice(0)) failed(error);
    });
    return thread;
  }

  #next(thread: Worker): void {
    const next = this.#queue.shift() ?? null;
    this.#threads.set(thread, next);
    if (next === null) this.#idle.push(thread);
    else {
      const { key, step, row, length, scale } = next;
      thread.postMessage({ key, step, row, length, scale } satisfies NormalDraw);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#threads.keys()].map((thread) => thread.terminate()));
  }
}

if (workerData === role) {
  parentPort?.on('message', ({ key, step, row, length, scale }: NormalDraw) => {
    const numbers = new Float32Array(length);
    new RandomStream(key, step, row).fillNormal(numbers, scale);
    parentPort?.postMessage(numbers, [numbers.buffer]);
  });
}
