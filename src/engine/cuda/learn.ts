/**
 * Gradients of the factors of split adapters, those of all layers of an input in two launches: alone each is a product of few rows that
 * leaves the GPU half idle, and those that share an input read it again. Ranks without tiles go through scaleBlocks and matmul.
 */
import type { BlockGradient, Device, Kernels } from '../index.ts';
import { Scope, type Tensor } from '../index.ts';
import type { KernelArgument, Queue } from './queue.ts';

/** Ranks for which there are tiles. */
const ranks: readonly number[] = [16, 32];
/** Most bottlenecks that one block multiplies with an input, most inputs and most outputs of a launch. */
const [mostParts, mostGroups, mostOutputs] = [3, 4, 6];
/** Columns of a block's tile: of one bottleneck, of several. */
const [wideTile, narrowTile] = [256, 128];
/** As in learn.cu. */
const [tokensPerStage, stages, padding] = [32, 4, 8];
const blocksPerProcessor = 2;
/** Most stretches of tokens that are summed apart, and the fewest tokens of one. */
const [mostStretches, leastStretch] = [8, 256];
const threads = 256;

export function learnKernels(queue: Queue, home: () => Device): Pick<Kernels, 'learnBlocks'> {
  return {
    learnBlocks(gradients, coefficients, rank) {
      const byOwnKernel = gradients.filter((gradient) => fits(queue, gradient, rank));
      for (const batch of batchesOf(byOwnKernel)) learnTogether(queue, home(), batch, coefficients, rank);
      for (const gradient of gradients)
        if (!byOwnKernel.includes(gradient)) learnAlone(home(), gradient, coefficients, rank);
    },
  };
}

function fits(queue: Queue, { out, h, x }: BlockGradient, rank: number): boolean {
  const whole = out.dtype === 'f32' && h.dtype === 'bf16' && x.dtype === 'bf16' && x.shape[1] % 8 === 0;
  return whole && ranks.includes(rank) && x.size > 0 && queue.aligned(out, h, x);
}

/** An input and the gradients that are products with it. */
interface Group {
  readonly x: Tensor;
  readonly gradients: BlockGradient[];
}

/** Launches of few enough inputs and outputs. The bottlenecks of a launch are equally wide, and no output stands in it twice. */
function batchesOf(gradients: readonly BlockGradient[]): Group[][] {
  const batches: Group[][] = [];
  for (const gradient of gradients) {
    const batch = batches.at(-1);
    if (batch === undefined || !addTo(batch, gradient)) batches.push([{ x: gradient.x, gradients: [gradient] }]);
  }
  return batches;
}

/** Adds a gradient to a batch; false where it has no room or no place for it. */
function addTo(batch: Group[], gradient: BlockGradient): boolean {
  const all = batch.flatMap((group) => group.gradients);
  const alike = all[0].h.shape.every((size, axis) => size === gradient.h.shape[axis]);
  if (all.length === mostOutputs || !alike || all.some(({ out }) => out.offset === gradient.out.offset)) return false;
  const group = batch.find(
    ({ x, gradients }) =>
      x.offset === gradient.x.offset && x.shape[1] === gradient.x.shape[1] && gradients.length < mostParts,
  );
  if (group !== undefined) group.gradients.push(gradient);
  else if (batch.length === mostGroups) return false;
  else batch.push({ x: gradient.x, gradients: [gradient] });
  return true;
}

function learnTogether(
  queue: Queue,
  device: Device,
  batch: readonly Group[],
  coefficients: Tensor,
  rank: number,
): void {
  const rows = 2 * rank;
  const all = batch.flatMap(({ gradients }) => gradients);
  const [tokens, depth] = all[0].h.shape;
  const tiles = batch.reduce(
    (sum, { x, gradients }) => sum + Math.ceil(x.shape[1] / (gradients.length === 1 ? wideTile : narrowTile)),
    0,
  );
  const room = Math.floor((blocksPerProcessor * queue.gpu.facts.multiprocessors) / tiles);
  const wanted = Math.max(1, Math.min(mostStretches, room, Math.ceil(tokens / leastStretch)));
  const stretch = Math.ceil(tokens / wanted / tokensPerStage) * tokensPerStage;
  const stretches = Math.ceil(tokens / stretch);
  const ends = all.map((_, i) => all.slice(0, i + 1).reduce((sum, { x }) => sum + rows * x.shape[1], 0));
  const total = ends[ends.length - 1];
  using scope = new Scope(device);
  const partials = scope.empty([stretches, total], 'parts of gradients');
  const groups = Array.from({ length: mostGroups }, (_, i): KernelArgument[] => {
    const group = batch[i];
    const hs = Array.from({ length: mostParts }, (__, part) => group?.gradients[part]?.h ?? null);
    return [group?.x ?? null, group?.x.shape[1] ?? 0, ...hs];
  });
  const shape = { grid: [tiles, stretches], block: threads, sharedBytes: sharedBytesOf(batch, rows) } as const;
  const parameters = [partials, coefficients, tokens, stretch, depth, total, ...groups.flat()];
  queue.launch('learn', 'learnParts', [`ROWS=${rows}`], shape, parameters);
  const adding = all.reduce((bits, { accumulate }, i) => bits | (accumulate ? 1 << i : 0), 0);
  const outputs = Array.from({ length: mostOutputs }, (_, i) => [all[i]?.out ?? null, ends[i] ?? total]).flat();
  const sums = [partials, total, stretches, adding, ...outputs];
  queue.launch('learn', 'learnSums', [`ROWS=${rows}`], queue.over(total, 4), sums);
}

/** Room for the stages of that group which needs most. */
function sharedBytesOf(batch: readonly Group[], rows: number): number {
  const elements = batch.map(({ gradients: { length } }) => {
    const width = length === 1 ? wideTile : narrowTile;
    return stages * tokensPerStage * (width + padding + length * rows + padding);
  });
  return 2 * Math.max(...elements);
}

function learnAlone(
  device: Device,
  { out, h, x, accumulate }: BlockGradient,
  coefficients: Tensor,
  rank: number,
): void {
  using scope = new Scope(device);
  const learning = scope.empty([x.shape[0], 2 * rank], 'learning part', h.dtype);
  device.kernels.scaleBlocks(learning, h, coefficients, rank, 0);
  device.kernels.matmul(out, learning, x, { transposeA: true, transposeB: false, accumulate });
}
