/** Elementwise kernels and casts: which kernel, over how many threads. */
import { DeviceError } from '../../base/index.ts';
import type { AdamWOptions, BinaryKind, Kernels, UnaryKind } from '../index.ts';
import { bytesOf, type DType, describeTensor, momentsOf, type Tensor } from '../index.ts';
import type { KernelFile } from './compiler.ts';
import {
  definitionsOf,
  elementsPerAccess,
  float,
  type KernelArgument,
  LaunchTable,
  mostListed,
  type Queue,
} from './queue.ts';

type Names =
  | 'fill'
  | 'copy'
  | 'affine'
  | 'add'
  | 'unary'
  | 'binary'
  | 'clamp'
  | 'inside'
  | 'rotary'
  | 'swiglu'
  | 'swigluBackward'
  | 'swigluAgain'
  | 'scaleBlocks'
  | 'advance'
  | 'adamw';

const unaryKernels: Readonly<Record<UnaryKind, string>> = {
  exp: 'unaryExp',
  log: 'unaryLog',
  sqrt: 'unarySqrt',
  reciprocal: 'unaryReciprocal',
  tanh: 'unaryTanh',
  square: 'unarySquare',
};
const binaryKinds: readonly BinaryKind[] = ['add', 'subtract', 'multiply', 'divide', 'minimum', 'maximum', 'lessEqual'];
const casts: Readonly<Record<string, string>> = {
  'f32 bf16': 'f32ToBf16',
  'bf16 f32': 'bf16ToF32',
  'f32 f16': 'f32ToF16',
  'f16 f32': 'f16ToF32',
  'f16 bf16': 'f16ToBf16',
  'bf16 f16': 'bf16ToF16',
};

export function cudaElementwiseKernels(queue: Queue): Pick<Kernels, Names> {
  /** Launches a kernel whose arguments are the tensors (out first), the size, whether accesses are whole, and the rest. */
  const map = (name: string, tensors: readonly Tensor[], rest: readonly KernelArgument[] = []): void => {
    const [{ size, dtype }] = tensors;
    if (size === 0) return;
    const whole = queue.aligned(...tensors) ? 1 : 0;
    const shape = queue.over(size, elementsPerAccess(dtype));
    queue.launch('elementwise', name, definitionsOf(dtype), shape, [...tensors, size, whole, ...rest]);
  };
  const binary = (kind: BinaryKind, out: Tensor, a: Tensor, b: Tensor): void => {
    if (a.size > 0) map('binary', [out, a, b], [binaryKinds.indexOf(kind), b.size]);
  };
  return {
    fill: (out, value) => fill(queue, out, value),
    copy: (out, input) => copy(queue, out, input),
    affine: (out, x, scale, shift) => map('affine', [out, x], [float(scale), float(shift)]),
    add: (out, x) => binary('add', out, out, x),
    unary: (kind, out, x) => map(unaryKernels[kind], [out, x]),
    binary,
    clamp: (out, x, low, high) => map('clampTo', [out, x], [float(low), float(high)]),
    inside: (out, x, low, high) => map('inside', [out, x], [float(low), float(high)]),
    swiglu: (out, gate, up) => map('swiglu', [out, gate, up]),
    swigluBackward: (dGate, dUp, dy, gate, up) => map('swigluBackward', [dGate, dUp, dy, gate, up]),
    swigluAgain: (out, dGate, dUp, dy, gate, up) => map('swigluAgain', [out, dGate, dUp, dy, gate, up]),
    ...stridedKernels(queue),
  };
}

