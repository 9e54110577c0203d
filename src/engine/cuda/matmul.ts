/**
 * Matrix products. float32 and small depths use the device's own kernels, in which a row does not depend on how many rows there
 * are; bf16 products of larger depth go to the library. Both operands bf16 → tensor cores; a bf16 operand beside a float32 one
 * is widened first, which is exact.
 */
import type { Device } from '../device.ts';
import type { Kernels, MatmulOptions } from '../kernels.ts';
import { Scope } from '../scope.ts';
import type { Tensor } from '../tensor.ts';
import type { Blas } from './blas.ts';
import type { Queue } from './queue.ts';

/** Up to this depth products are summed in one piece by the device's own kernel. */
const ownDepth = 256;
/** Rows and columns of one block's part of the output. */
const tiles = { small: [32, 32], large: [128, 64], tensor: [128, 128], blocks: [128, 64] } as const;
/** Deepest bottleneck whose tiles fit the shared memory of one block. */
const mostBlockDepth = 256;
/** Tiles of columns that one block works through, where there are rows enough to keep the GPU busy. */
const longStrip = 4;
const fewRows = 1024;
const threads = 256;
const mostAlignment = 256;

interface Sizes {
  readonly batch: number;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

function sizesOf(out: Tensor, a: Tensor, { transposeA }: MatmulOptions): Sizes {
  const [M, N] = out.shape.slice(-2);
  const [rows, columns] = a.shape.slice(-2);
  return { batch: out.shape.length === 3 ? out.shape[0] : 1, M, N, K: transposeA ? rows : columns };
}

type Names = 'matmul' | 'blockProduct' | 'invert';

export function matmulKernels(queue: Queue, blas: Blas, home: () => Device): Pick<Kernels, Names> {
  return {
    matmul(out, a, b, options) {
      const sizes = sizesOf(out, a, options);
      if (out.size === 0) return;
      if (sizes.K === 0) {
        if (!options.accumulate) home().kernels.fill(out, 0);
        return;
      }
      if (a.dtype !== b.dtype || (a.dtype === 'f32' && out.dtype !== 'f32')) widened(home(), out, a, b, options);
      else if (a.dtype === 'f32') multiplyF32(queue, out, a, b, options, sizes);
      else if (sizes.K <= ownDepth || !multiplyLarge(queue, blas, out, a, b, options, sizes)) {
        multiplyBf16(queue, out, a, b, options, sizes);
      }
    },
    invert(out, x) {
      const [size] = x.shape;
      if (size === 0) return;
      using scope = new Scope(home());
      const work = scope.empty([4 * size * size], 'elimination');
      const shape = { grid: [1], block: threads, sharedBytes: 8 * size } as const;
      queue.launch('matmul', 'invert', [], shape, [out, x, work, size]);
    },
    blockProduct(out, h, weight, coefficients, rank) {
      const [rows, columns] = out.shape;
      const depth = h.shape[1];
      if (out.size === 0) return;
      const fits = rank % 16 === 0 && columns % 8 === 0 && depth <= mostBlockDepth;
      if (out.dtype !== 'bf16' || !fits || !queue.aligned(out, h, weight)) {
        multiplyBlocks(home(), out, h, weight, coefficients, rank);
        return;
      }
      const [tileRows, tileColumns] = tiles.blocks;
      const strip = rows <= fewRows ? 1 : longStrip;
      const grid = [Math.ceil(columns / (strip * tileColumns)), Math.ceil(rows / tileRows)] as const;
      const stages = Math.min(2, strip);
      const elements = tileRows * (depth + 8) + stages * (depth + tileRows) * (tileColumns + 8);
      const parameters = [out, h, weight, coefficients, rows, columns, depth, rank, strip];
      queue.launch('matmul', 'blockProduct', [], { grid, block: threads, sharedBytes: 2 * elements }, parameters);
    },
  };
}

/** The change is summed apart, then added. */
function multiplyBlocks(
  device: Device,
  out: Tensor,
  h: Tensor,
  weight: Tensor,
  coefficients: Tensor,
  rank: number,
): void {
  const { kernels } = device;
  using scope = new Scope(device);
  const half = 2 * rank;
  const scaled = scope.empty([h.shape[0], half], 'scaled bottleneck', h.dtype);
  const change = scope.empty(out.shape, 'change', out.dtype);
  for (let start = 0; start < h.shape[1]; start += half) {
    kernels.scaleBlocks(scaled, h, coefficients, rank, start);
    const options = { transposeA: false, transposeB: false, accumulate: start > 0 };
    kernels.matmul(change, scaled, weight.rows(start, start + half), options);
  }
  kernels.add(out, change);
}

/** In float32, then rounded to the output's type. */
function widened(device: Device, out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions): void {
  using scope = new Scope(device);
  const widen = (x: Tensor): Tensor => {
    if (x.dtype === 'f32') return x;
    const wide = scope.empty(x.shape, `${x.label} in float32`);
    device.kernels.copy(wide, x);
    return wide;
  };
  if (out.dtype === 'f32') {
    device.kernels.matmul(out, widen(a), widen(b), options);
    return;
  }
  const product = scope.empty(out.shape, 'product in float32');
  device.kernels.matmul(product, widen(a), widen(b), { ...options, accumulate: false });
  const rounded = options.accumulate ? scope.empty(out.shape, 'rounded product', out.dtype) : out;
  device.kernels.copy(rounded, product);
  if (options.accumulate) device.kernels.add(out, rounded);
}

function multiplyF32(queue: Queue, out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions, sizes: Sizes): void {
  const { batch, M, N, K } = sizes;
  const grid = ([rows, columns]: readonly [number, number]) =>
    [Math.ceil(N / columns), Math.ceil(M / rows), batch] as const;
  const blocks = grid(tiles.large).reduce((product, axis) => product * axis, 1);
  const size = blocks >= queue.gpu.facts.multiprocessors ? 'large' : 'small';
  const flags = [options.transposeA, options.transposeB, options.accumulate].map(Number);
  const name = size === 'large' ? 'matmulLarge' : 'matmulSmall';
  queue.launch('matmul', name, [], { grid: grid(tiles[size]), block: threads }, [out, a, b, M, N, K, ...flags]);
}

function multiplyBf16(queue: Queue, out: Tensor, a: Tensor, b: Tensor, options: MatmulOptions, sizes: Sizes): void {
  const { batch, M, N, K } = sizes;
  const { transposeA, transposeB, accumulate } = options;
  const inner = [transposeA ? M : K, transposeB ? K : N];
  const whole = queue.aligned(a, b) && inner.every((columns) => columns % 8 === 0);
  const outWhole = queue.aligned(out) && N % 8 === 0;
  const flags = [whole, outWhole, out.dtype === 'f32', accumulate].map(Number);
  const name = `matmul${transposeA ? 'T' : 'N'}${transposeB ? 'T' : 'N'}`;
  const [rows, columns] = tiles.tensor;
  const shape = { grid: [Math.ceil(N / columns), Math.ceil(M / rows), batch], block: threads } as const;
  queue.launch('matmul', name, [], shape, [out, a, b, M, N, K, ...flags]);
}

function multiplyLarge(
  queue: Queue,
  blas: Blas,
  out: Tensor,
  a: Tensor,
  b: Tensor,
  { transposeA, transposeB, accumulate }: MatmulOptions,
  { batch, M, N, K }: Sizes,
): boolean {
  const outType = out.dtype === 'f32' ? 'f32' : 'bf16';
  const addresses = { out: queue.address(out), a: queue.address(a), b: queue.address(b) };
  const alignments = [addresses.a, addresses.b, addresses.out].map(alignmentOf) as [number, number, number];
  const product = { batch, rows: M, columns: N, depth: K, transposeA, transposeB, outType, alignments } as const;
  return blas.multiply(product, addresses, accumulate);
}

function alignmentOf(address: number): number {
  let alignment = mostAlignment;
  while (address % alignment !== 0) alignment /= 2;
  return alignment;
}
