/**
 * Kernels called directly, for what no op reaches: accumulation, writing in place, casts, views at odd offsets, AdamW, caches.
 * Each case returns the tensors to compare with the reference device's.
 */
import { type Device, readFloats, Scope, type Shape, type Tensor } from '../../src/engine/index.ts';
import { normal } from './case.ts';
import { type Check, compare } from './suite.ts';

export interface KernelCase {
  readonly name: string;
  /** Whether every bit must agree, as for moves, casts and counts. */
  readonly exact: boolean;
  run(kernels: Device['kernels'], make: Make): readonly Tensor[];
}

interface Make {
  /** Makes a tensor that starts 12 bytes into its memory, so that no kernel can rely on alignment. */
  floats(name: string, shape: Shape, scale?: number): Tensor;
  from(data: Float32Array | Int32Array | Uint16Array, shape: Shape, dtype?: Tensor['dtype']): Tensor;
}

const sizes = [0, 1, 3, 7, 64, 1001, 40_000];
const kernelCase = (name: string, run: KernelCase['run'], exact = false): KernelCase => ({ name, exact, run });

const specials = [0, -0, 1, -1, 1e-8, -3e-6, 6.1e-5, 65504, 65520, 1e30, 3.4e38, 1e-40, Number.NaN];
const infinities = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];

function moves(): KernelCase[] {
  const cases = sizes.map((size) =>
    kernelCase(
      `fill, copy, add ${size}`,
      (kernels, make) => {
        const [a, b, c] = ['a', 'b', 'c'].map((name) => make.floats(name, [size]));
        kernels.fill(a, -2.5);
        kernels.copy(b, c);
        kernels.add(a, c);
        const whole = make.from(new Int32Array(size), [size]);
        kernels.fill(whole, 7);
        return [a, b, whole];
      },
      true,
    ),
  );
  const values = [...specials, ...infinities, ...normal('casts', [500], 3), ...normal('small', [500], 1e-5)];
  for (const dtype of ['bf16', 'f16'] as const) {
    cases.push(
      kernelCase(
        `copy f32 to ${dtype} and back`,
        (kernels, make) => {
          const source = make.from(Float32Array.from(values), [values.length]);
          const narrow = make.from(new Uint16Array(values.length), [values.length], dtype);
          const wide = make.floats('wide', [values.length]);
          const other = make.from(new Uint16Array(values.length), [values.length], dtype === 'bf16' ? 'f16' : 'bf16');
          kernels.copy(narrow, source);
          kernels.copy(wide, narrow);
          kernels.copy(other, narrow);
          return [narrow, wide, other];
        },
        true,
      ),
    );
  }
  cases.push(
    kernelCase(
      'gatherRows and scatterRows',
      (kernels, make) => {
        const [table, cache] = [make.floats('table', [9, 5]), make.floats('cache', [8, 3, 2])];
        const out = make.floats('out', [4, 5]);
        kernels.gatherRows(out, table, make.from(Int32Array.of(8, 0, 0, 3), [4]));
        kernels.scatterRows(cache, make.floats('new', [3, 3, 2]), make.from(Int32Array.of(7, 2, 4), [3]));
        return [out, cache];
      },
      true,
    ),
    kernelCase(
      'scatterPair of caches',
      (kernels, make) => {
        const filled = (name: string, shape: Shape): Tensor => make.from(normal(name, shape), shape);
        const [keys, values] = [filled('keys', [8, 3, 4]), filled('values', [8, 3, 4])];
        const [k, v] = [filled('k', [3, 3, 4]), filled('v', [3, 3, 4])];
        const index = make.from(Int32Array.of(7, 2, 4), [3]);
        if (kernels.scatterPair !== undefined) kernels.scatterPair([keys, values], [k, v], index);
        else {
          kernels.scatterRows(keys, k, index);
          kernels.scatterRows(values, v, index);
        }
        return [keys, values];
      },
      true,
    ),
    kernelCase('scatterAddRows with repeats', (kernels, make) => {
      const table = make.floats('table', [7, 33]);
      const index = Int32Array.from({ length: 100 }, (_, i) => (i * i) % 7);
      kernels.scatterAddRows(table, make.floats('x', [100, 33]), make.from(index, [100]));
      return [table];
    }),
    kernelCase(
      'advance',
      (kernels, make) => {
        const counters = make.from(
          Int32Array.from({ length: 15 }, (_, i) => i),
          [5, 3],
        );
        kernels.advance(counters, make.from(Int32Array.of(0, 1, -2), [3]));
        return [counters];
      },
      true,
    ),
  );
  return cases;
}

