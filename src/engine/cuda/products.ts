/**
 * Products that belong together: several weights that share an input, and the change of a split adapter. Weights that lie side by
 * side in memory are one matrix, or a batch of equal ones: one product where a few rows or columns would not keep the GPU busy.
 */
import type { Device, Kernels } from '../index.ts';
import { bytesOf, Scope, type Tensor } from '../index.ts';
import type { Blas } from './blas.ts';
import { changeBlocks, changeFits, mostLayers, mostParts } from './change.ts';
import { multiplyLarge, ownDepth } from './matmul.ts';
import { definitionsOf, elementsPerAccess, type Queue } from './queue.ts';

/** Most rows with which a product alone leaves processors idle. */
export const fewRows = 256;
/** Most columns with which a product alone leaves processors idle, whatever its rows: the bottlenecks of adapters. */
const fewColumns = 256;

export const transposed = { transposeA: false, transposeB: true } as const;

export function productKernels(
  queue: Queue,
  blas: Blas,
  home: () => Device,
): Pick<Kernels, 'products' | 'blockProduct'> {
  return {
    products(outs, x, weights) {
      if (multiplyBatch(queue, blas, outs, null, x, weights) || multiplyJoined(queue, blas, home(), outs, x, weights))
        return;
      outs.forEach((out, i) => {
        home().kernels.matmul(out, x, weights[i], { ...transposed, accumulate: false });
      });
    },
    blockProduct(out, addend, hs, weights, coefficients, rank) {
      if (out.size === 0) return;
      const byOwnKernel =
        changeFits([out], hs[0].shape[1], rank) && queue.aligned(out, addend ?? out, ...hs, ...weights);
      const together = byOwnKernel ? mostParts(queue, hs[0].shape[1]) : 1;
      for (let start = 0; start < hs.length; start += together) {
        const before = start === 0 ? addend : out;
        const [some, theirs] = [hs, weights].map((all) => all.slice(start, start + together));
        if (byOwnKernel) changeBlocks(queue, out, before, some, theirs, coefficients, rank);
        else multiplyBlocks(home(), out, before, some[0], theirs[0], coefficients, rank);
      }
    },
  };
}

/** Whether each tensor begins where the one before it ends. */
export function adjacent(tensors: readonly Tensor[]): boolean {
  return tensors.every(({ offset }, i) => {
    if (i === 0) return true;
    const before = tensors[i - 1];
    return before.offset + before.size * bytesOf[before.dtype] === offset;
  });
}

/** One batched product, for a few rows or columns and weights of equal shape; `addend` is the first of as many tensors, or null. */
export function multiplyBatch(
  queue: Queue,
  blas: Blas,
  outs: readonly Tensor[],
  addend: Tensor | null,
  x: Tensor,
  weights: readonly Tensor[],
): boolean {
  const [N, K] = weights[0].shape;
  const [M] = x.shape;
  const equal = weights.every(({ shape }) => shape[0] === N);
  if (x.dtype !== 'bf16' || K <= ownDepth || M === 0 || N === 0 || !equal) return false;
  if (M > fewRows && (N > fewColumns || outs.length === 1)) return false;
  if (!adjacent(weights) || !adjacent(outs)) return false;
  return multiplyLarge(queue, blas, outs[0], addend, x, weights[0], transposed, { batch: outs.length, M, N, K }, true);
}

/** One product with all weights, for a few rows: [M, N₀ + N₁ + …], made in `scope`. Null where that does not apply. */
function joinProducts(
  queue: Queue,
  blas: Blas,
  scope: Scope,
  outs: readonly Tensor[],
  x: Tensor,
  weights: readonly Tensor[],
): Tensor | null {
  const [M, K] = x.shape;
  const each = elementsPerAccess(x.dtype);
  const whole = outs.every(({ shape }) => shape[1] % each === 0) && queue.aligned(...outs);
  if (x.dtype !== 'bf16' || K <= ownDepth || M === 0 || M > fewRows) return null;
  if (!whole || outs.length > mostLayers || !adjacent(weights)) return null;
  const N = weights.reduce((sum, { shape }) => sum + shape[0], 0);
  const joined = scope.empty([M, N], 'joined products', x.dtype);
  return multiplyLarge(queue, blas, joined, null, x, weights[0], transposed, { batch: 1, M, N, K }) ? joined : null;
}

/** One product with all weights; then its columns go where they belong. */
function multiplyJoined(
  queue: Queue,
  blas: Blas,
  device: Device,
  outs: readonly Tensor[],
  x: Tensor,
  weights: readonly Tensor[],
): boolean {
  using scope = new Scope(device);
  const joined = joinProducts(queue, blas, scope, outs, x, weights);
  if (joined === null) return false;
  const each = elementsPerAccess(x.dtype);
  const [M, N] = joined.shape;
  const [first, second] = [weights[0].shape[0] / each, (weights[0].shape[0] + weights[1].shape[0]) / each];
  const parameters = [outs[0], outs[1], outs[2] ?? null, joined, (M * N) / each, N / each, first, second];
  queue.launch('elementwise', 'splitColumns', definitionsOf(x.dtype), queue.over((M * N) / each), parameters);
  return true;
}

/** The change is summed apart, then added. */
function multiplyBlocks(
  device: Device,
  out: Tensor,
  addend: Tensor | null,
  h: Tensor,
  weight: Tensor,
  coefficients: Tensor,
  rank: number,
): void {
  const { kernels } = device;
  using scope = new Scope(device);
  const half = 2 * rank;
  const scaled = scope.empty([h.shape[0], half], 'scaled bottleneck', h.dtype);
  const change = addend === null ? out : scope.empty(out.shape, 'change', out.dtype);
  for (let start = 0; start < h.shape[1]; start += half) {
    kernels.scaleBlocks(scaled, h, coefficients, rank, start);
    const options = { transposeA: false, transposeB: false, accumulate: start > 0 };
    kernels.matmul(change, scaled, weight.rows(start, start + half), options);
  }
  if (addend !== null) kernels.binary('add', out, addend, change);
}
