/** Elementwise kernels, casts and reductions, in plain loops; sums in float64. */
import { bfloat16ToFloat, float16ToFloat, floatToBfloat16, floatToFloat16 } from '../../base/index.ts';
import type { BinaryKind, Kernels, Tensor, UnaryKind } from '../index.ts';
import type { Slab } from './memory.ts';

const unaryFunctions: Readonly<Record<UnaryKind, (x: number) => number>> = {
  exp: Math.exp,
  log: Math.log,
  sqrt: Math.sqrt,
  reciprocal: (x) => 1 / x,
  tanh: Math.tanh,
  square: (x) => x * x,
};

const binaryFunctions: Readonly<Record<BinaryKind, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  minimum: Math.min,
  maximum: Math.max,
  lessEqual: (a, b) => (a <= b ? 1 : 0),
};

type Names =
  | 'fill'
  | 'copy'
  | 'affine'
  | 'add'
  | 'unary'
  | 'binary'
  | 'clamp'
  | 'inside'
  | 'sumLast'
  | 'sumFirst'
  | 'segmentSum'
  | 'sumSquares'
  | 'countNonFinite';

export function referenceElementwiseKernels(slab: Slab): Pick<Kernels, Names> {
  const map = (out: Tensor, x: Tensor, f: (value: number) => number): void => {
    const source = slab.floats(x);
    const target = slab.floats(out);
    for (let i = 0; i < target.length; i++) target[i] = f(source[i]);
  };
  return {
    fill(out, value) {
      if (out.dtype === 'i32') slab.ints(out).fill(value);
      else slab.floats(out).fill(value);
    },
    copy: (out, input) => copy(slab, out, input),
    affine: (out, x, scale, shift) => map(out, x, (value) => scale * value + shift),
    add(out, x) {
      const source = slab.floats(x);
      const target = slab.floats(out);
      for (let i = 0; i < target.length; i++) target[i] += source[i];
    },
    unary: (kind, out, x) => map(out, x, unaryFunctions[kind]),
    binary(kind, out, a, b) {
      const f = binaryFunctions[kind];
      const left = slab.floats(a);
      const right = slab.floats(b);
      const target = slab.floats(out);
      for (let i = 0; i < target.length; i++) target[i] = f(left[i], right[i % right.length]);
    },
    clamp: (out, x, low, high) => map(out, x, (value) => Math.min(Math.max(value, low), high)),
    inside: (out, x, low, high) => map(out, x, (value) => (value >= low && value <= high ? 1 : 0)),
    ...reductions(slab),
  };
}

function reductions(
  slab: Slab,
): Pick<Kernels, 'sumLast' | 'sumFirst' | 'segmentSum' | 'sumSquares' | 'countNonFinite'> {
  return {
    sumLast(out, x) {
      const source = slab.floats(x);
      const target = slab.floats(out);
      const columns = target.length === 0 ? 0 : source.length / target.length;
      for (let n = 0; n < target.length; n++) {
        let sum = 0;
        for (let c = 0; c < columns; c++) sum += source[n * columns + c];
        target[n] = sum;
      }
    },
    sumFirst(out, x, accumulate) {
      const source = slab.floats(x);
      const target = slab.floats(out);
      for (let c = 0; c < target.length; c++) {
        let sum = accumulate ? target[c] : 0;
        for (let i = c; i < source.length; i += target.length) sum += source[i];
        target[c] = sum;
      }
    },
    segmentSum(out, x, ranges) {
      const source = slab.floats(x);
      const target = slab.floats(out);
      const range = slab.ints(ranges);
      const [segments, width] = out.shape;
      const columns = x.shape[1];
      for (let s = 0; s < segments; s++) {
        for (let c = 0; c < width; c++) {
          let sum = 0;
          for (let t = range[2 * s]; t < range[2 * s + 1]; t++) sum += source[t * columns + c];
          target[s * width + c] = sum;
        }
      }
    },
    sumSquares(out, x, accumulate) {
      const target = slab.floats(out);
      let sum = accumulate ? target[0] : 0;
      for (const value of slab.floats(x)) sum += value * value;
      target[0] = sum;
    },
    countNonFinite(out, x) {
      let count = 0;
      for (const value of slab.floats(x)) if (!Number.isFinite(value)) count++;
      slab.ints(out)[0] = count;
    },
  };
}

function copy(slab: Slab, out: Tensor, input: Tensor): void {
  if (input.dtype === 'i32') {
    slab.ints(out).set(slab.ints(input));
    return;
  }
  const values = readFloats(slab, input);
  if (out.dtype === 'f32') slab.floats(out).set(values);
  else {
    const narrow = out.dtype === 'bf16' ? floatToBfloat16 : floatToFloat16;
    const target = slab.halves(out);
    for (let i = 0; i < target.length; i++) target[i] = narrow(values[i]);
  }
}

function readFloats(slab: Slab, input: Tensor): Float32Array {
  if (input.dtype === 'f32') return slab.floats(input);
  const widen = input.dtype === 'bf16' ? bfloat16ToFloat : float16ToFloat;
  return Float32Array.from(slab.halves(input), widen);
}
