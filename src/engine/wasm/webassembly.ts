/**
 * The few parts of the WebAssembly interface that the device uses, typed here because neither the language's library nor
 * Node's types declare them without the browser's.
 */
import { OutOfMemoryError } from '../../base/index.ts';

export interface WasmMemory {
  /** Another one after the memory has grown. */
  readonly buffer: SharedArrayBuffer | ArrayBuffer;
  grow(pages: number): number;
}
export interface WasmModule {
  readonly [Symbol.toStringTag]: string;
}
export interface WasmGlobal {
  readonly value: number;
}

interface WebAssemblyInterface {
  validate(bytes: Uint8Array): boolean;
  compile(bytes: Uint8Array): Promise<WasmModule>;
  Instance: new (
    module: WasmModule,
    imports: { env: { memory: WasmMemory } },
  ) => { readonly exports: Readonly<Record<string, unknown>> };
  Memory: new (limits: { initial: number; maximum: number; shared: boolean }) => WasmMemory;
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyInterface }).WebAssembly;

export const pageBytes = 65536;
const growthBytes = 2 ** 24;

/** Has the memory reach to `end` in steps, up to `most` bytes. */
export function growMemory(memory: WasmMemory, end: number, most: number): void {
  const { byteLength } = memory.buffer;
  if (end <= byteLength) return;
  const wanted = Math.min(most, Math.ceil(end / growthBytes) * growthBytes);
  try {
    memory.grow((wanted - byteLength) / pageBytes);
  } catch (cause) {
    const [expected, found] = [`${wanted} bytes of memory`, `${byteLength}, and ${String(cause)}`];
    throw new OutOfMemoryError({ call: 'wasm: grow', expected, found, fix: 'Close other programs.' }, { cause });
  }
}