function inPlace(): KernelCase[] {
  return sizes.map((size) =>
    kernelCase(`elementwise in place ${size}`, (kernels, make) => {
      const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => make.floats(name, [size], 0.5));
      const other = make.floats('other', [size]);
      kernels.affine(a, a, 2, 0.5);
      for (const kind of ['add', 'subtract', 'multiply', 'minimum', 'maximum'] as const)
        kernels.binary(kind, a, a, other);
      kernels.clamp(b, b, -0.4, 0.3);
      kernels.inside(c, c, -0.2, 0.6);
      for (const kind of ['square', 'sqrt', 'tanh', 'exp', 'reciprocal', 'log'] as const) kernels.unary(kind, d, d);
      return [a, b, c, d];
    }),
  );
}

function reductions(): KernelCase[] {
  const shapes: readonly [number, number][] = [
    [1, 1],
    [0, 5],
    [3, 0],
    [70, 37],
    [4000, 3],
    [2, 9000],
  ];
  const cases = shapes.flatMap(([rows, columns]) => [
    kernelCase(`sumFirst, sumLast, sumSquares ${rows}×${columns}`, (kernels, make) => {
      const x = make.floats('x', [rows, columns]);
      const [first, last] = [make.floats('first', [columns]), make.floats('last', [rows])];
      const squares = make.floats('squares', [1]);
      kernels.sumFirst(first, x, true);
      kernels.sumLast(last, x);
      kernels.sumSquares(squares, x, false);
      kernels.sumSquares(squares, make.floats('more', [5]), true);
      return [first, last, squares];
    }),
  ]);
  cases.push(
    kernelCase('segmentSum', (kernels, make) => {
      const out = make.floats('out', [4, 6]);
      const ranges = make.from(Int32Array.of(0, 10, 10, 10, 10, 33, 40, 41), [4, 2]);
      kernels.segmentSum(out, make.floats('x', [50, 9]), ranges);
      return [out];
    }),
    kernelCase(
      'countNonFinite',
      (kernels, make) => {
        const data = Float32Array.from({ length: 5003 }, (_, i) => [1, Number.NaN, ...infinities, 3.4e38][i % 5]);
        const count = make.from(new Int32Array(1), [1]);
        kernels.countNonFinite(count, make.from(data, [5003]));
        return [count];
      },
      true,
    ),
  );
  return cases;
}

function products(): KernelCase[] {
  const shapes: readonly [number, number, number][] = [
    [1, 1, 1],
    [5, 0, 3],
    [7, 19, 11],
    [33, 300, 65],
    [130, 64, 48],
  ];
  return shapes.flatMap(([m, k, n]) =>
    [0, 1, 2, 3].map((bits) => {
      const [transposeA, transposeB] = [bits % 2 === 1, bits > 1];
      const name = `matmul accumulate ${m}×${k}×${n}${transposeA ? ' aᵀ' : ''}${transposeB ? ' bᵀ' : ''}`;
      return kernelCase(name, (kernels, make) => {
        const out = make.floats('out', [m, n]);
        const a = make.floats('a', transposeA ? [k, m] : [m, k]);
        const b = make.floats('b', transposeB ? [n, k] : [k, n]);
        kernels.matmul(out, a, b, { transposeA, transposeB, accumulate: true });
        return [out];
      });
    }),
  );
}