function stridedKernels(queue: Queue): Pick<Kernels, 'rotary' | 'scaleBlocks' | 'advance' | 'adamw'> {
  const run = (
    file: KernelFile,
    name: string,
    dtype: DType,
    size: number,
    parameters: readonly KernelArgument[],
  ): void => {
    if (size > 0) queue.launch(file, name, definitionsOf(dtype), queue.over(size), parameters);
  };
  return {
    rotary(out, x, positions, table, inverse) {
      const [, heads, headSize] = x.shape;
      const each = elementsPerAccess(x.dtype);
      const [name, step] =
        queue.aligned(out, x) && headSize % (2 * each) === 0
          ? (['rotaryPacks', each] as const)
          : (['rotary', 1] as const);
      const count = x.size / 2 / step;
      run('elementwise', name, x.dtype, count, [
        out,
        x,
        positions,
        table,
        count,
        heads,
        headSize,
        float(inverse ? -1 : 1),
      ]);
    },
    scaleBlocks(out, h, coefficients, rank, column) {
      const [, width] = out.shape;
      const each = elementsPerAccess(h.dtype);
      const [name, step] =
        queue.aligned(out, h) && rank % each === 0
          ? (['scaleBlockPacks', each] as const)
          : (['scaleBlocks', 1] as const);
      const count = out.size / step;
      run('elementwise', name, h.dtype, count, [out, h, coefficients, count, width, h.shape[1], rank, column]);
    },
    advance: (counters, by) => run('convert', 'advance', 'f32', counters.size, [counters, by, counters.size, by.size]),
    adamw(parameter, gradient, m, v, target, squaredNorm, options) {
      const tensors = [parameter, gradient, m, v, target, squaredNorm, parameter.size];
      run('convert', 'adamw', 'f32', parameter.size, [...tensors, ...constantsOf(options)]);
    },
  };
}

function constantsOf(options: AdamWOptions): KernelArgument[] {
  const { learningRate, epsilon, decay, maxNorm } = options;
  const { keep1, keep2, bias1, bias2 } = momentsOf(options);
  const unbiased = [1 / bias1, 1 / bias2];
  return [learningRate, keep1, keep2, epsilon, decay, ...unbiased, maxNorm].map(float);
}

/** AdamW of all parameters in one launch, each with the bytes of its own. */
export function laneStepKernels(queue: Queue): Pick<Kernels, 'adamwOf'> {
  const table = new LaunchTable(queue, 6);
  return {
    adamwOf(all, squaredNorm, options) {
      for (let first = 0; first < all.length; first += mostListed) {
        const some = all.slice(first, first + mostListed);
        some.forEach(({ parameter, gradient, m, v, target }, row) => {
          table.set(row, [parameter, gradient, m, v, target, parameter.size]);
        });
        const most = Math.max(...some.map(({ parameter }) => parameter.size));
        const { grid, block } = queue.over(most, 4);
        const shape = { grid: [grid[0], some.length], block } as const;
        queue.launch('convert', 'adamwOf', [], shape, [table, squaredNorm, ...constantsOf(options)]);
      }
    },
  };
}

function fill(queue: Queue, out: Tensor, value: number): void {
  if (out.size === 0) return;
  const { driver, stream } = queue.gpu;
  const what = `${describeTensor(out)} ${out.label}`;
  if (bytesOf[out.dtype] === 2 && (out.dtype === 'bf16' || value === 0)) {
    const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
    const rounded = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
    driver.call('cuMemsetD16Async', what, queue.address(out), rounded, out.size, stream);
    return;
  }
  if (out.dtype === 'f16')
    throw new DeviceError({ call: 'fill', expected: 'f32, bf16 or i32', found: describeTensor(out) });
  const [bits] = new Uint32Array((out.dtype === 'i32' ? Int32Array : Float32Array).of(value).buffer);
  driver.call('cuMemsetD32Async', what, queue.address(out), bits, out.size, stream);
}

function copy(queue: Queue, out: Tensor, input: Tensor): void {
  if (out.size === 0) return;
  const { driver, stream } = queue.gpu;
  if (out.dtype === input.dtype) {
    const bytes = out.size * bytesOf[out.dtype];
    const what = `${bytes} bytes of ${input.label}`;
    driver.call('cuMemcpyDtoDAsync', what, queue.address(out), queue.address(input), bytes, stream);
    return;
  }
  const kernel = casts[`${input.dtype} ${out.dtype}`];
  if (kernel === undefined) {
    throw new DeviceError({
      call: 'copy',
      expected: 'two float tensors or two of i32',
      found: `${describeTensor(input)} to ${describeTensor(out)}`,
    });
  }
  const whole = out.size % 4 === 0 && queue.aligned(out, input) ? 1 : 0;
  queue.launch('convert', kernel, [], queue.over(out.size, 4), [out, input, out.size, whole]);
}
