/**
 * A second stream, for products that run beside others: they start after all that was queued before them, and all that is queued after
 * the two sides waits for both. While work is captured as a graph this makes a branch. Scratch memory is given back once what uses it is
 * queued, so products of the second stream may take none: the first stream could be given the same bytes.
 */
import type { LibraryHandle } from 'koffi';
import { Blas, type Workspace } from './blas.ts';
import type { Handle } from './driver.ts';
import type { Gpu } from './gpu.ts';

const nonBlocking = 1;
const withoutTiming = 2;

export class Aside implements Disposable {
  readonly #gpu: Gpu;
  readonly #stream: Handle;
  readonly #fork: Handle;
  readonly #join: Handle;
  readonly #blas: Blas;

  /** The workspace belongs to the second stream alone: products of both streams run at once. */
  constructor(gpu: Gpu, library: LibraryHandle, workspace: Workspace) {
    this.#gpu = gpu;
    this.#stream = gpu.driver.get<Handle>('cuStreamCreate', 'the second stream', nonBlocking);
    this.#fork = gpu.driver.get<Handle>('cuEventCreate', 'a fork', withoutTiming);
    this.#join = gpu.driver.get<Handle>('cuEventCreate', 'a join', withoutTiming);
    this.#blas = new Blas(library, this.#stream, workspace);
  }

  /** Queues the products of `aside` on the second stream and what `main` queues beside them on the first, and returns what `main` does. */
  run<T>(aside: (blas: Blas) => void, main: () => T): T {
    const { driver, stream } = this.#gpu;
    driver.call('cuEventRecord', 'a fork', this.#fork, stream);
    driver.call('cuStreamWaitEvent', 'a fork', this.#stream, this.#fork, 0);
    try {
      aside(this.#blas);
      return main();
    } finally {
      driver.call('cuEventRecord', 'a join', this.#join, this.#stream);
      driver.call('cuStreamWaitEvent', 'a join', stream, this.#join, 0);
    }
  }

  [Symbol.dispose](): void {
    const { driver } = this.#gpu;
    this.#blas[Symbol.dispose]();
    driver.call('cuEventDestroy', 'a fork', this.#fork);
    driver.call('cuEventDestroy', 'a join', this.#join);
    driver.call('cuStreamDestroy', 'the second stream', this.#stream);
  }
}
