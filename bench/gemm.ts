/**
 * GFLOP/s of matrix products by kernel variant and threads, as shares of the processor's own 256-bit peak, and of OpenBLAS
 * where it is installed. All products and the peak are timed in turns, round after round: a share is a product's rate over the
 * peak right before and after it, as the median of the turns and as their ninth decile (a moment without neighbours); the
 * GFLOP/s beside them are those of the fastest turn. In a shape M×K×N, "bᵀ" and "aᵀ" are operands that lie the other way
 * round, and "frozen" is a weight whose packed layout is kept.
 *   node bench/gemm.ts [--variant plain|relaxed|wide] [--threads 1,2] [--seconds 0.25] [--only text]
 */
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Scope } from '../src/engine/index.ts';
import { createWasmDevice, type Variant } from '../src/engine/wasm/index.ts';
import { quantile } from '../src/stats/index.ts';
import { type NativePeak, openNativePeak } from './native-peak.ts';
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

interface Rate {
  readonly gflops: number;
  /** Shares of the peak beside each turn; undefined where there is no peak to measure. */
  readonly shares: readonly number[] | undefined;
}

const peak = await openNativePeak();
/** Calls of one turn take about this long. */
const turnMs = 2;

function peakNow(threads: number): number | undefined {
  return typeof peak === 'string' ? undefined : (peak as NativePeak).measure(threads);
}

function timeCalls(count: number, { call, finish }: Pick<Task, 'call' | 'finish'>): number {
  const start = performance.now();
  for (let i = 0; i < count; i++) call();
  finish();
  return performance.now() - start;
}

/** One product to time. */
interface Task {
  readonly product: Case;
  readonly call: () => void;
  /** Waits for the calls. */
  readonly finish: () => void;
}

/** Times all tasks in turns, round after round, so that every one of them meets the same moments. */
function measureTasks(tasks: readonly Task[], threads: number): Map<string, Rate> {
  const timed = tasks.map((task) => ({
    ...task,
    calls: Math.max(1, Math.round((2 * turnMs) / timeCalls(2, task))),
    turns: [] as { gflops: number; share: number }[],
  }));
  const end = performance.now() + seconds * 1000 * tasks.length;
  for (let round = 0; performance.now() < end || round < 5; round++) {
    for (const { product, calls, turns, ...task } of timed) {
      const before = peakNow(threads) ?? 1;
      timeCalls(1, task);
      const flops = 2 * product.rows * product.depth * product.columns;
      const gflops = (calls * flops) / timeCalls(calls, task) / 1e6;
      turns.push({ gflops, share: (2 * gflops) / (before + (peakNow(threads) ?? 1)) });
    }
  }
  return new Map(
    timed.map(({ product, turns }) => {
      const shares = typeof peak === 'string' ? undefined : turns.map(({ share }) => share);
      return [product.name, { gflops: Math.max(...turns.map(({ gflops }) => gflops)), shares }];
    }),
  );
}

const operand = (size: number) => Float32Array.from({ length: size }, (_, i) => Math.sin(i));

async function measureVariant(variant: Variant, threads: number): Promise<Map<string, Rate>> {
  using device = await createWasmDevice({ variant, threads });
  using scope = new Scope(device);
  const tasks = cases.map((product): Task => {
    const { rows, depth, columns, transposeA, transposeB, frozen } = product;
    const a = scope.from(operand(rows * depth), transposeA ? [depth, rows] : [rows, depth], 'a');
    const b = scope.from(operand(depth * columns), transposeB ? [columns, depth] : [depth, columns], 'b');
    const c = scope.empty([rows, columns], 'c');
    if (frozen) device.freeze(b);
    const call = () => device.kernels.matmul(c, a, b, { transposeA, transposeB, accumulate: false });
    return { product, call, finish: () => device.finish() };
  });
  return measureTasks(tasks, threads);
}

function measureOpenBlas(blas: Sgemm, threads: number): Map<string, Rate> {
  blas.setThreads(threads);
  const tasks = cases
    .filter(({ frozen }) => !frozen)
    .map((product): Task => {
      const { rows, depth, columns } = product;
      const [a, b, c] = [operand(rows * depth), operand(depth * columns), new Float32Array(rows * columns)];
      return { product, call: () => blas.multiply(c, a, b, product), finish: () => {} };
    });
  return measureTasks(tasks, threads);
}

function printTable(threads: number, columns: ReadonlyMap<string, ReadonlyMap<string, Rate>>): void {
  const cell = (rate: Rate | undefined): string => {
    if (rate === undefined) return '';
    const { shares } = rate;
    const parts = shares === undefined ? [] : [0.5, 0.9].map((at) => `${Math.round(100 * quantile(shares, at))}%`);
    return [rate.gflops.toFixed(1), ...parts].join(' / ');
  };
  console.log(
    `\n${threads} thread${threads > 1 ? 's' : ''} (GFLOP/s at best / share of the peak: median / ninth decile)`,
  );
  console.log(['M×K×N'.padEnd(28), ...[...columns.keys()].map((name) => name.padStart(22))].join(''));
  for (const { name } of cases) {
    const cells = [...columns.values()].map((column) => cell(column.get(name)).padStart(22));
    console.log([name.padEnd(28), ...cells].join(''));
  }
}

console.log(`Node ${process.version}, ${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores`);
if (typeof peak === 'string') console.log(`native peak: not measured, ${peak}`);
const blas = await loadOpenBlas();
console.log(typeof blas === 'string' ? `OpenBLAS: not installed (${blas})` : `OpenBLAS: ${blas.library}`);
// OpenBLAS first: after 256-bit code of V8 its old-style instructions would wait (see src/engine/wasm/platform.ts).
const peers = new Map<number, ReadonlyMap<string, Rate>>();
if (typeof blas !== 'string') for (const threads of threadCounts) peers.set(threads, measureOpenBlas(blas, threads));
for (const threads of threadCounts) {
  const peaks = Array.from({ length: 100 }, () => peakNow(threads) ?? 0);
  if (typeof peak !== 'string') {
    const [middle, best] = [quantile(peaks, 0.5), quantile(peaks, 1)].map((gflops) => gflops.toFixed(1));
    console.log(`native peak, ${threads} thread(s): median ${middle}, best ${best} GFLOP/s`);
  }
  const columns = new Map<string, ReadonlyMap<string, Rate>>();
  for (const variant of options.variant.split(',') as Variant[]) {
    columns.set(variant, await measureVariant(variant, threads));
  }
  const peer = peers.get(threads);
  if (peer !== undefined) columns.set('OpenBLAS', peer);
  printTable(threads, columns);
}
