/**
 * Queues kernels on the GPU's stream. Parameters of a launch go through one block of memory of 8 bytes each: addresses, whole
 * numbers (whose low half is an int) and floats; the driver copies them during the call.
 */
import { DeviceError } from '../../base/index.ts';
import { bytesOf, type DType, type Tensor } from '../index.ts';
import type { Compiler, KernelFile } from './compiler.ts';
import type { Handle } from './driver.ts';
import type { Gpu } from './gpu.ts';
import type { Koffi } from './libraries.ts';

/** A tensor stands for its address, null for no address, a plain number for a whole number, words for a structure of 8-byte fields. */
export type KernelArgument =
  | Tensor
  | null
  | number
  | { readonly float: number }
  | { readonly double: number }
  | { readonly words: BigUint64Array };
export const float = (value: number): KernelArgument => ({ float: value });
export const double = (value: number): KernelArgument => ({ double: value });

export interface Shape3 {
  readonly grid: readonly [number, number?, number?];
  readonly block: number | readonly [number, number];
  readonly sharedBytes?: number;
  /** The blocks may be started while the kernel before still runs, on GPUs that can: they wait for its results (`awaitBefore`). */
  readonly follows?: boolean;
}

const mostParameters = 32;
const dynamicSharedBytes = 8;
const plainSharedBytes = 48 * 1024;
const wordRange = 2 ** 32;
const threads = 256;
/** Compute capability from which on a kernel may start before the one before it has ended. */
const followingFrom = 90;
/** The attribute of such a launch; it takes the driver's configuration and one attribute of 72 bytes. */
const follow = { attribute: 6, configurationBytes: 56, attributeBytes: 72 } as const;

interface Kernel {
  readonly handle: Handle;
  /** Most shared memory that the kernel was allowed so far. */
  sharedBytes: number;
}

export class Queue implements Disposable {
  readonly gpu: Gpu;
  readonly #compiler: Compiler;
  readonly #base: number;
  readonly #modules = new Map<string, Handle>();
  readonly #kernels = new Map<string, Kernel>();
  readonly #words = new Uint32Array(2 * mostParameters);
  readonly #floats = new Float32Array(this.#words.buffer);
  readonly #doubles = new Float64Array(this.#words.buffer);
  readonly #koffi: Koffi;
  /** Where each parameter is: its place among the words, or a structure of its own. */
  readonly #addresses: BigUint64Array;
  readonly #places: BigUint64Array;
  #stream: Handle;
  /** Sizes (7 × 4 bytes), the stream, the address of the attribute, and that there is one. */
  readonly #configuration = Buffer.alloc(follow.configurationBytes);
  readonly #attribute = Buffer.alloc(follow.attributeBytes);

