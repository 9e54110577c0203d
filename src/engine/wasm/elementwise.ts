/** Elementwise kernels, conversions and reductions: arguments and shards for kernels/{elementwise,convert,reduce}.ts. */
import { floatToBfloat16, floatToFloat16 } from '../../base/index.ts';
import type { BinaryKind, DType, Kernels, Tensor, UnaryKind } from '../index.ts';
import { type JobName, type Jobs, pieces } from './jobs.ts';

const unaryKinds: readonly UnaryKind[] = ['exp', 'log', 'sqrt', 'reciprocal', 'tanh', 'square'];
const binaryKinds: readonly BinaryKind[] = ['add', 'subtract', 'multiply', 'divide', 'minimum', 'maximum', 'lessEqual'];
const typeNumbers: Readonly<Record<DType, number>> = { f32: 0, i32: 0, bf16: 1, f16: 2 };

/** Elements worth a shard: of arithmetic that waits for memory, and of functions. */
const lightElements = 32768;
const heavyElements = 8192;
/** Columns of one shard where a shard owns columns: a cache line or more. */
const columnsEach = 32;
const bitsOf = new DataView(new ArrayBuffer(4));

interface ElementInputs {
  readonly kind?: number;
  readonly b?: number;
  readonly c?: number;
  readonly d?: number;
  readonly floats?: readonly number[];
  readonly least?: number;
}

/** Runs a job of kernels/elementwise.ts over `size` elements. */
export function runElements(
  jobs: Jobs,
  name: JobName,
  out: number,
  a: number,
  size: number,
  { kind = 0, b = 0, c = 0, d = 0, floats = [], least = lightElements }: ElementInputs = {},
): void {
  const { count, each } = pieces(size, least);
  jobs.run(name, count, [size, each, kind, out, a, b, c, d], floats);
}

/** The four bytes that a fill repeats. */
function fillPattern(dtype: DType, value: number): number {
  if (dtype === 'i32') return value;
  if (dtype === 'f32') bitsOf.setFloat32(0, value);
  else {
    const half = dtype === 'bf16' ? floatToBfloat16(value) : floatToFloat16(value);
    bitsOf.setUint16(0, half);
    bitsOf.setUint16(2, half);
  }
  return bitsOf.getInt32(0);
}

type Pointwise =
  | 'fill'
  | 'copy'
  | 'affine'
  | 'add'
  | 'unary'
  | 'binary'
  | 'clamp'
  | 'inside'
  | 'swiglu'
  | 'swigluBackward';

export function wasmElementwiseKernels(jobs: Jobs): Pick<Kernels, Pointwise> {
  return {
    fill(out, value) {
      if (out.dtype === 'f32' || out.dtype === 'i32') {
        runElements(jobs, 'fill', out.offset, 0, out.size, { kind: fillPattern(out.dtype, value) });
      } else jobs.run('fillHalves', 1, [out.offset, out.size, fillPattern(out.dtype, value)]);
    },
    copy(out, input) {
      if (out.dtype === input.dtype && out.dtype !== 'bf16' && out.dtype !== 'f16') {
        runElements(jobs, 'copyWords', out.offset, input.offset, out.size);
        return;
      }
      const { count, each } = pieces(out.size, lightElements);
      const types = [typeNumbers[input.dtype], typeNumbers[out.dtype]];
      jobs.run('convert', count, [out.size, each, input.offset, out.offset, ...types]);
    },
    affine: (out, x, scale, shift) =>
      runElements(jobs, 'affine', out.offset, x.offset, out.size, { floats: [scale, shift] }),
    add: (out, x) =>
      runElements(jobs, 'binary', out.offset, out.offset, out.size, { kind: 0, b: x.offset, d: out.size }),
    unary: (kind, out, x) =>
      runElements(jobs, 'unary', out.offset, x.offset, out.size, {
        kind: unaryKinds.indexOf(kind),
        least: kind === 'square' ? lightElements : heavyElements,
      }),
    binary: (kind, out, a, b) =>
      runElements(jobs, 'binary', out.offset, a.offset, out.size, {
        kind: binaryKinds.indexOf(kind),
        b: b.offset,
        d: b.size,
      }),
    clamp: (out, x, low, high) => runElements(jobs, 'clamp', out.offset, x.offset, out.size, { floats: [low, high] }),
    inside: (out, x, low, high) => runElements(jobs, 'inside', out.offset, x.offset, out.size, { floats: [low, high] }),
    swiglu: (out, gate, up) =>
      runElements(jobs, 'swiglu', out.offset, gate.offset, out.size, { b: up.offset, least: heavyElements }),
    swigluBackward: (dGate, dUp, dy, gate, up) =>
      runElements(jobs, 'swigluBackward', dGate.offset, gate.offset, dGate.size, {
        b: up.offset,
        c: dy.offset,
        d: dUp.offset,
        least: heavyElements,
      }),
  };
}

type Reductions = 'sumLast' | 'sumFirst' | 'segmentSum' | 'sumSquares' | 'countNonFinite';

export function reductionKernels(jobs: Jobs): Pick<Kernels, Reductions> {
  /** Computes the partial results of shards, then their sum. */
  const reduce = (name: 'sumSquares' | 'countNonFinite', out: Tensor, x: Tensor, accumulate: boolean) => {
    const { count, each } = pieces(x.size, lightElements);
    jobs.run(name, count, [0, x.size, each, 0, x.offset, 0, 0]);
    const isCount = name === 'countNonFinite' ? 1 : 0;
    jobs.run('gatherPartials', 1, [count, isCount, 0, out.offset, 0, 0, accumulate ? 1 : 0]);
  };
  return {
    sumLast(out, x) {
      const columns = out.size === 0 ? 0 : x.size / out.size;
      const { count, each } = pieces(out.size, rowsEach(columns));
      jobs.run('sumLast', count, [out.size, columns, each, out.offset, x.offset, 0, 0]);
    },
    sumFirst(out, x, accumulate) {
      const rows = out.size === 0 ? 0 : x.size / out.size;
      const { count, each } = pieces(out.size, columnsOfShard(rows, out.size));
      jobs.run('sumFirst', count, [rows, out.size, each, out.offset, x.offset, 0, accumulate ? 1 : 0]);
    },
    segmentSum(out, x, ranges) {
      const [segments, columns] = out.shape;
      const width = x.shape[1];
      const { count, each } = pieces(segments, rowsEach(x.size / Math.max(1, segments)));
      jobs.run('segmentSum', count, [segments, columns, each, out.offset, x.offset, ranges.offset, 0, width]);
    },
    sumSquares: (out, x, accumulate) => reduce('sumSquares', out, x, accumulate),
    countNonFinite: (out, x) => reduce('countNonFinite', out, x, false),
  };
}

/** Number of rows that have enough elements to be worth a shard. */
export function rowsEach(columns: number, elements = lightElements): number {
  return Math.max(1, Math.ceil(elements / Math.max(1, columns)));
}

/** Number of columns of a [rows, columns] tensor that a shard owns: all of them when there is little to do. */
export function columnsOfShard(rows: number, columns: number): number {
  return rows * columns < 2 * lightElements ? Math.max(columnsEach, columns) : columnsEach;
}
