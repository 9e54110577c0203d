/**
 * What differs between Node and a browser: reading a module, counting cores, starting a worker, the engine's flags.
 * Node's modules are imported on use, so that this file loads in a browser as it is.
 */
import { DeviceError } from '../../base/index.ts';
import type { WasmMemory, WasmModule } from './webassembly.ts';

export interface WorkerStart {
  readonly module: WasmModule;
  readonly memory: WasmMemory;
  readonly thread: number;
}

export interface RunningWorker {
  terminate(): void;
}

interface BrowserWorker {
  onmessage: (() => void) | null;
  onerror: ((event: { message?: string }) => void) | null;
  postMessage(data: unknown): void;
  terminate(): void;
}

interface BrowserScope {
  readonly crossOriginIsolated?: boolean;
  readonly navigator?: { readonly hardwareConcurrency?: number };
  readonly Worker: new (url: string) => BrowserWorker;
}

const browser = globalThis as unknown as BrowserScope;
export const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

/** The worker's whole code, inline so that no file must be located. It says when it is ready, then lives in wasm until stopped. */
const workerCode = `
function start({ module, memory, thread }, ready) {
  const { workerLoop, reportFailure } = new WebAssembly.Instance(module, { env: { memory } }).exports;
  ready();
  try { workerLoop(thread); } catch (error) { reportFailure(); throw error; }
}
if (typeof require === 'function') {
  const { parentPort, workerData } = require('node:worker_threads');
  start(workerData, () => parentPort.postMessage('ready'));
} else {
  onmessage = ({ data }) => { start(data, () => postMessage('ready')); close(); };
}`;

/** Gives the thread back for a moment, in which signals, messages and timers are heard. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    if (isNode) setImmediate(resolve);
    else setTimeout(resolve);
  });
}

/** Whether memory can be shared with workers here. */
export function canShareMemory(): boolean {
  return typeof SharedArrayBuffer === 'function' && (isNode || browser.crossOriginIsolated === true);
}

export async function countCores(): Promise<number> {
  if (!isNode) return browser.navigator?.hardwareConcurrency ?? 1;
  const { availableParallelism } = await import('node:os');
  return availableParallelism();
}

let flagsAreSet = false;
/** Whether V8 may join two operations on 128 bits into one on 256. */
let canJoinVectors = false;

/** Sets the one V8 flag that makes the fast variant available on this Node; call it before any module is compiled. */
export async function setEngineFlags(): Promise<void> {
  if (!isNode || flagsAreSet || process.env['GQ_WASM_FLAGS'] === 'off') return;
  flagsAreSet = true;
  const major = Number.parseInt(process.versions.node, 10);
  const flag =
    major < 22 ? '--experimental-wasm-relaxed-simd' : major >= 24 ? '--experimental-wasm-revectorize' : undefined;
  if (flag === undefined) return;
  const { setFlagsFromString } = await import('node:v8');
  setFlagsFromString(flag);
  canJoinVectors = major >= 24;
}

/**
 * Returns what to do after a job. V8's 256-bit code leaves the upper halves of the vector registers in use, and then every
 * instruction of the old encoding, of which Node itself is full, waits about 150 ns. Node's isAscii is the shortest way into
 * code that ends by clearing them (vzeroupper). Measured: decoding 1.3 times as fast.
 */
export async function settleRegisters(): Promise<() => void> {
  if (!isNode || process.arch !== 'x64' || !canJoinVectors) return () => {};
  const { isAscii } = await import('node:buffer');
  const bytes = new Uint8Array(16);
  return () => void isAscii(bytes);
}

export async function loadModuleBytes(name: string): Promise<Uint8Array> {
  const url = new URL(`./kernels/${name}.wasm`, import.meta.url);
  const missing = (cause: unknown, found: string) =>
    new DeviceError(
      {
        call: 'createWasmDevice',
        expected: `the kernels at ${url.href}`,
        found,
        fix: 'Run `npm run build:kernels`, or pass loadModule.',
      },
      { cause },
    );
  if (isNode && url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return readFile(url).catch((cause: unknown) => {
      throw missing(cause, String(cause));
    });
  }
  const response = await fetch(url);
  if (!response.ok) throw missing(undefined, `HTTP status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

function workerFailed(thread: number, cause: unknown): DeviceError {
  const found = cause instanceof Error ? cause.message : String(cause);
  return new DeviceError({ call: 'createWasmDevice', expected: `thread ${thread} to start`, found }, { cause });
}

/** Resolves when the worker is about to wait for its first job. It never keeps the process alive. */
export async function startWorker(start: WorkerStart): Promise<RunningWorker> {
  if (!isNode) return startBrowserWorker(start);
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(workerCode, { eval: true, workerData: start, execArgv: [], name: `wasm-${start.thread}` });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', (cause) => reject(workerFailed(start.thread, cause)));
  });
  worker.unref();
  return { terminate: () => void worker.terminate() };
}

function startBrowserWorker(start: WorkerStart): Promise<RunningWorker> {
  const worker = new browser.Worker(URL.createObjectURL(new Blob([workerCode], { type: 'text/javascript' })));
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve(worker);
    worker.onerror = ({ message }) => reject(workerFailed(start.thread, message));
    worker.postMessage(start);
  });
}
