/**
 * The cuda device: one slab of GPU memory, one stream, kernels queued in call order (a second stream only runs products beside others, and
 * the first waits for them). Nothing waits but `read` and `sync`, which ask the stream without blocking the thread. Same inputs, same
 * bytes, run after run.
 */
import { DeviceError } from '../../base/index.ts';
import type { Device, Kernels } from '../index.ts';
import { Arena, type DType, describeTensor, type HostArray, type Scope, type Tensor } from '../index.ts';
import { expectHostData, hostArrays } from '../tensor.ts';
import type { Gpu, GpuFacts } from './gpu.ts';
import type { Graphs } from './graphs.ts';
import type { Queue } from './queue.ts';
import type { Readback } from './readback.ts';

/** Tiles of keys in the gradient of attention: where a lane begins at a multiple of this, its tiles are those it has alone. */
const laneStep = 128;

export type Precision = 'bf16' | 'f32';

export interface CudaParts {
  readonly gpu: Gpu;
  readonly queue: Queue;
  readonly graphs: Graphs;
  readonly readback: Readback;
  readonly kernels: Kernels;
  readonly precision: Precision;
  readonly lanes: boolean;
  readonly slab: number;
  readonly slabBytes: number;
  /** Bytes at the start of the slab that belong to the device itself. */
  readonly reservedBytes: number;
  readonly parts: readonly Disposable[];
}

export class CudaDevice implements Device {
  readonly name = 'cuda';
  readonly arena: Arena;
  readonly kernels: Kernels;
  readonly floats: readonly DType[];
  readonly facts: GpuFacts;
  readonly lanes?: number;
  readonly #parts: CudaParts;
  #disposed = false;

  constructor(parts: CudaParts) {
    this.#parts = parts;
    this.kernels = parts.kernels;
    this.facts = parts.gpu.facts;
    this.floats = parts.precision === 'bf16' ? ['bf16', 'f32'] : ['f32', 'bf16'];
    this.arena = new Arena('cuda', parts.slabBytes, parts.reservedBytes);
    if (parts.lanes) this.lanes = laneStep;
  }

  write(target: Tensor, data: HostArray): void {
    this.#expectHome('write', target);
    expectHostData(target, data);
    this.#expectOutside('write', target);
    if (target.size === 0) return;
    const { driver, stream } = this.#parts.gpu;
    const what = `${data.byteLength} bytes of ${target.label}`;
    driver.call('cuMemcpyHtoDAsync', what, this.#parts.queue.address(target), data, data.byteLength, stream);
  }

  /** The contents as of this call, whatever is queued or freed while they are on their way. */
  async read(source: Tensor): Promise<HostArray> {
    this.#expectHome('read', source);
    this.#expectOutside('read', source);
    const out = new hostArrays[source.dtype](source.size);
    if (source.size > 0) await this.#parts.readback.copy(out, this.#parts.queue.address(source), source.label);
    return out;
  }

  freeze(): void {}

  release(tensor: Tensor): void {
    this.arena.free(tensor.offset);
  }

  repeat(key: string, body: () => void, scope: Scope): void {
    this.#parts.graphs.repeat(key, body, (capture) => {
      const held = this.arena.hold(capture);
      scope.defer(() => held[Symbol.dispose]());
    });
  }

  sync(): Promise<void> {
    return this.#parts.readback.reached();
  }

  /** File and name of every kernel launched so far: for checks. */
  get launched(): readonly string[] {
    return this.#parts.queue.launched;
  }

  /** Blocks the thread until everything queued is done: for measurements. */
  wait(): void {
    this.#parts.gpu.driver.call('cuStreamSynchronize', 'waiting', this.#parts.gpu.stream);
  }

  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const { gpu, slab, slabBytes, parts } = this.#parts;
    gpu.driver.call('cuStreamSynchronize', 'the end', gpu.stream);
    for (const part of parts) part[Symbol.dispose]();
    gpu.driver.call('cuMemFree', `${slabBytes} bytes`, slab);
    gpu[Symbol.dispose]();
  }

  #expectHome(call: string, tensor: Tensor): void {
    tensor.assertAlive(call);
    if (tensor.device.arena === this.arena) return;
    throw new DeviceError({
      call: `${call} ${tensor.label} ${describeTensor(tensor)}`,
      expected: 'a tensor on this cuda device',
      found: `one on another ${tensor.device.name} device`,
    });
  }

  /** The host's memory may change before a replay: copies do not belong in one. */
  #expectOutside(call: string, tensor: Tensor): void {
    if (!this.#parts.graphs.capturing) return;
    throw new DeviceError({
      call: `${call} ${tensor.label}`,
      expected: 'only kernels inside repeated work',
      found: `a ${call} while it is being captured`,
    });
  }
}
