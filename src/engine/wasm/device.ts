/**
 * The wasm device: one WebAssembly memory of a stated size, SIMD kernels in one of three variants, worker threads over
 * the shared memory. Kernels are queued and run while the host goes on; with one thread they run inside the call. Results are the same
 * bytes for any number of threads.
 */
import type { Device, HostArray, Kernels, Tensor } from '../index.ts';
import { Arena, readSlab, writeSlab } from '../index.ts';
import { mostQueries } from './attention.ts';
import { FrozenLayouts } from './frozen.ts';
import type { Jobs } from './jobs.ts';
import { wasmKernels } from './kernels.ts';
import { pause, type RunningWorker } from './platform.ts';
import type { Variant } from './variants.ts';
import { growMemory, pageBytes, type WasmMemory } from './webassembly.ts';

const mostBusyMs = 200;

interface Parts {
  readonly variant: Variant;
  readonly gflops: number;
  readonly memory: WasmMemory;
  readonly arenaEnd: number;
  readonly jobs: Jobs;
  readonly workers: readonly RunningWorker[];
}

export class WasmDevice implements Device {
  readonly name = 'wasm';
  readonly floats = ['f32'] as const;
  readonly independentRows = mostQueries;
  readonly variant: Variant;
  readonly threads: number;
  /** GFLOP/s of one thread, measured at start. */
  readonly gflops: number;
  readonly arena: Arena;
  readonly kernels: Kernels;
  readonly #memory: WasmMemory;
  readonly #jobs: Jobs;
  readonly #workers: readonly RunningWorker[];
  readonly #frozen: FrozenLayouts;
  #disposed = false;
  /** When the thread was last given back. */
  #paused = performance.now();

  constructor({ variant, gflops, memory, arenaEnd, jobs, workers }: Parts) {
    this.variant = variant;
    this.gflops = gflops;
    this.threads = jobs.threads;
    this.arena = new Arena('wasm', arenaEnd, jobs.reservedBytes, (end) =>
      growMemory(memory, end + pageBytes, arenaEnd + pageBytes),
    );
    this.#memory = memory;
    this.#jobs = jobs;
    this.#workers = workers;
    this.#frozen = new FrozenLayouts(this.arena);
    this.kernels = wasmKernels(jobs, this.#frozen, memory);
  }

  write(target: Tensor, data: HostArray): void {
    this.#frozen.expectChangeable('write', target);
    this.#jobs.finish();
    writeSlab(this.#memory.buffer, this.arena, target, data);
  }

  /** The contents as of this call. Long work reads now and then: the thread is given back there, so that Ctrl-C is heard. */
  async read(source: Tensor): Promise<HostArray> {
    this.#jobs.finish();
    const contents = readSlab(this.#memory.buffer, this.arena, source);
    if (performance.now() - this.#paused > mostBusyMs) {
      await pause();
      this.#paused = performance.now();
    }
    return contents;
  }

  freeze(tensor: Tensor): void {
    if (tensor.dtype === 'f32') this.#frozen.freeze(tensor);
  }

  hold(tensor: Tensor): Disposable {
    const end = tensor.dtype === 'f32' ? this.#frozen.freeze(tensor) : () => {};
    return { [Symbol.dispose]: end };
  }

  release(tensor: Tensor): void {
    this.#frozen.release(tensor);
    this.arena.free(tensor.offset);
  }

  repeat(_key: string, body: () => void): void {
    body();
  }

  async sync(): Promise<void> {
    this.finish();
  }

  /** Waits on this thread, which works along, until every kernel has run. */
  finish(): void {
    this.#jobs.finish();
  }

  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#jobs.stop();
    for (const worker of this.#workers) worker.terminate();
  }
}
