/**
 * Products that belong together: several weights that share an input, and the change of a split adapter. Weights that lie side by
 * side in memory are one matrix, or a batch of equal ones: one product where a few rows would not keep the GPU busy.
 */
import type { Device, Kernels } from '../index.ts';
import { bytesOf, Scope, type Tensor } from '../index.ts';
import type { Blas } from './blas.ts';
import { multiplyLarge, ownDepth } from './matmul.ts';
import { definitionsOf, elementsPerAccess, type Queue } from './queue.ts';

/** Rows and columns of one block's part of a change. */
const [tileRows, tileColumns] = [128, 64];
/** Deepest bottleneck whose tiles fit the shared memory of one block. */
const mostBlockDepth = 256;
/** Deepest bottleneck of which one block has room for three. */
const mostSharedDepth = 128;
const blocksPerProcessor = 2;
const threads = 256;
/** Most rows with which a product alone leaves processors idle. */
const fewRows = 256;
const mostSplit = 3;
/** Warpgroup kernels need exactly this compute capability, and panels of 64 columns. */
const hopper = 90;
const panel = 64;
const panelAlignment = 1024;

const transposed = { transposeA: false, transposeB: true } as const;

export function productKernels(
  queue: Queue,
  blas: Blas,
  home: () => Device,
): Pick<Kernels, 'products' | 'blockProduct' | 'adaptedProducts'> {
  return {
    products(outs, x, weights) {
      if (multiplyBatch(queue, blas, outs, null, x, weights) || multiplyJoined(queue, blas, home(), outs, x, weights))
        return;
      outs.forEach((out, i) => {
        home().kernels.matmul(out, x, weights[i], { ...transposed, accumulate: false });
      });
    },
    blockProduct(out, addend, hs, weights, coefficients, rank) {
      const depth = hs[0].shape[1];
      if (out.size === 0) return;
      const fits = rank % 16 === 0 && out.shape[1] % 8 === 0 && depth <= mostBlockDepth;
      const byOwnKernel = out.dtype === 'bf16' && fits && queue.aligned(out, addend ?? out, ...hs, ...weights);
      const together = byOwnKernel && queue.gpu.facts.capability === hopper ? mostParts(depth) : 1;
      for (let start = 0; start < hs.length; start += together) {
        const before = start === 0 ? addend : out;
        const [some, theirs] = [hs, weights].map((all) => all.slice(start, start + together));
        if (byOwnKernel) changeBlocks(queue, out, before, some, theirs, coefficients, rank);
        else multiplyBlocks(home(), out, before, some[0], theirs[0], coefficients, rank);
      }
    },
    adaptedProducts(outs, x, weights, hs, ups, coefficients, rank) {
      const { kernels } = home();
      if (!changeTogether(queue, outs, hs, ups, coefficients, rank)) {
        outs.forEach((out, i) => {
          kernels.blockProduct?.(out, null, [hs[i]], [ups[i]], coefficients, rank);
        });
      }
      for (const { start, end } of equalRuns(weights)) {
        const [some, theirs] = [outs.slice(start, end), weights.slice(start, end)];
        if (some.length > 1 && multiplyBatch(queue, blas, some, some[0], x, theirs)) continue;
        some.forEach((out, i) => {
          kernels.matmul(out, x, theirs[i], { ...transposed, accumulate: true });
        });
      }
    },
  };
}

/** How many bottlenecks one block has room for. */
function mostParts(depth: number): number {
  return depth <= mostSharedDepth ? mostSplit : 1;
}

/** out = addend + the change of up to three bottlenecks on Hopper, of one elsewhere. */
function changeBlocks(
  queue: Queue,
  out: Tensor,
  addend: Tensor | null,
  hs: readonly Tensor[],
  weights: readonly Tensor[],
  coefficients: Tensor,
  rank: number,
): void {
  const [rows, columns] = out.shape;
  const depth = hs[0].shape[1];
  const { capability, multiprocessors } = queue.gpu.facts;
  const [across, along] = [Math.ceil(columns / tileColumns), Math.ceil(rows / tileRows)];
  // There are as many strips as blocks that run at once: a block that starts late would have to scale h anew.
  const together = (hs.length > 1 ? 1 : blocksPerProcessor) * multiprocessors;
  const strip = Math.ceil(across / Math.max(1, Math.floor(together / along)));
  const grid = [Math.ceil(across / strip), along] as const;
  const sizes = [coefficients, rows, columns];
  if (capability === hopper) {
    const shape = { grid, block: threads, sharedBytes: changeBytes(depth, hs.length) };
    const pairs = [0, 1, 2].flatMap((i) => [hs[i] ?? null, weights[i] ?? null]);
    const definitions = changeDefinitions(depth, rank, hs.length, addend !== null);
    queue.launch('change', 'blockProduct', definitions, shape, [out, addend, ...pairs, ...sizes, strip]);
    return;
  }
  const elements = tileRows * (depth + 8) + Math.min(2, strip) * (depth + tileRows) * (tileColumns + 8);
  const shape = { grid, block: threads, sharedBytes: 2 * elements };
  queue.launch('matmul', 'blockProduct', [], shape, [out, addend, hs[0], weights[0], ...sizes, depth, rank, strip]);
}