function layers(): KernelCase[] {
  return [
    ...[true, false].map((accumulate) =>
      kernelCase(`rmsNormBackward ${accumulate ? 'added' : 'without dWeight'}`, (kernels, make) => {
        const [dx, dy, x, out] = ['dx', 'dy', 'x', 'out'].map((name) => make.floats(name, [21, 37]));
        const [weight, dWeight, inverse] = [make.floats('w', [37]), make.floats('dw', [37]), make.floats('r', [21])];
        kernels.rmsNorm(out, inverse, x, weight, 1e-6);
        kernels.rmsNormBackward(dx, accumulate ? dWeight : null, dy, x, weight, inverse, accumulate);
        return [out, inverse, dx, dWeight];
      }),
    ),
    kernelCase('rotary there and back, in place', (kernels, make) => {
      const [x, table] = [make.floats('x', [6, 3, 10]), make.floats('table', [9, 10])];
      const positions = make.from(Int32Array.of(0, 8, 3, 3, 1, 7), [6]);
      kernels.rotary(x, x, positions, table, false);
      const turned = make.floats('turned', [6, 3, 10]);
      kernels.rotary(turned, x, positions, table, true);
      return [x, turned];
    }),
    kernelCase('swiglu and its gradient, in place', (kernels, make) => {
      const [gate, up, dy, out] = ['gate', 'up', 'dy', 'out'].map((name) => make.floats(name, [1003], 3));
      kernels.copy(out, gate);
      kernels.swiglu(out, out, up);
      kernels.swigluBackward(gate, up, dy, gate, up);
      return [out, gate, up];
    }),
    kernelCase('logSoftmaxGather and its gradient', (kernels, make) => {
      const logits = make.floats('logits', [13, 259], 4);
      const [logp, normaliser, dLogp] = ['logp', 'lse', 'dLogp'].map((name) => make.floats(name, [13]));
      const targets = make.from(
        Int32Array.from({ length: 13 }, (_, i) => (i * 97) % 259),
        [13],
      );
      kernels.logSoftmaxGather(logp, normaliser, logits, targets);
      kernels.logSoftmaxGatherBackward(logits, normaliser, targets, dLogp);
      return [logp, normaliser, logits];
    }),
    ...[1, 3, 8].map((rank) =>
      kernelCase(`scaleBlocks rank ${rank}`, (kernels, make) => {
        const [h, c] = [make.floats('h', [19, 4 * rank]), make.floats('c', [19, 2])];
        const [first, second] = ['first', 'second'].map((name) => make.floats(name, [19, 2 * rank]));
        const whole = make.floats('whole', [19, 4 * rank]);
        kernels.scaleBlocks(first, h, c, rank, 0);
        kernels.scaleBlocks(second, h, c, rank, 2 * rank);
        kernels.scaleBlocks(whole, h, c, rank, 0);
        return [first, second, whole];
      }),
    ),
    ...(['first', 'second'] as const).map((hold) =>
      kernelCase(`adamw that holds the ${hold} moment`, (kernels, make) => {
        const [value, gradient, m, v] = ['value', 'gradient', 'm', 'v'].map((name) => make.floats(name, [700]));
        const norm = make.floats('norm', [1]);
        kernels.unary('square', v, v);
        kernels.sumSquares(norm, gradient, false);
        const rates = { learningRate: 0.02, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1 };
        kernels.adamw(value, gradient, m, v, null, norm, { ...rates, step: 2, maxNorm: 0.7, hold });
        return [value, m, v];
      }),
    ),
    ...[1, 700, 30_000].map((size) =>
      kernelCase(`adamw ${size}`, (kernels, make) => {
        const [value, m, v, goal] = ['value', 'm', 'v', 'goal'].map((name) => make.floats(name, [size]));
        const norm = make.floats('norm', [1]);
        for (const moment of [m, v]) kernels.fill(moment, 0);
        for (let step = 1; step <= 3; step++) {
          const gradient = make.floats(`gradient ${step}`, [size]);
          kernels.sumSquares(norm, gradient, false);
          const rates = { learningRate: 0.02, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1 };
          kernels.adamw(value, gradient, m, v, step === 2 ? null : goal, norm, { ...rates, step, maxNorm: 0.7 });
        }
        return [value, m, v];
      }),
    ),
  ];
}

export function kernelCases(): KernelCase[] {
  return [...moves(), ...inPlace(), ...reductions(), ...products(), ...layers()];
}

type KernelOutputs = readonly (Float32Array | Int32Array | Uint16Array)[];

export async function runKernels(device: Device, { run }: KernelCase): Promise<KernelOutputs> {
  using scope = new Scope(device);
  const outputs = run(device.kernels, {
    floats(name, shape, scale = 1) {
      const data = normal(name, shape, scale);
      const padded = new Float32Array(data.length + 3);
      padded.set(data, 3);
      return scope.from(padded, [padded.length], name).view(shape, 3);
    },
    from: (data, shape, dtype) => scope.from(data, shape, 'data', dtype),
  });
  return Promise.all(outputs.map((tensor) => (tensor.dtype === 'f32' ? readFloats(tensor) : device.read(tensor))));
}

export async function compareKernels(
  device: Device,
  reference: Device,
  kernel: KernelCase,
  bound: number,
): Promise<Check[]> {
  return compareKernelOutputs(kernel, await runKernels(device, kernel), await runKernels(reference, kernel), bound);
}

/** Compares each output with another device's; `exact` cases bit by bit. */
export function compareKernelOutputs(
  kernel: KernelCase,
  found: KernelOutputs,
  expected: KernelOutputs,
  bound: number,
): Check[] {
  return expected.map((values, i) => {
    const quantity = `output ${i}`;
    if (!kernel.exact)
      return compare(kernel.name, quantity, Float32Array.from(found[i]), Float32Array.from(values), bound);
    const different = [...values.keys()].filter((at) => !Object.is(values[at], found[i][at])).length;
    return { case: kernel.name, quantity, maxAbs: different, maxRel: different, bound: 0, pass: different === 0 };
  });
}
