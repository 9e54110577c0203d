/**
 * A second stream, for small work that runs beside a large product: it starts after all that was queued before it, and all that is queued
 * after the two sides waits for both. While work is captured as a graph this makes a branch. Its blocks go first where both wait for room.
 * Scratch memory is given back once what uses it is queued, so nothing on the second stream may take any: the first stream could be given
 * the same bytes.
 */
import { Blas, type Workspace } from './blas.ts';
import type { Handle } from './driver.ts';
import type { Library } from './libraries.ts';
import type { Queue } from './queue.ts';

const nonBlocking = 1;
const withoutTiming = 2;
/** More urgent than any priority there is: the driver takes its own most urgent one. */
const urgent = -100;

export class Aside implements Disposable {
  readonly #queue: Queue;
  readonly #stream: Handle;
  readonly #fork: Handle;
  readonly #join: Handle;
  readonly #blas: Blas;

  /** The workspace belongs to the second stream alone: products of both streams run at once. */
  constructor(queue: Queue, library: Library, workspace: Workspace) {
    const { gpu } = queue;
    this.#queue = queue;
    this.#stream = gpu.driver.get<Handle>('cuStreamCreateWithPriority', 'the second stream', nonBlocking, urgent);
    this.#fork = gpu.driver.get<Handle>('cuEventCreate', 'a fork', withoutTiming);
    this.#join = gpu.driver.get<Handle>('cuEventCreate', 'a join', withoutTiming);
    this.#blas = new Blas(library, this.#stream, workspace);
  }

  /** Queues what `aside` does on the second stream, and what `main` does beside it on the first. */
  run(aside: (blas: Blas) => void, main: () => void): void {
    const { driver, stream } = this.#queue.gpu;
    driver.call('cuEventRecord', 'a fork', this.#fork, stream);
    driver.call('cuStreamWaitEvent', 'a fork', this.#stream, this.#fork, 0);
    try {
      this.#queue.on(this.#stream, () => aside(this.#blas));
      main();
    } finally {
      driver.call('cuEventRecord', 'a join', this.#join, this.#stream);
      driver.call('cuStreamWaitEvent', 'a join', stream, this.#join, 0);
    }
  }

  [Symbol.dispose](): void {
    const { driver } = this.#queue.gpu;
    this.#blas[Symbol.dispose]();
    driver.call('cuEventDestroy', 'a fork', this.#fork);
    driver.call('cuEventDestroy', 'a join', this.#join);
    driver.call('cuStreamDestroy', 'the second stream', this.#stream);
  }
}
