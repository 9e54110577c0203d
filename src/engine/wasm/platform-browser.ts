/**
 * The embedded device in a browser: where its modules are fetched from, how many cores there are, and how a worker is started. A bundle for a
 * browser has this file in the place of platform.ts (package.json, `browser`).
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
/** A page's own thread may not sleep; a worker may. */
export const canSleep = 'WorkerGlobalScope' in globalThis;

/** The worker's whole code, inline so that no file must be located. It says when it is ready, then lives in wasm until stopped. */
export const workerCode = `
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

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

export function canShareMemory(): boolean {
  return typeof SharedArrayBuffer === 'function' && browser.crossOriginIsolated === true;
}

export async function countCores(): Promise<number> {
  return browser.navigator?.hardwareConcurrency ?? 1;
}

/** A page cannot set flags of its engine. */
export async function setEngineFlags(): Promise<void> {}

export async function settleRegisters(): Promise<() => void> {
  return () => {};
}

export async function loadModuleBytes(name: string): Promise<Uint8Array> {
  const url = new URL(`./kernels/${name}.wasm`, import.meta.url);
  const response = await fetch(url).catch((cause: unknown) => {
    throw missingKernels(url, String(cause), cause);
  });
  if (!response.ok) throw missingKernels(url, `HTTP status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** What to do depends on whose folder lacks them: that of a clone, of the installed package, or of a bundle made with it. */
const missingFix = ({ pathname }: URL): string => {
  if (pathname.includes('/src/engine/wasm/kernels/')) return 'Run `npm run build:kernels` in the clone.';
  if (pathname.includes('/dist/engine/wasm/kernels/')) {
    return 'Install gradient-quarantine again; where it is installed by the path of a clone, run `npm run build` there.';
  }
  return (
    'In a bundle: copy the folder node_modules/gradient-quarantine/dist/engine/wasm/kernels beside the file that holds this code, or give ' +
    'createWasmDevice a loadModule that reads them (docs/interop.md, "Bundles").'
  );
};

export function missingKernels(url: URL, found: string, cause?: unknown): DeviceError {
  return new DeviceError(
    {
      call: 'createWasmDevice',
      expected: `the kernels at ${url.href}`,
      found,
      fix: missingFix(url),
    },
    { cause },
  );
}

export function workerFailed(thread: number, cause: unknown): DeviceError {
  const found = cause instanceof Error ? cause.message : String(cause);
  return new DeviceError({ call: 'createWasmDevice', expected: `thread ${thread} to start`, found }, { cause });
}

/** Resolves when the worker is about to wait for its first job. */
export function startWorker(start: WorkerStart): Promise<RunningWorker> {
  const worker = new browser.Worker(URL.createObjectURL(new Blob([workerCode], { type: 'text/javascript' })));
  return new Promise((resolve, reject) => {
    worker.onmessage = () => resolve(worker);
    worker.onerror = ({ message }) => reject(workerFailed(start.thread, message));
    worker.postMessage(start);
  });
}
