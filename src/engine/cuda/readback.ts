/**
 * Copies from the GPU to the host without blocking the thread: a copy is queued at once, to host memory the GPU can reach, so that it
 * holds what was there at the call; then the stream is asked until it has got there. What does not fit that memory blocks instead.
 */

import type { HostArray } from '../index.ts';
import { Arena } from '../index.ts';
import { type Handle, notReady } from './driver.ts';
import type { Gpu } from './gpu.ts';
import type { Koffi } from './libraries.ts';

const reachableBytes = 64 * 2 ** 20;
const withoutTiming = 2;
/** Wait after which the thread sleeps between questions. */
const patienceMs = 20;

export class Readback implements Disposable {
  readonly #gpu: Gpu;
  readonly #arena = new Arena('cuda host', reachableBytes);
  readonly #pointer: Handle;
  readonly #address: bigint;
  readonly #bytes: Uint8Array;

  constructor(koffi: Koffi, gpu: Gpu) {
    this.#gpu = gpu;
    this.#pointer = gpu.driver.get<Handle>('cuMemHostAlloc', `${reachableBytes} bytes`, reachableBytes, 0);
    this.#address = koffi.address(this.#pointer);
    this.#bytes = new Uint8Array(koffi.view(this.#pointer, reachableBytes));
  }

  async copy(out: HostArray, from: number, label: string): Promise<void> {
    const { driver, stream } = this.#gpu;
    const what = `${out.byteLength} bytes of ${label}`;
    if (!this.#arena.fits(out.byteLength)) {
      driver.call('cuMemcpyDtoHAsync', what, out, from, out.byteLength, stream);
      driver.call('cuStreamSynchronize', what, stream);
      return;
    }
    const offset = this.#arena.alloc(out.byteLength, label);
    try {
      driver.call('cuMemcpyDtoHAsync', what, this.#address + BigInt(offset), from, out.byteLength, stream);
      await this.reached();
      const bytes = new Uint8Array(out.buffer, out.byteOffset, out.byteLength);
      bytes.set(this.#bytes.subarray(offset, offset + out.byteLength));
    } finally {
      this.#arena.free(offset);
    }
  }

  /** Resolves when everything queued before the call is done. */
  async reached(): Promise<void> {
    const { driver, stream } = this.#gpu;
    const event = driver.get<Handle>('cuEventCreate', 'a mark in the stream', withoutTiming);
    try {
      driver.call('cuEventRecord', 'a mark in the stream', event, stream);
      const start = performance.now();
      for (;;) {
        const code = driver.ask('cuEventQuery', event);
        if (code === 0) return;
        if (code !== notReady) driver.fail('cuEventQuery', 'waiting for queued kernels', code);
        const patient = performance.now() - start < patienceMs;
        await new Promise<void>((resolve) => {
          if (patient) setImmediate(resolve);
          else setTimeout(resolve, 1);
        });
      }
    } finally {
      driver.call('cuEventDestroy', 'a mark in the stream', event);
    }
  }

  [Symbol.dispose](): void {
    this.#gpu.driver.call('cuMemFreeHost', `${reachableBytes} bytes`, this.#pointer);
  }
}