/** The changes of up to three layers in one launch, for a few rows on Hopper; false where that does not apply. */
function changeTogether(
  queue: Queue,
  outs: readonly Tensor[],
  hs: readonly Tensor[],
  ups: readonly Tensor[],
  coefficients: Tensor,
  rank: number,
): boolean {
  const { capability, multiprocessors } = queue.gpu.facts;
  const [rows, depth] = hs[0].shape;
  const whole = rank % 16 === 0 && depth <= mostBlockDepth && outs.every(({ shape }) => shape[1] % 8 === 0);
  if (capability !== hopper || outs[0].dtype !== 'bf16' || !whole || rows === 0 || rows > fewRows) return false;
  if (outs.length > mostSplit || !queue.aligned(...outs, ...hs, ...ups)) return false;
  const along = Math.ceil(rows / tileRows);
  const across = outs.map(({ shape }) => Math.ceil(shape[1] / tileColumns));
  const strips = Math.max(1, Math.floor((blocksPerProcessor * multiprocessors) / along));
  const strip = Math.ceil(across.reduce((sum, tiles) => sum + tiles, 0) / strips);
  const grid = [Math.ceil(Math.max(...across) / strip), along, outs.length] as const;
  const shape = { grid, block: threads, sharedBytes: changeBytes(depth, 1) };
  const targets = [0, 1, 2].map((i) => outs[i] ?? null);
  const pairs = [0, 1, 2].flatMap((i) => [hs[i] ?? null, ups[i] ?? null]);
  const widths = [0, 1, 2].map((i) => outs[i]?.shape[1] ?? 0);
  const parameters = [...targets, ...pairs, coefficients, rows, ...widths, strip];
  queue.launch('change', 'blockProducts', changeDefinitions(depth, rank, 1, false), shape, parameters);
  return true;
}

/** Shared memory of a block on Hopper. */
function changeBytes(depth: number, parts: number): number {
  const left = 2 * Math.ceil(depth / panel) * panel * panel;
  const stages = parts === 1 ? 3 : 2 * parts;
  return 2 * (parts * left + stages * depth * tileColumns + tileRows * (tileColumns + 8)) + panelAlignment;
}

function changeDefinitions(depth: number, rank: number, parts: number, adding: boolean): readonly string[] {
  return [`DEPTH=${depth}`, `RANK=${rank}`, `PARTS=${parts}`, `ADDING=${adding ? 1 : 0}`];
}

/** Runs of neighbours with equal shapes. */
function equalRuns(tensors: readonly Tensor[]): { readonly start: number; readonly end: number }[] {
  const starts = [...tensors.keys()].filter((i) => i === 0 || tensors[i].shape[0] !== tensors[i - 1].shape[0]);
  return starts.map((start, i) => ({ start, end: starts[i + 1] ?? tensors.length }));
}

/** Whether each tensor begins where the one before it ends. */
function sideBySide(tensors: readonly Tensor[]): boolean {
  return tensors.every(({ offset }, i) => {
    if (i === 0) return true;
    const before = tensors[i - 1];
    return before.offset + before.size * bytesOf[before.dtype] === offset;
  });
}

/** One batched product, for a few rows and weights of equal shape; `addend` is the first of as many tensors, or null. */
function multiplyBatch(
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
  if (x.dtype !== 'bf16' || K <= ownDepth || M === 0 || M > fewRows || N === 0 || !equal) return false;
  if (!sideBySide(weights) || !sideBySide(outs)) return false;
  return multiplyLarge(queue, blas, outs[0], addend, x, weights[0], transposed, { batch: outs.length, M, N, K }, true);
}

/** One product with all weights, for a few rows; then its columns go where they belong. */
function multiplyJoined(
  queue: Queue,
  blas: Blas,
  device: Device,
  outs: readonly Tensor[],
  x: Tensor,
  weights: readonly Tensor[],
): boolean {
  const [M, K] = x.shape;
  const each = elementsPerAccess(x.dtype);
  const whole = outs.every(({ shape }) => shape[1] % each === 0) && queue.aligned(...outs);
  if (x.dtype !== 'bf16' || K <= ownDepth || M === 0 || M > fewRows) return false;
  if (!whole || outs.length > mostSplit || !sideBySide(weights)) return false;
  const N = weights.reduce((sum, { shape }) => sum + shape[0], 0);
  using scope = new Scope(device);
  const joined = scope.empty([M, N], 'joined products', x.dtype);
  if (!multiplyLarge(queue, blas, joined, null, x, weights[0], transposed, { batch: 1, M, N, K })) return false;
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
