/** The webgpu device: one buffer of the GPU's memory, kernels queued in call order; only `read` and `sync` wait. */
import { DeviceError } from '../../base/index.ts';
import {
  Arena,
  bytesOf,
  type Device,
  describeTensor,
  type HostArray,
  type Kernels,
  Scope,
  type Tensor,
} from '../index.ts';
import { expectHostData, hostArrays } from '../tensor.ts';
import { bufferUse, forReading, type GpuBuffer, type GpuDevice } from './interface.ts';
import type { KernelQueue } from './queue.ts';

export interface WebgpuParts {
  readonly gpu: GpuDevice;
  readonly queue: KernelQueue;
  readonly slab: GpuBuffer;
  readonly slabBytes: number;
  readonly kernels: Kernels;
  readonly adapter: string;
}

export class WebgpuDevice implements Device {
  readonly name = 'webgpu';
  readonly floats = ['f32'] as const;
  readonly arena: Arena;
  readonly kernels: Kernels;
  /** The GPU, or the driver in its place. */
  readonly facts: { readonly name: string };
  readonly #gpu: GpuDevice;
  readonly #queue: KernelQueue;
  readonly #slab: GpuBuffer;

  constructor({ gpu, queue, slab, slabBytes, kernels, adapter }: WebgpuParts) {
    this.#gpu = gpu;
    this.#queue = queue;
    this.#slab = slab;
    this.kernels = kernels;
    this.facts = { name: adapter };
    this.arena = new Arena('webgpu', slabBytes);
  }

  write(target: Tensor, data: HostArray): void {
    this.#expectHome('write', target);
    expectHostData(target, data);
    if (target.size === 0) return;
    if (target.offset % 4 === 0 && data.byteLength % 4 === 0) this.#queue.write(target.offset, data);
    else this.#writeHalves(target, data);
  }

  /** Halves that do not fill whole words go to words of their own, and a kernel moves them. */
  #writeHalves(target: Tensor, data: HostArray): void {
    using scope = new Scope(this);
    const whole = new Uint16Array(data.length + (data.length % 2));
    whole.set(data);
    const staged = scope.empty([whole.length], 'staged', target.dtype);
    this.#queue.write(staged.offset, whole);
    this.kernels.copy(target, staged.view(target.shape));
  }

  /** The contents as of this call, whatever is queued or freed while they are on their way. */
  async read(source: Tensor): Promise<HostArray> {
    this.#expectHome('read', source);
    const make = hostArrays[source.dtype];
    const bytes = source.size * bytesOf[source.dtype];
    if (bytes === 0) return new make(new ArrayBuffer(0));
    const start = source.offset - (source.offset % 4);
    const size = Math.ceil((source.offset + bytes - start) / 4) * 4;
    const usage = bufferUse.mapRead | bufferUse.copyTarget;
    const staging = this.#gpu.createBuffer({ label: `read ${source.label}`, size, usage });
    const skipped = source.offset - start;
    try {
      this.#queue.copyOut(staging, start, size);
      await staging.mapAsync(forReading);
      this.#queue.expectWell(`read ${source.label}`);
      return new make(staging.getMappedRange().slice(skipped, skipped + bytes));
    } finally {
      staging.destroy();
    }
  }

  freeze(): void {}

  release(tensor: Tensor): void {
    this.arena.free(tensor.offset);
  }

  repeat(_key: string, body: () => void): void {
    body();
  }

  sync(): Promise<void> {
    return this.#queue.reached();
  }

  [Symbol.dispose](): void {
    this.#slab.destroy();
    this.#gpu.destroy();
  }

  #expectHome(call: string, tensor: Tensor): void {
    tensor.assertAlive(call);
    if (tensor.device.arena === this.arena) return;
    throw new DeviceError({
      call: `${call} ${tensor.label} ${describeTensor(tensor)}`,
      expected: 'a tensor on this webgpu device',
      found: `one on another ${tensor.device.name} device`,
    });
  }
}