  constructor(koffi: Koffi, gpu: Gpu, compiler: Compiler, base: number) {
    this.gpu = gpu;
    this.#koffi = koffi;
    this.#stream = gpu.stream;
    this.#compiler = compiler;
    this.#base = base;
    const start = koffi.address(this.#words);
    this.#attribute.writeUInt32LE(follow.attribute, 0);
    this.#attribute.writeUInt32LE(1, 8);
    this.#configuration.writeBigUInt64LE(koffi.address(gpu.stream), 32);
    this.#configuration.writeBigUInt64LE(koffi.address(this.#attribute), 40);
    this.#configuration.writeUInt32LE(1, 48);
    this.#places = BigUint64Array.from({ length: mostParameters }, (_, i) => start + BigInt(8 * i));
    this.#addresses = this.#places.slice();
  }

  /** What `body` launches goes to another stream. */
  on(stream: Handle, body: () => void): void {
    const before = this.#stream;
    this.#stream = stream;
    try {
      body();
    } finally {
      this.#stream = before;
    }
  }

  /** File and name of every kernel launched so far, for checks. */
  get launched(): string[] {
    return [...new Set([...this.#kernels.keys()].map((key) => [key.split(' ')[0], key.split(' ').at(-1)].join(' ')))];
  }

  address(tensor: Tensor): number {
    return this.#base + tensor.offset;
  }

  /** Whether all tensors start at a multiple of 16 bytes. */
  aligned(...tensors: readonly Tensor[]): boolean {
    return tensors.every(({ offset }) => offset % 16 === 0);
  }

  /** The blocks that `size` elements need, `each` per thread, but no more than keep the GPU busy: kernels stride. */
  over(size: number, each = 1): Shape3 {
    const most = 32 * this.gpu.facts.multiprocessors;
    return { grid: [Math.max(1, Math.min(most, Math.ceil(size / (threads * each))))], block: threads };
  }

  launch(
    file: KernelFile,
    name: string,
    definitions: readonly string[],
    shape: Shape3,
    parameters: readonly KernelArgument[],
  ): void {
    const { grid, block, sharedBytes = 0 } = shape;
    const kernel = this.#kernel(file, name, definitions, sharedBytes);
    parameters.forEach((parameter, i) => {
      this.#put(i, parameter);
    });
    const [x, y] = typeof block === 'number' ? [block, 1] : block;
    const [gx, gy = 1, gz = 1] = grid;
    const { driver } = this.gpu;
    const sizes = [gx, gy, gz, x, y, 1, sharedBytes];
    const code =
      shape.follows === true && this.#stream === this.gpu.stream && this.gpu.facts.capability >= followingFrom
        ? driver.ask('cuLaunchKernelEx', this.#following(sizes), kernel, this.#addresses, null)
        : driver.ask('cuLaunchKernel', kernel, ...sizes, this.#stream, this.#addresses, null);
    if (code === 0) return;
    driver.fail(
      'cuLaunchKernel',
      `${name} of ${file}.cu, grid ${grid.join('×')}, block ${block}, ${sharedBytes} bytes shared`,
      code,
    );
  }

  /** The driver's description of a launch that may start before the kernel before it has ended. */
  #following(sizes: readonly number[]): Buffer {
    sizes.forEach((size, i) => {
      this.#configuration.writeUInt32LE(size, 4 * i);
    });
    return this.#configuration;
  }

  #put(i: number, parameter: KernelArgument): void {
    if (typeof parameter === 'object' && parameter !== null && 'words' in parameter) {
      this.#addresses[i] = this.#koffi.address(parameter.words);
      return;
    }
    this.#addresses[i] = this.#places[i];
    if (typeof parameter === 'object' && parameter !== null && 'float' in parameter)
      this.#floats[2 * i] = parameter.float;
    else if (typeof parameter === 'object' && parameter !== null && 'double' in parameter) {
      this.#doubles[i] = parameter.double;
    } else {
      const value = parameter === null ? 0 : typeof parameter === 'number' ? parameter : this.address(parameter);
      this.#words[2 * i] = value % wordRange;
      this.#words[2 * i + 1] = Math.floor(value / wordRange);
    }
  }

  #kernel(file: KernelFile, name: string, definitions: readonly string[], sharedBytes: number): Handle {
    const key = `${file} ${definitions.join(' ')} ${name}`;
    const { driver } = this.gpu;
    let kernel = this.#kernels.get(key);
    if (kernel === undefined) {
      const handle = driver.get<Handle>('cuModuleGetFunction', key, this.#module(file, definitions), name);
      kernel = { handle, sharedBytes: plainSharedBytes };
      this.#kernels.set(key, kernel);
    }
    if (sharedBytes > kernel.sharedBytes) {
      driver.call('cuFuncSetAttribute', key, kernel.handle, dynamicSharedBytes, sharedBytes);
      kernel.sharedBytes = sharedBytes;
    }
    return kernel.handle;
  }

  #module(file: KernelFile, definitions: readonly string[]): Handle {
    const key = `${file} ${definitions.join(' ')}`;
    const known = this.#modules.get(key);
    if (known !== undefined) return known;
    const module = this.gpu.driver.get<Handle>('cuModuleLoadData', key, this.#compiler.code(file, definitions));
    this.#modules.set(key, module);
    return module;
  }

  [Symbol.dispose](): void {
    for (const [key, module] of this.#modules) this.gpu.driver.call('cuModuleUnload', key, module);
  }
}

/** Most rows of a table in the parameters of a launch. */
export const mostListed = 64;

/** A table in the parameters of a launch: its columns one after another, each of `mostListed` words. */
export class LaunchTable {
  readonly words: BigUint64Array;
  readonly #queue: Queue;

  constructor(queue: Queue, columns: number) {
    this.#queue = queue;
    this.words = new BigUint64Array(columns * mostListed);
  }

  /** A tensor stands for its address, null for none. */
  set(row: number, fields: readonly (Tensor | number | null)[]): void {
    fields.forEach((field, column) => {
      const value = field === null ? 0 : typeof field === 'number' ? field : this.#queue.address(field);
      this.words[column * mostListed + row] = BigInt(value);
    });
  }
}

/** Definitions that make this type the `real` of the kernels. */
export function definitionsOf(dtype: DType): readonly string[] {
  if (dtype === 'f32') return [];
  if (dtype === 'bf16') return ['REAL_BF16'];
  throw new DeviceError({
    call: 'cuda kernel',
    expected: 'f32 or bf16',
    found: dtype,
    fix: 'Convert it with copy first.',
  });
}

/** Number of elements of one 16-byte access. */
export function elementsPerAccess(dtype: DType): number {
  return 16 / bytesOf[dtype];
}
