/**
 * The three builds of the kernels, and which one is the fastest here. `plain` multiplies, then adds: it runs everywhere
 * and gives the same bytes on every machine. `relaxed` and `wide` use the fused multiply-add where the hardware has it and
 * give each other's bytes; `wide` is shaped for engines that join two 128-bit operations into one of 256.
 */
import { DeviceError } from '../../base/index.ts';
import { Jobs } from './jobs.ts';
import { loadModuleBytes } from './platform.ts';
import { type WasmMemory, type WasmModule, webAssembly } from './webassembly.ts';

export type Variant = 'plain' | 'relaxed' | 'wide';
export type LoadModule = (variant: Variant, shared: boolean) => Promise<Uint8Array>;

export interface Build {
  readonly variant: Variant;
  readonly module: WasmModule;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly gflops: number;
}

/** A build as this process has compiled it, and its best speed so far; 0: not timed yet. */
interface Compiled {
  readonly module: WasmModule;
  gflops: number;
}

/** What is compiled and timed already. A process that opens many devices does both once, and all of them use the same build. */
const known = new WeakMap<LoadModule, Map<string, Compiled>>();

const roundMs = 5;
const rounds = 4;

export const loadPackagedModule: LoadModule = (variant, shared) =>
  loadModuleBytes(shared ? `${variant}-shared` : variant);

/** GFLOP/s of one thread on a product that fits the caches: the best batch, long enough for a clock of 0.1 ms. */
function measure(exports: Readonly<Record<string, unknown>>, memory: WasmMemory): number {
  const jobs = new Jobs(exports, memory, 1);
  const [rows, columns, depth, calls] = [24, 64, 256, 100];
  const b = jobs.reservedBytes;
  const a = b + columns * depth * 4;
  const c = a + rows * depth * 4;
  const rest = [rows, columns, 1, 1, columns * 4, depth * 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  let fastestMs = Number.POSITIVE_INFINITY;
  const end = performance.now() + roundMs;
  while (performance.now() < end) {
    const start = performance.now();
    for (let call = 0; call < calls; call++) jobs.run('gemm', 1, [c, a, b, rows, columns, depth, ...rest]);
    fastestMs = Math.min(fastestMs, performance.now() - start);
  }
  return (2 * rows * columns * depth * calls) / fastestMs / 1e6;
}

/** Undefined where this engine cannot compile the variant, which may change: its flags can be set later. */
async function compile(variant: Variant, shared: boolean, load: LoadModule): Promise<Compiled | undefined> {
  const compiled = known.get(load) ?? new Map<string, Compiled>();
  known.set(load, compiled);
  const name = `${variant}, ${shared ? 'shared' : 'own'} memory`;
  const before = compiled.get(name);
  if (before !== undefined) return before;
  const bytes = await load(variant, shared);
  if (!webAssembly.validate(bytes)) return undefined;
  const fresh = { module: await webAssembly.compile(bytes), gflops: 0 };
  compiled.set(name, fresh);
  return fresh;
}

/**
 * 'auto' times `wide` against `relaxed`, in turns, so that both meet the optimising compiler and the same neighbours. Their
 * bytes are the same: a mistimed choice costs speed, never a result. `plain` is taken where the others do not compile.
 */
export async function chooseBuild(
  wanted: Variant | 'auto',
  memory: WasmMemory,
  shared: boolean,
  load: LoadModule,
): Promise<Build> {
  const candidates = [];
  for (const variant of wanted === 'auto' ? (['wide', 'relaxed', 'plain'] as const) : [wanted]) {
    if (variant === 'plain' && candidates.length > 0) continue;
    const compiled = await compile(variant, shared, load);
    if (compiled === undefined) continue;
    const { exports } = new webAssembly.Instance(compiled.module, { env: { memory } });
    candidates.push({ variant, compiled, exports });
  }
  const isTimed = candidates.every(({ compiled }) => compiled.gflops > 0);
  for (let round = 0; round < (isTimed ? 0 : rounds); round++) {
    for (const { compiled, exports } of candidates) {
      compiled.gflops = Math.max(compiled.gflops, measure(exports, memory));
    }
  }
  const [best] = candidates.sort((a, b) => b.compiled.gflops - a.compiled.gflops);
  if (best === undefined) {
    throw new DeviceError({
      call: 'createWasmDevice',
      expected: `an engine that compiles the '${wanted}' kernels`,
      found: 'one without the WebAssembly features they need',
      fix: "Use variant 'plain', a newer engine, or leave GQ_WASM_FLAGS unset.",
    });
  }
  const { variant, compiled, exports } = best;
  return { variant, exports, ...compiled };
}
