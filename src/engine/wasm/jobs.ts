/**
 * The host's side of the job protocol (kernels/dispatch.ts): arguments go into a fixed block of the memory, then one call
 * runs the shards. A job of one shard stays on the calling thread and wakes nobody; how many shards a job has depends on
 * shapes alone, so results never depend on the number of threads.
 */
import { DeviceError } from '../../base/index.ts';
import type { WasmGlobal, WasmMemory } from './webassembly.ts';

export type JobName =
  | 'adamw'
  | 'adaptedProducts'
  | 'affine'
  | 'attention'
  | 'attentionBackward'
  | 'binary'
  | 'clamp'
  | 'convert'
  | 'copyWords'
  | 'countNonFinite'
  | 'fill'
  | 'fillHalves'
  | 'gatherPartials'
  | 'gatherRows'
  | 'gemm'
  | 'inside'
  | 'invert'
  | 'logSoftmaxGather'
  | 'logSoftmaxGatherBackward'
  | 'normRotary'
  | 'normRotaryBackward'
  | 'pack'
  | 'products'
  | 'rmsNorm'
  | 'rmsNormBackward'
  | 'rmsNormWeight'
  | 'rotary'
  | 'scaleBlocks'
  | 'scatterAddRows'
  | 'scatterRows'
  | 'segmentSum'
  | 'sumFirst'
  | 'sumLast'
  | 'sumSquares'
  | 'swiglu'
  | 'swigluBackward'
  | 'unary';

type RunShards = (job: number, args: number, shards: number) => void;

export const maxShards = 60_000;

/** How many equal pieces of at least `least` elements `size` elements make. */
export function pieces(size: number, least: number): { count: number; each: number } {
  const each = Math.max(least, Math.ceil(size / maxShards / 16) * 16);
  return { count: Math.ceil(size / each), each };
}

export class Jobs {
  readonly threads: number;
  readonly tileRows: number;
  readonly tileColumns: number;
  readonly scratch: number;
  readonly scratchBytes: number;
  /** Limits of one item of attention: queries times query heads of a key head, and head size. */
  readonly mostRows: number;
  readonly mostSize: number;
  /** Address at which the arena may begin. */
  readonly reservedBytes: number;
  readonly #exports: Readonly<Record<string, unknown>>;
  readonly #runAlone: RunShards;
  readonly #runJob: RunShards;
  readonly #arguments: number;
  readonly #integers: Int32Array;
  readonly #floats: Float32Array;
  readonly #staged: Int32Array;
  readonly #ids = new Map<JobName, number>();
  readonly #settle: () => void;

  /** `settle` is called after every job: see platform.ts. */
  constructor(
    exports: Readonly<Record<string, unknown>>,
    memory: WasmMemory,
    threads: number,
    settle: () => void = () => {},
  ) {
    const figure = (name: string) => (exports[name] as WasmGlobal).value;
    this.#exports = exports;
    this.threads = threads;
    this.#settle = settle;
    this.tileRows = figure('TILE_ROWS');
    this.tileColumns = figure('TILE_COLUMNS');
    this.scratch = figure('SHARED_SCRATCH');
    this.scratchBytes = figure('SHARED_SCRATCH_BYTES');
    this.reservedBytes = figure('THREAD_SCRATCH') + threads * figure('THREAD_SCRATCH_BYTES');
    this.mostRows = figure('MOST_ROWS');
    this.mostSize = figure('MOST_SIZE');
    this.#arguments = figure('ARGUMENTS');
    this.#integers = new Int32Array(memory.buffer, this.#arguments, 64);
    this.#floats = new Float32Array(memory.buffer, this.#arguments, 64);
    this.#staged = new Int32Array(memory.buffer, this.scratch, this.scratchBytes / 4);
    this.#runAlone = exports['runAlone'] as RunShards;
    this.#runJob = exports['runJob'] as RunShards;
  }

  /** Runs a job, given the fields of its class in kernels/*.ts in order: integers and addresses first, then floats. */
  run(name: JobName, shards: number, integers: readonly number[], floats: readonly number[] = []): void {
    if (shards === 0) return;
    let field = 0;
    for (const value of integers) this.#integers[field++] = value;
    for (const value of floats) this.#floats[field++] = value;
    const run = shards === 1 || this.threads === 1 ? this.#runAlone : this.#runJob;
    const id = this.#id(name);
    try {
      run(id, this.#arguments, shards);
      this.#settle();
    } catch (cause) {
      throw new DeviceError(
        {
          call: `wasm kernel ${name}`,
          expected: 'all its shards to finish',
          found: String(cause),
          fix: 'A kernel or its arguments are at fault; this device is of no further use.',
        },
        { cause },
      );
    }
  }

  /** Copies whole numbers to the start of the shared scratch and returns their address. */
  stage(numbers: ArrayLike<number>): number {
    if (4 * numbers.length > this.scratchBytes) {
      throw new DeviceError({
        call: 'wasm: stage a plan',
        expected: `at most ${this.scratchBytes} bytes`,
        found: `${4 * numbers.length}`,
        fix: 'Use fewer segments in one call.',
      });
    }
    this.#staged.set(numbers);
    return this.scratch;
  }

  /** Lets the main thread sleep while it waits for workers, which a browser's page may not do. */
  allowSleep(): void {
    (this.#exports['allowSleep'] as () => void)();
  }

  /** Number of workers that sleep, having found nothing to do for a while. */
  get sleepers(): number {
    return (this.#exports['countSleepers'] as () => number)();
  }

  stop(): void {
    (this.#exports['stopWorkers'] as () => void)();
  }

  #id(name: JobName): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    const exported = this.#exports[`Job.${name}`] as WasmGlobal | undefined;
    if (exported === undefined) {
      throw new DeviceError({
        call: `wasm kernel ${name}`,
        expected: 'a kernel of this name in the module',
        found: 'none',
        fix: 'Run `npm run build:kernels`.',
      });
    }
    this.#ids.set(name, exported.value);
    return exported.value;
  }
}
