/**
 * GFLOP/s of matrix products by kernel variant and threads, against the processor's own peak and OpenBLAS where it is
 * installed. Each figure is the best of many short runs. In a shape M×K×N, "bᵀ" and "aᵀ" are operands that lie the other
 * way round, and "frozen" a weight whose packed layout is kept.
 *   node bench/gemm.ts [--variant plain|relaxed|wide] [--threads 1,2] [--seconds 0.25] [--only text]
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Scope } from '../src/engine/index.ts';
import { createWasmDevice, type Variant } from '../src/engine/wasm/index.ts';
import { measureNativePeaks, type Peak } from './native-peak.ts';
import { loadOpenBlas, type Sgemm, type Shape } from './openblas.ts';

interface Case extends Shape {
  readonly name: string;
  readonly frozen: boolean;
}

const { values: options } = parseArgs({
  options: {
    variant: { type: 'string', default: 'plain,relaxed,wide' },
    threads: { type: 'string', default: '1,2' },
    seconds: { type: 'string', default: '0.25' },
    only: { type: 'string', default: '' },
  },
});
const threadCounts = options.threads.split(',').map(Number);
const seconds = Number(options.seconds);

const shapes: readonly [number, number, number][] = [
  [2048, 256, 256],
  [4096, 256, 1024],
  [64, 256, 1024],
  [256, 4096, 1024],
  [8192, 192, 32],
  [8192, 16, 192],
];
const ways = [
  { way: '', transposeA: false, transposeB: false, frozen: false },
  { way: ' frozen', transposeA: false, transposeB: false, frozen: true },
  { way: ' bᵀ', transposeA: false, transposeB: true, frozen: false },
  { way: ' bᵀ frozen', transposeA: false, transposeB: true, frozen: true },
  { way: ' aᵀ', transposeA: true, transposeB: false, frozen: false },
];
const cases: Case[] = shapes
  .flatMap(([rows, depth, columns]) =>
    ways.map(({ way, ...rest }) => ({ name: `${rows}×${depth}×${columns}${way}`, rows, depth, columns, ...rest })),
  )
  .filter(({ name }) => name.includes(options.only));

/** GFLOP/s of the fastest call. */
function fastest({ rows, depth, columns }: Shape, call: () => void): number {
  let bestMs = Number.POSITIVE_INFINITY;
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const start = performance.now();
    call();
    bestMs = Math.min(bestMs, performance.now() - start);
  }
  return (2 * rows * depth * columns) / bestMs / 1e6;
}

const operand = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i));

async function measureVariant(variant: Variant, threads: number): Promise<Map<string, number>> {
  using device = await createWasmDevice({ variant, threads });
  const results = new Map<string, number>();
  for (const product of cases) {
    const { rows, depth, columns, transposeA, transposeB, frozen } = product;
    using scope = new Scope(device);
    const a = scope.from(operand(rows * depth), transposeA ? [depth, rows] : [rows, depth], 'a');
    const b = scope.from(operand(depth * columns), transposeB ? [columns, depth] : [depth, columns], 'b');
    const c = scope.empty([rows, columns], 'c');
    if (frozen) device.freeze(b);
    const call = () => device.kernels.matmul(c, a, b, { transposeA, transposeB, accumulate: false });
    results.set(product.name, fastest(product, call));
  }
  return results;
}

function measureOpenBlas(blas: Sgemm, threads: number): Map<string, number> {
  blas.setThreads(threads);
  const results = new Map<string, number>();
  for (const product of cases.filter(({ frozen }) => !frozen)) {
    const { rows, depth, columns } = product;
    const [a, b, c] = [operand(rows * depth), operand(depth * columns), new Float32Array(rows * columns)];
    results.set(
      product.name,
      fastest(product, () => blas.multiply(c, a, b, product)),
    );
  }
  return results;
}

function peakOf(peaks: readonly Peak[], threads: number, bits: number): number | undefined {
  return peaks.find((peak) => peak.threads === threads && peak.bits === bits)?.gflops;
}

function printTable(
  threads: number,
  columns: ReadonlyMap<string, ReadonlyMap<string, number>>,
  peaks: readonly Peak[],
) {
  const widths = [256, 512].filter((bits) => peakOf(peaks, threads, bits) !== undefined);
  const cell = (gflops: number | undefined) => {
    if (gflops === undefined) return '';
    const shares = widths.map((bits) => `${Math.round((100 * gflops) / (peakOf(peaks, threads, bits) ?? 1))}%`);
    return [gflops.toFixed(1), ...shares].join(' / ');
  };
  const note =
    widths.length > 0 ? ` (GFLOP/s${widths.map((bits) => ` / share of the ${bits}-bit peak`).join('')})` : '';
  console.log(`\n${threads} thread${threads > 1 ? 's' : ''}${note}`);
  console.log(['M×K×N'.padEnd(28), ...[...columns.keys()].map((name) => name.padStart(18))].join(''));
  for (const { name } of cases) {
    const cells = [...columns.values()].map((column) => cell(column.get(name)).padStart(18));
    console.log([name.padEnd(28), ...cells].join(''));
  }
}

const peaks = measureNativePeaks(threadCounts);
console.log(`Node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`);
if (peaks === undefined) console.log('native peak: no C compiler (cc) here');
for (const { bits, threads, gflops } of peaks ?? []) {
  console.log(`native peak, ${bits} bit, ${threads} thread(s): ${gflops.toFixed(1)} GFLOP/s`);
}
const blas = await loadOpenBlas();
console.log(typeof blas === 'string' ? `OpenBLAS: not installed (${blas})` : `OpenBLAS: ${blas.library}`);
for (const threads of threadCounts) {
  const columns = new Map<string, ReadonlyMap<string, number>>();
  for (const variant of options.variant.split(',') as Variant[]) {
    columns.set(variant, await measureVariant(variant, threads));
  }
  if (typeof blas !== 'string') columns.set('OpenBLAS', measureOpenBlas(blas, threads));
  printTable(threads, columns, peaks ?? []);
}
