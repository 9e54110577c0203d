/**
 * What differs between Node and a browser: reading a module, counting cores, starting a worker, the engine's flags.
 * Node's modules are imported on use, so that this file loads in a browser as it is.
 */
import * as page from './platform-browser.ts';

export type { RunningWorker } from './platform-browser.ts';

const isNode = typeof process === 'object' && typeof process.versions?.node === 'string';

/** Whether this thread may sleep while it waits for others. */
export const canSleep = isNode || page.canSleep;

/** Gives the thread back for a moment, in which signals, messages and timers are heard. */
export function pause(): Promise<void> {
  return isNode ? new Promise((resolve) => void setImmediate(resolve)) : page.pause();
}

/** Whether memory can be shared with workers here. */
export function canShareMemory(): boolean {
  return isNode || page.canShareMemory();
}

export async function countCores(): Promise<number> {
  if (!isNode) return page.countCores();
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
  // webpack puts a string in the place of the inner address.
  const url = new URL(new URL(`./kernels/${name}.wasm`, import.meta.url));
  if (!isNode || url.protocol !== 'file:') return page.loadModuleBytes(name);
  const { readFile } = await import('node:fs/promises');
  return readFile(url).catch((cause: unknown) => {
    throw page.missingKernels(url, String(cause), cause);
  });
}

/** Resolves when the worker is about to wait for its first job. It never keeps the process alive. */
export async function startWorker(start: page.WorkerStart): Promise<page.RunningWorker> {
  if (!isNode) return page.startWorker(start);
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(page.workerCode, {
    eval: true,
    workerData: start,
    execArgv: [],
    name: `wasm-${start.thread}`,
  });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', (cause) => reject(page.workerFailed(start.thread, cause)));
  });
  worker.unref();
  return { terminate: () => void worker.terminate() };
}
