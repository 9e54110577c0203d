/**
 * Matrix products. float32 and small depths use the device's own kernels, in which a row does not depend on how many rows there
 * are; bf16 products of larger depth go to the library. Both operands bf16 → tensor cores; a bf16 operand beside a float32 one
 * is widened first, which is exact.
 */
import type { Device, Kernels, MatmulOptions, Tensor } from '../index.ts';
import { Scope } from '../index.ts';
import type { Blas } from './blas.ts';
import { LaunchTable, mostListed, type Queue } from './queue.ts';

/** Up to this depth products are summed in one piece by the device's own kernel. */
export const ownDepth = 256;
/** Rows and columns of one block's part of the output. */
const tiles = { small: [32, 32], large: [128, 64], tensor: [128, 128] } as const;
const threads = 256;
const mostAlignment = 256;

export interface Sizes {
  readonly batch: number;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

function sizesOf(out: Tensor, a: Tensor, { transposeA }: Pick<MatmulOptions, 'transposeA'>): Sizes {
  const [M, N] = out.shape.slice(-2);
  const [rows, columns] = a.shape.slice(-2);
  return { batch: out.shape.length === 3 ? out.shape[0] : 1, M, N, K: transposeA ? rows : columns };
}

type Names = 'matmul' | 'matmulOnto' | 'invert';

/** With `independent` rows a row is computed in one way, whatever other rows there are: by one algorithm of the library for each shape. */
export function cudaMatmulKernels(
  queue: Queue,
  blas: Blas,
  home: () => Device,
  independent: boolean,
): Pick<Kernels, Names> {
  const byLibrary = (K: number, transposeA: boolean): boolean => K > ownDepth && !(independent && transposeA);
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
      else if (
        !byLibrary(sizes.K, options.transposeA) ||
        !multiplyLarge(queue, blas, out, options.accumulate ? out : null, a, b, options, sizes, false, independent)
      ) {
        multiplyBf16(queue, out, a, b, options, sizes);
      }
    },
    matmulOnto(out, addend, a, b, options) {
      const sizes = sizesOf(out, a, options);
      const whole = [out, a, b].every(({ dtype }) => dtype === 'bf16') && out.size > 0;
      const large = whole && byLibrary(sizes.K, options.transposeA);
      if (large && multiplyLarge(queue, blas, out, addend, a, b, options, sizes, false, independent)) return;
      home().kernels.copy(out, addend);
      home().kernels.matmul(out, a, b, { ...options, accumulate: true });
    },
    invert(out, x) {
      const [size] = x.shape;
      if (size === 0) return;
      using scope = new Scope(home());
      const work = scope.empty([4 * size * size], 'elimination');
      const shape = { grid: [1], block: threads, sharedBytes: 8 * size } as const;
      queue.launch('matmul', 'invert', [], shape, [out, x, work, size]);
    },
  };
}

/** The product in float32, then rounded to the output's type. */
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

/** Products of several lanes in one launch. Each has the bytes of `multiplyBf16`, of which it is a part. */
export function laneKernels(queue: Queue, home: () => Device): Pick<Kernels, 'laneProducts'> {
  const table = new LaunchTable(queue, 4);
  return {
    laneProducts(products, options) {
      const [{ out, a, b }] = products;
      if (
        a.dtype !== 'bf16' ||
        b.dtype !== 'bf16' ||
        (options.transposeB === options.transposeA && options.transposeA)
      ) {
        for (const each of products) home().kernels.matmul(each.out, each.a, each.b, options);
        return;
      }
      const { transposeA, transposeB, accumulate } = options;
      const { M, N, K } = sizesOf(out, a, options);
      const inner = [transposeA ? M : K, transposeB ? K : N];
      const [tileRows, tileColumns] = tiles.tensor;
      for (let first = 0; first < products.length; first += mostListed) {
        const some = products.slice(first, first + mostListed);
        some.forEach((each, i) => {
          table.set(i, [each.out, each.a, each.b, each.a.shape[0]]);
        });
        const aligned = some.every((each) => queue.aligned(each.a, each.b));
        const whole = aligned && inner.every((columns) => columns % 8 === 0);
        const outWhole = N % 8 === 0 && some.every((each) => queue.aligned(each.out));
        const most = transposeA ? M : Math.max(...some.map((each) => each.out.shape[0]));
        if (most === 0 || N === 0) continue;
        const flags = [whole, outWhole, out.dtype === 'f32', accumulate].map(Number);
        const grid = [Math.ceil(N / tileColumns), Math.ceil(most / tileRows), some.length] as const;
        const name = `laneProducts${transposeA ? 'T' : 'N'}${transposeB ? 'T' : 'N'}`;
        queue.launch('matmul', name, [], { grid, block: threads }, [table, M, N, K, ...flags]);
      }
    },
  };
}

/** Multiplies through the library; false where it has nothing for the shape. With `sharedA` all products of the batch have the same a. */
export function multiplyLarge(
  queue: Queue,
  blas: Blas,
  out: Tensor,
  addend: Tensor | null,
  a: Tensor,
  b: Tensor,
  { transposeA, transposeB }: Omit<MatmulOptions, 'accumulate'>,
  { batch, M, N, K }: Sizes,
  sharedA = false,
  independent = false,
): boolean {
  const outType = out.dtype === 'f32' ? 'f32' : 'bf16';
  const [to, from] = [queue.address(out), addend === null ? null : queue.address(addend)];
  const addresses = { out: to, addend: from, a: queue.address(a), b: queue.address(b) };
  const target = Math.min(alignmentOf(to), alignmentOf(from ?? to));
  const alignments = [alignmentOf(addresses.a), alignmentOf(addresses.b), target] as const;
  const shape = { batch, rows: M, columns: N, depth: K, transposeA, transposeB };
  return blas.multiply({ ...shape, outType, sharedA, independent, alignments }, addresses);
}

function alignmentOf(address: number): number {
  let alignment = mostAlignment;
  while (address % alignment !== 0) alignment /= 2;
  return alignment;
}
