/**
 * A device that computes nothing and only counts memory: what runs on it allocates and frees as it would on a real one, so
 * that a rehearsal of work tells how much memory the work needs. Tensors read as zeros.
 */
import { Arena } from './arena.ts';
import type { Device } from './device.ts';
import type { Kernels } from './kernels.ts';
import type { DType, HostArray, Tensor } from './tensor.ts';

/** An arena without a limit; `capacity` only decides the size of chunks. */
class CountingArena extends Arena {
  override readonly capacity: number;
  /** The first byte above everything that was ever taken: what an arena must have, its gaps included. */
  highest = 0;

  constructor(capacity: number) {
    super('counting', Number.MAX_SAFE_INTEGER);
    this.capacity = capacity;
  }

  override alloc(bytes: number, label: string | (() => string)): number {
    const offset = super.alloc(bytes, label);
    this.highest = Math.max(this.highest, offset + bytes);
    return offset;
  }
}

export interface CountingOptions {
  readonly floats: readonly DType[];
  readonly capacity: number;
  /** Which of the optional kernels the device has; default: all. */
  readonly has?: (kernel: string) => boolean;
}

export class CountingDevice implements Device {
  readonly name = 'counting';
  readonly arena: CountingArena;
  readonly floats: readonly DType[];
  readonly kernels: Kernels;
  readonly #seen = new Set<string>();

  constructor({ floats, capacity, has = () => true }: CountingOptions) {
    this.floats = floats;
    this.arena = new CountingArena(capacity);
    const nothing = (): void => undefined;
    this.kernels = new Proxy({} as Kernels, {
      get: (_target, name) => (has(String(name)) ? nothing : undefined),
    });
  }

  write(): void {}

  async read(source: Tensor): Promise<HostArray> {
    if (source.dtype === 'f32') return new Float32Array(source.size);
    return source.dtype === 'i32' ? new Int32Array(source.size) : new Uint16Array(source.size);
  }

  freeze(): void {}

  release(tensor: Tensor): void {
    this.arena.free(tensor.offset);
  }

  /** Runs the body only the first time: later times would allocate the same. */
  repeat(key: string, body: () => void): void {
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    body();
  }

  async sync(): Promise<void> {}

  [Symbol.dispose](): void {}
}
