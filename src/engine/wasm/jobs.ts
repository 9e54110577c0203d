/**
 * The host's side of the job protocol (kernels/dispatch.ts): arguments go into a ring in the memory, then the job is queued, and the
 * calling thread goes on; `finish` waits for all jobs and works along. With one thread a job runs inside the call. How many shards a job
 * has depends on shapes alone, so results never depend on the number of threads.
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

/** Naps over one job before its thread counts as ended, of 10 ms each: a job takes milliseconds. */
const mostNaps = 12_000;

/** Bytes that a job's arguments take. */
const argumentBytes = 256;

/** One of the two halves of the ring: while one is filled, jobs of the other may still be under way. */
interface Half {
  readonly start: number;
  readonly end: number;
  /** How many jobs were queued when the half was full. */
  last: number;
}

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
  readonly #publish: RunShards;
  readonly #awaitJobs: (count: number) => void;
  readonly #integers: Int32Array;
  readonly #floats: Float32Array;
  readonly #ids = new Map<JobName, number>();
  readonly #settle: () => void;
  readonly #halves: readonly [Half, Half];
  readonly #mostInHalf: number;
  #half: Half;
  /** Where the next arguments go, and jobs queued since the half began. */
  #at: number;
  #inHalf = 0;
  /** Jobs queued so far, as the kernels count them, and how many of those are known to have ended. */
  #queued = 0;
  #ended = 0;
  #lastName: JobName = 'fill';

  /** `settle` is called when this thread has run kernels: see platform.ts. */
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
    const [start, bytes] = [figure('ARGUMENTS'), figure('ARGUMENTS_BYTES')];
    this.#halves = [
      { start, end: start + bytes / 2, last: 0 },
      { start: start + bytes / 2, end: start + bytes, last: 0 },
    ];
    this.#half = this.#halves[0];
    this.#at = start;
    this.#mostInHalf = figure('SLOTS') / 2;
    this.#integers = new Int32Array(memory.buffer);
    this.#floats = new Float32Array(memory.buffer);
    this.#runAlone = exports['runAlone'] as RunShards;
    this.#publish = exports['publish'] as RunShards;
    this.#awaitJobs = exports['awaitJobs'] as (count: number) => void;
  }

  /** Queues a job, given the fields of its class in kernels/*.ts in order: integers and addresses first, then floats. */
  run(name: JobName, shards: number, integers: readonly number[], floats: readonly number[] = []): void {
    if (shards === 0) return;
    const args = this.#reserve(argumentBytes);
    let field = args / 4;
    for (const value of integers) this.#integers[field++] = value;
    for (const value of floats) this.#floats[field++] = value;
    const id = this.#id(name);
    this.#lastName = name;
    if (this.threads === 1) {
      try {
        this.#runAlone(id, args, shards);
      } catch (cause) {
        this.#fail(cause);
      }
      this.#settle();
      this.#at = this.#half.start;
      return;
    }
    this.#publish(id, args, shards);
    this.#queued = (this.#queued + 1) | 0;
    this.#inHalf++;
  }

  /** Waits until every job has ended. Must come before the host looks at the memory or writes to it. */
  finish(): void {
    if (this.#ended === this.#queued) return;
    this.#await(this.#queued);
    this.#begin(this.#half);
  }

  /** Copies whole numbers, the first `length` of a list, for the next job to where it can read them, and returns their address. */
  stage(numbers: ArrayLike<number>, length = numbers.length): number {
    const bytes = 4 * length;
    if (bytes > this.scratchBytes) {
      throw new DeviceError({
        call: 'wasm: stage a plan',
        expected: `at most ${this.scratchBytes} bytes`,
        found: `${bytes}`,
        fix: 'Use fewer segments in one call.',
      });
    }
    // Long plans go to the shared scratch, which jobs under way may be using.
    const isLong = bytes + argumentBytes > this.#half.end - this.#half.start;
    if (isLong) this.finish();
    const address = isLong ? this.scratch : this.#reserve(bytes, argumentBytes);
    for (let i = 0; i < length; i++) this.#integers[address / 4 + i] = numbers[i];
    return address;
  }

  /** Takes a piece of the ring, which is there until the job that is queued next has ended; `more`: what that job takes itself. */
  #reserve(bytes: number, more = 0): number {
    if (this.#at + bytes + more > this.#half.end || this.#inHalf === this.#mostInHalf) {
      this.#half.last = this.#queued;
      const next = this.#half === this.#halves[0] ? this.#halves[1] : this.#halves[0];
      if (this.threads > 1) this.#await(next.last);
      this.#begin(next);
    }
    const address = this.#at;
    this.#at += bytes;
    return address;
  }

  #begin(half: Half): void {
    this.#half = half;
    this.#at = half.start;
    this.#inHalf = 0;
  }

  #await(count: number): void {
    if (((count - this.#ended) | 0) <= 0) return;
    try {
      this.#awaitJobs(count);
    } catch (cause) {
      this.#fail(cause);
    }
    this.#ended = count;
    this.#settle();
  }

  #fail(cause: unknown): never {
    (this.#exports['reportFailure'] as () => void)();
    throw new DeviceError(
      {
        call: `wasm kernel ${this.#lastName}, or one queued before it`,
        expected: 'all its shards to finish',
        ...((this.#exports['hasStalled'] as () => number)() === 0
          ? { found: String(cause), fix: 'A kernel or its arguments are at fault; this device is of no further use.' }
          : {
              found: 'a thread that does not go on',
              fix: 'Something ended a thread of this device, which is of no further use.',
            }),
      },
      { cause },
    );
  }

  /** Lets the main thread sleep while it waits for workers, which a browser's page may not do; `naps`: how often over one job. */
  allowSleep(naps = mostNaps): void {
    (this.#exports['allowSleep'] as (naps: number) => void)(naps);
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
