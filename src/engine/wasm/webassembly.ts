/**
 * The few parts of the WebAssembly interface that the device uses, typed here because neither the language's library nor
 * Node's types declare them without the browser's.
 */
export interface WasmMemory {
  readonly buffer: SharedArrayBuffer | ArrayBuffer;
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
