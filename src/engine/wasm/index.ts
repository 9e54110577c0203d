/**
 * The embedded default device: SIMD kernels in WebAssembly, threads over shared memory, the same bytes in Node and in a
 * browser.
 */
import { DeviceError } from '../../base/index.ts';
import { WasmDevice } from './device.ts';
import { Jobs } from './jobs.ts';
import { canShareMemory, canSleep, countCores, setEngineFlags, settleRegisters, startWorker } from './platform.ts';
import { chooseBuild, type LoadModule, loadPackagedModule, type Variant } from './variants.ts';
import { growMemory, pageBytes, type WasmMemory, webAssembly } from './webassembly.ts';

export { WasmDevice } from './device.ts';
export type { LoadModule, Variant } from './variants.ts';

export interface WasmOptions {
  /** Number of threads. Default: the cores available, at most 8; 1 where memory cannot be shared. */
  readonly threads?: number;
  /** The most that the memory grows to: default 1 GiB, at most 4 GiB. */
  readonly arenaBytes?: number;
  /** Build of the kernels. Default 'auto': the fastest by a short timing. Use 'plain' for the same bytes on every machine. */
  readonly variant?: Variant | 'auto';
  /** Whether to set the one V8 flag that unlocks the fast variant; default true. GQ_WASM_FLAGS=off in the environment wins. */
  readonly engineFlags?: boolean;
  /** Gives the bytes of a .wasm file, where a bundle has them elsewhere than in the folder `kernels` beside it: docs/interop.md, "Bundles". */
  readonly loadModule?: LoadModule;
}

const mostThreads = 64;
const defaultThreads = 8;
const gibibyte = 2 ** 30;
/** Addresses have 32 bits, and kernels may read a little past a tensor: the last page is never handed out. */
const mostBytes = 4 * gibibyte;
/** What it begins with. */
const leastBytes = 2 ** 26;

export async function createWasmDevice(options: WasmOptions = {}): Promise<WasmDevice> {
  const { arenaBytes = gibibyte, variant = 'auto', engineFlags = true, loadModule = loadPackagedModule } = options;
  const threads = await checkThreads(options.threads);
  if (engineFlags) await setEngineFlags();
  const shared = canShareMemory();
  const memory = makeMemory(arenaBytes, shared);
  const { module, exports, ...build } = await chooseBuild(variant, memory, shared, loadModule);
  const settle = await settleRegisters();
  settle();
  const jobs = new Jobs(exports, memory, threads, settle);
  if (canSleep) jobs.allowSleep();
  const most = Math.ceil(arenaBytes / pageBytes) * pageBytes;
  growMemory(memory, Math.min(jobs.reservedBytes, most), most);
  const others = Array.from({ length: threads - 1 }, (_, index) => index + 1);
  const workers = await Promise.all(others.map((thread) => startWorker({ module, memory, thread })));
  return new WasmDevice({ ...build, memory, arenaEnd: most - pageBytes, jobs, workers });
}

async function checkThreads(asked: number | undefined): Promise<number> {
  if (asked === undefined) return canShareMemory() ? Math.min(defaultThreads, await countCores()) : 1;
  if (!Number.isInteger(asked) || asked < 1 || asked > mostThreads) {
    throw new DeviceError({ call: 'createWasmDevice', expected: `1 to ${mostThreads} threads`, found: `${asked}` });
  }
  if (asked > 1 && !canShareMemory()) {
    throw new DeviceError({
      call: 'createWasmDevice',
      expected: `shared memory for ${asked} threads`,
      found: 'a page that is not cross-origin isolated',
      fix: 'Serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp, or use threads: 1.',
    });
  }
  return asked;
}

function makeMemory(arenaBytes: number, shared: boolean): WasmMemory {
  const pages = Math.ceil(arenaBytes / pageBytes);
  if (!(arenaBytes >= leastBytes && arenaBytes <= mostBytes)) {
    throw new DeviceError({ call: 'createWasmDevice', expected: '64 MiB to 4 GiB', found: `${arenaBytes} bytes` });
  }
  try {
    // What is not shared loses every view of it when it grows, so it has its whole size at once.
    return new webAssembly.Memory({ initial: shared ? leastBytes / pageBytes : pages, maximum: pages, shared });
  } catch (cause) {
    throw new DeviceError(
      {
        call: 'createWasmDevice',
        expected: `${arenaBytes} bytes of memory`,
        found: String(cause),
        fix: 'Ask for less with arenaBytes.',
      },
      { cause },
    );
  }
}
