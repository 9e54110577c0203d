/** Launches of the change of split adapters: the kernels of change.cu on Hopper, of matmul.cu elsewhere. */
import type { Tensor } from '../index.ts';
import type { Queue } from './queue.ts';

/** Rows and columns of one block's part of a change. */
const [tileRows, tileColumns] = [128, 64];
/** Deepest bottleneck whose tiles fit the shared memory of one block. */
const mostBlockDepth = 256;
/** Deepest bottleneck of which one block has room for three. */
const mostSharedDepth = 128;
const blocksPerProcessor = 2;
const threads = 256;
/** Most layers that one launch takes. */
export const mostLayers = 3;
/** Warpgroup kernels need exactly this compute capability, and panels of 64 columns. */
export const hopper = 90;
const panel = 64;
const panelAlignment = 1024;

/** Whether the device's own kernels have tiles for a change of these outputs. */
export function changeFits(outs: readonly Tensor[], depth: number, rank: number): boolean {
  const whole = outs.every(({ dtype, shape }) => dtype === 'bf16' && shape[1] % 8 === 0);
  return whole && rank % 16 === 0 && depth <= mostBlockDepth;
}

/** How many bottlenecks one block has room for. */
export function mostParts(queue: Queue, depth: number): number {
  return queue.gpu.facts.capability === hopper && depth <= mostSharedDepth ? mostLayers : 1;
}

/** out = addend + the change of up to three bottlenecks on Hopper, of one elsewhere. */
export function changeBlocks(
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

/** The changes of up to three layers, side by side in the columns of out, in one launch, on Hopper. */
export function changeTogether(
  queue: Queue,
  out: Tensor,
  hs: readonly Tensor[],
  ups: readonly Tensor[],
  coefficients: Tensor,
  rank: number,
): void {
  const [rows, depth] = hs[0].shape;
  const along = Math.ceil(rows / tileRows);
  const across = ups.map(({ shape }) => Math.ceil(shape[1] / tileColumns));
  const strips = Math.max(1, Math.floor((blocksPerProcessor * queue.gpu.facts.multiprocessors) / along));
  const strip = Math.ceil(across.reduce((sum, tiles) => sum + tiles, 0) / strips);
  const grid = [Math.ceil(Math.max(...across) / strip), along, ups.length] as const;
  const shape = { grid, block: threads, sharedBytes: changeBytes(depth, 1) };
  const places = [0, 1, 2];
  const pairs = places.flatMap((i) => [hs[i] ?? null, ups[i] ?? null]);
  const widths = places.map((i) => ups[i]?.shape[1] ?? 0);
  const parameters = [out, ...pairs, coefficients, rows, ...widths, strip];
  queue.launch('change', 'blockProducts', changeDefinitions(depth, rank, 1, false), shape, parameters);
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
