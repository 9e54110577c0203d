/**
 * A tensor is a handle: shape, dtype and a byte offset into its device's arena. It never owns JavaScript memory and is
 * never freed behind anybody's back: the scope that made it frees it, functions only borrow it. Always contiguous, row
 * major. A view shares its owner's bytes and lives exactly as long as its owner.
 */
import { ShapeError } from '../base/index.ts';
import type { Device } from './device.ts';

export type DType = 'f32' | 'i32' | 'bf16' | 'f16';
export type Shape = readonly number[];
/** Host data of a tensor: bf16 and f16 travel as their raw 16 bits. */
export type HostArray = Float32Array | Int32Array | Uint16Array;

export const bytesOf: Readonly<Record<DType, number>> = { f32: 4, i32: 4, bf16: 2, f16: 2 };

export function sizeOf(shape: Shape): number {
  return shape.reduce((product, axis) => product * axis, 1);
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

export function describeTensor(tensor: { shape: Shape; dtype: DType }): string {
  return `${tensor.dtype}[${tensor.shape.join(',')}]`;
}

/** The arrays that hold tensors outside of a device. */
export const hostArrays: Readonly<Record<DType, HostArrays>> = {
  f32: Float32Array,
  i32: Int32Array,
  bf16: Uint16Array,
  f16: Uint16Array,
};
type HostArrays = (new (size: number) => HostArray) & (new (buffer: ArrayBuffer) => HostArray);

export function expectHostData(target: Tensor, data: HostArray): void {
  const expected = hostArrays[target.dtype];
  if (data instanceof expected && data.length === target.size) return;
  throw new ShapeError({
    call: `write ${target.label}`,
    expected: `${expected.name} of ${target.size} for ${describeTensor(target)}`,
    found: `${data.constructor.name} of ${data.length}`,
  });
}

export class Tensor {
  readonly device: Device;
  readonly shape: Shape;
  readonly dtype: DType;
  readonly label: string;
  readonly size: number;
  readonly #owner: Tensor | undefined;
  /** Offset in bytes from the owner's first byte; of an owner, its offset in the arena. */
  #start: number;
  #alive = true;
  #asleep = false;

  private constructor(device: Device, shape: Shape, dtype: DType, label: string, start: number, owner?: Tensor) {
    this.device = device;
    this.shape = shape;
    this.dtype = dtype;
    this.label = label;
    this.#start = start;
    this.size = sizeOf(shape);
    this.#owner = owner;
  }

  /** A tensor whose memory is not cleared. */
  static empty(device: Device, shape: Shape, dtype: DType = 'f32', label = 'tensor'): Tensor {
    if (!shape.every(isCount)) {
      throw new ShapeError({
        call: `tensor ${label}`,
        expected: 'axes that are whole numbers ≥ 0',
        found: `[${shape}]`,
      });
    }
    return new Tensor(device, [...shape], dtype, label, allocate(device, shape, dtype, label));
  }

  static from(device: Device, data: HostArray, shape: Shape, dtype: DType = 'f32', label = 'tensor'): Tensor {
    const tensor = Tensor.empty(device, shape, dtype, label);
    try {
      device.write(tensor, data);
    } catch (error) {
      tensor.free();
      throw error;
    }
    return tensor;
  }

  /** The same bytes, read in another shape, from `start` elements on. */
  view(shape: Shape, start = 0): Tensor {
    const owner = this.#owner ?? this;
    this.assertAlive('view');
    if (!shape.every(isCount) || !isCount(start) || start + sizeOf(shape) > this.size) {
      throw new ShapeError({
        call: `view of ${this.label}`,
        expected: `a part of ${describeTensor(this)}`,
        found: `[${shape.join(',')}] from element ${start}`,
      });
    }
    const from = this.offset - owner.offset + start * bytesOf[this.dtype];
    return new Tensor(this.device, [...shape], this.dtype, this.label, from, owner);
  }

  /** Byte offset in the device's arena. */
  get offset(): number {
    return this.#owner === undefined ? this.#start : this.#owner.#start + this.#start;
  }

  /** Rows `start` to `end` of the first axis, without a copy. */
  rows(start: number, end: number): Tensor {
    const [, ...rest] = this.shape;
    return this.view([end - start, ...rest], start * sizeOf(rest));
  }

  get isView(): boolean {
    return this.#owner !== undefined;
  }

  /** The tensor whose bytes these are. */
  get owner(): Tensor {
    return this.#owner ?? this;
  }

  get alive(): boolean {
    return this.owner.#alive;
  }

  assertAlive(call: string): void {
    if (this.alive && !this.owner.#asleep) return;
    throw new ShapeError({
      call,
      expected: `${this.label} ${describeTensor(this)} to be alive`,
      found: this.alive ? 'a tensor whose memory was given up to be computed again' : 'a tensor whose scope has ended',
      fix: 'Keep it in the scope that outlives its use.',
    });
  }

  get asleep(): boolean {
    return this.owner.#asleep;
  }

  /** Gives the memory back and stays a handle, until `wake` finds it memory again, of unknown contents. Called by tapes only. */
  sleep(): void {
    this.assertAlive('sleep');
    this.device.release(this);
    this.#asleep = true;
  }

  wake(): void {
    if (!this.#asleep) return;
    this.#start = allocate(this.device, this.shape, this.dtype, this.label);
    this.#asleep = false;
  }

  /** Called by scopes only. */
  free(): void {
    if (this.isView) throw new ShapeError({ call: `free ${this.label}`, expected: 'an owner', found: 'a view' });
    if (!this.#asleep) {
      this.assertAlive('free');
      this.device.release(this);
    }
    this.#alive = false;
  }
}

function allocate(device: Device, shape: Shape, dtype: DType, label: string): number {
  return device.arena.alloc(sizeOf(shape) * bytesOf[dtype], () => `${label} ${dtype}[${shape.join(',')}]`);
}
