/** Sums in a fixed order, and kernels that look at whole rows: RMSNorm, log-softmax, gathers, sampling. */

import type { Device, Kernels } from '../index.ts';
import { Scope, sizeOf, type Tensor } from '../index.ts';
import {
  definitionsOf,
  double,
  elementsPerAccess,
  float,
  type KernelArgument,
  LaunchTable,
  mostListed,
  type Queue,
  type Shape3,
} from './queue.ts';

type Sums = 'sumLast' | 'sumFirst' | 'segmentSum' | 'sumSquares' | 'countNonFinite';
type Rows = 'gatherRows' | 'scatterRows' | 'scatterPair' | 'scatterAddRows';
type Norm = 'rmsNorm' | 'rmsNormBackward' | 'normRotary' | 'normRotaryBackward';
type Loss = 'logSoftmaxGather' | 'logSoftmaxGatherBackward' | 'logSoftmaxSlope' | 'scaleRows' | 'sample';

/** Blocks that hold a long row together, in registers: which GPUs can, and for how many columns that is worth while. */
const cluster = { capability: 90, blocks: 8, threads: 512, leastColumns: 32_768, mostPieces: 10 } as const;
const columnsPerBlock = 32;
const threads = 256;
const wideThreads = 1024;
/** Most columns of a row that belongs to a warp or a part of one. */
const shortRow = 1024;
const mostParts = 512;
/** Parts in which each of several tensors is summed. */
const squareParts = 8;
/** Rows that a block adds up alone. */
const rowsPerPart = 512;
/** Number of long rows that keep the GPU busy with a warp each, and the most pieces in which a warp holds its row. */
const manyRows = 1024;
const mostPieces = 16;
/** How many lanes may share a head that is turned. */
export const turnLanes = [2, 4, 8, 16, 32];
/** Number of heads of all tokens that keep the GPU busy where a thread takes several of a token, and how many it takes. */
const manyHeads = 16_384;
const headsTogether = 4;

export function sumKernels(queue: Queue, home: () => Device): Pick<Kernels, Sums> {
  const columns = (count: number, rows = 1): Shape3 => ({
    grid: [Math.ceil(count / columnsPerBlock), rows],
    block: [columnsPerBlock, 32],
  });
  return {
    sumLast(out, x) {
      if (out.size === 0) return;
      const count = x.size / out.size;
      queue.launch('reduce', 'sumLast', definitionsOf(x.dtype), { grid: [out.size], block: threads }, [out, x, count]);
    },
    sumFirst(out, x, accumulate) {
      if (out.size === 0) return;
      const real = out.dtype === x.dtype ? 1 : 0;
      const parameters = [out, x, x.size / out.size, out.size, real, accumulate ? 1 : 0];
      queue.launch('reduce', 'sumFirst', definitionsOf(x.dtype), columns(out.size), parameters);
    },
    segmentSum(out, x, ranges) {
      const [segments, width] = out.shape;
      if (out.size === 0) return;
      const shape = columns(width, segments);
      queue.launch('reduce', 'segmentSum', definitionsOf(x.dtype), shape, [out, x, ranges, width, x.shape[1]]);
    },
    sumSquares(out, x, accumulate) {
      const blocks = Math.max(1, Math.min(mostParts, Math.ceil(x.size / (8 * threads))));
      using scope = new Scope(home());
      const parts = scope.empty([2 * blocks], 'parts of a sum');
      queue.launch('reduce', 'squareParts', definitionsOf(x.dtype), { grid: [blocks], block: threads }, [
        parts,
        x,
        x.size,
      ]);
      queue.launch('reduce', 'sumParts', [], { grid: [1], block: threads }, [out, parts, blocks, accumulate ? 1 : 0]);
    },
    countNonFinite(out, x) {
      const { driver, stream } = queue.gpu;
      driver.call('cuMemsetD32Async', 'a count', queue.address(out), 0, 1, stream);
      if (x.size === 0) return;
      queue.launch('reduce', 'countNonFinite', definitionsOf(x.dtype), queue.over(x.size, 4), [out, x, x.size]);
    },
  };
}

/** Sums over several tensors, or of squares, in one launch. */
export function laneSumKernels(queue: Queue, home: () => Device): Pick<Kernels, 'sumSquaresOf' | 'segmentSquares'> {
  const table = new LaunchTable(queue, 2);
  return {
    sumSquaresOf(out, xs) {
      for (let first = 0; first < xs.length; first += mostListed) {
        const some = xs.slice(first, first + mostListed);
        some.forEach((x, row) => {
          table.set(row, [x, x.size]);
        });
        using scope = new Scope(home());
        const count = some.length * squareParts;
        const parts = scope.empty([2 * count], 'parts of a sum');
        const shape = { grid: [squareParts, some.length], block: threads } as const;
        queue.launch('reduce', 'squarePartsOf', [], shape, [parts, table]);
        queue.launch('reduce', 'sumParts', [], { grid: [1], block: threads }, [out, parts, count, first > 0 ? 1 : 0]);
      }
    },
    segmentSquares(out, x, ranges) {
      const [segments, width] = out.shape;
      if (out.size === 0) return;
      const shape = { grid: [Math.ceil(width / columnsPerBlock), segments], block: [columnsPerBlock, 32] } as const;
      queue.launch('reduce', 'segmentSquares', definitionsOf(x.dtype), shape, [out, x, ranges, width]);
    },
  };
}

export function cudaRowKernels(queue: Queue): Pick<Kernels, Rows> {
  /** Whether rows of this width can be moved in pieces of 16 bytes. */
  const inPieces = (width: number, ...tensors: readonly Tensor[]): boolean =>
    width % elementsPerAccess(tensors[0].dtype) === 0 && queue.aligned(...tensors);
  const move = (name: string, out: Tensor, between: readonly KernelArgument[], size: number, width: number): void => {
    if (size === 0) return;
    const step = name.endsWith('Packs') ? elementsPerAccess(out.dtype) : 1;
    const parameters = [out, ...between, size / step, width / step];
    queue.launch('elementwise', name, definitionsOf(out.dtype), queue.over(size / step), parameters);
  };
  const scatter = (out: Tensor, x: Tensor, index: Tensor): void => {
    const width = sizeOf(out.shape.slice(1));
    if (inPieces(width, out, x)) move('scatterPacks', out, [x, null, null, index], index.size * width, width);
    else move('scatterRows', out, [x, index], index.size * width, width);
  };
  return {
    gatherRows(out, table, index) {
      const [, width] = table.shape;
      const name = inPieces(width, out, table) ? 'gatherPacks' : 'gatherRows';
      move(name, out, [table, index], index.size * width, width);
    },
    scatterRows: scatter,
    scatterPair([out, secondOut], [x, secondX], index) {
      const width = sizeOf(out.shape.slice(1));
      if (inPieces(width, out, x, secondOut, secondX)) {
        move('scatterPacks', out, [x, secondOut, secondX, index], index.size * width, width);
        return;
      }
      scatter(out, x, index);
      scatter(secondOut, secondX, index);
    },
    scatterAddRows(out, x, index) {
      if (x.size === 0) return;
      const shape = { grid: [index.size], block: threads, sharedBytes: 4 * threads } as const;
      const real = out.dtype === x.dtype ? 1 : 0;
      const parameters = [out, x, index, index.size, out.shape[1], real];
      queue.launch('elementwise', 'scatterAddRows', definitionsOf(x.dtype), shape, parameters);
    },
  };
}

/** With `independent` rows a row is computed in one way, however many there are. */
export function normKernels(queue: Queue, home: () => Device, independent: boolean): Pick<Kernels, Norm> {
  /** The launch, with as many lanes as a row has 16-byte pieces, up to a warp; 0 lanes mean a block per row. */
  const plan = (rows: number, columns: number, each: number): { shape: Shape3; lanes: number } => {
    if (columns > shortRow) return { shape: { grid: [rows], block: threads }, lanes: 0 };
    const lanes = Math.min(32, 2 ** Math.ceil(Math.log2(Math.max(1, columns / each))));
    return { shape: { grid: [Math.ceil(rows / (threads / lanes))], block: threads }, lanes };
  };
  const isWhole = (columns: number, tensors: readonly Tensor[]): number =>
    columns % elementsPerAccess(tensors[0].dtype) === 0 && queue.aligned(...tensors) ? 1 : 0;
  return {
    rmsNorm(out, inverseRms, x, weight, epsilon) {
      const [rows, columns] = x.shape;
      if (x.size === 0) return;
      const whole = isWhole(columns, [out, x, weight]);
      const pieces = Math.ceil(columns / elementsPerAccess(x.dtype) / 32);
      const many = !independent && rows >= manyRows;
      if (x.dtype === 'bf16' && whole === 1 && columns > shortRow && many && pieces <= mostPieces) {
        const definitions = [...definitionsOf(x.dtype), `PACKS=${pieces}`];
        const parameters = [out, inverseRms, x, weight, rows, columns, float(epsilon)];
        queue.launch('rows', 'rmsNormRows', definitions, { grid: [Math.ceil(rows / 8)], block: threads }, parameters);
        return;
      }
      const { shape, lanes } = plan(rows, columns, whole === 1 ? elementsPerAccess(x.dtype) : 1);
      const parameters = [out, inverseRms, x, weight, rows, columns, whole, lanes, float(epsilon)];
      queue.launch('rows', 'rmsNorm', definitionsOf(x.dtype), shape, parameters);
    },
    normRotary(out, inverseRms, x, weight, epsilon, positions, table) {
      const [tokens, heads, columns] = x.shape;
      const lanes = columns / elementsPerAccess(x.dtype);
      const rows = tokens * heads;
      if (x.size === 0) return;
      if (!turnLanes.includes(lanes) || !queue.aligned(out, x, weight, table)) {
        const flat = [rows, columns];
        home().kernels.rmsNorm(out.view(flat), inverseRms, x.view(flat), weight, epsilon);
        home().kernels.rotary(out, out, positions, table, false);
        return;
      }
      const each = !independent && rows >= manyHeads && heads % headsTogether === 0 ? headsTogether : 1;
      const shape = { grid: [Math.ceil(rows / each / (threads / lanes))], block: threads } as const;
      const parameters = [out, inverseRms, x, weight, positions, table, rows, heads, float(epsilon)];
      const definitions = [...definitionsOf(x.dtype), `LANES=${lanes}`, `ROWS=${each}`];
      queue.launch('rows', 'normRotary', definitions, shape, parameters);
    },
    normRotaryBackward(dx, dy, x, weight, inverseRms, positions, table) {
      const [tokens, heads, columns] = x.shape;
      const lanes = columns / elementsPerAccess(x.dtype);
      const rows = tokens * heads;
      if (x.size === 0) return;
      if (!turnLanes.includes(lanes) || !queue.aligned(dx, dy, x, weight, table)) {
        using scope = new Scope(home());
        const [flat, turned] = [[rows, columns], scope.empty(x.shape, 'turned back', x.dtype)];
        const { kernels } = home();
        kernels.rotary(turned, dy, positions, table, true);
        kernels.rmsNormBackward(dx.view(flat), null, turned.view(flat), x.view(flat), weight, inverseRms, false);
        return;
      }
      const shape = { grid: [Math.ceil(rows / (threads / lanes))], block: threads } as const;
      const parameters = [dx, dy, x, weight, inverseRms, positions, table, rows, heads];
      queue.launch('rows', 'normRotaryBackward', [...definitionsOf(x.dtype), `LANES=${lanes}`], shape, parameters);
    },
    rmsNormBackward(dx, dWeight, dy, x, weight, inverseRms, accumulate) {
      const [rows, columns] = x.shape;
      if (x.size === 0) return;
      const whole = isWhole(columns, [dx, dy, x, weight]);
      const { shape, lanes } = plan(rows, columns, whole === 1 ? elementsPerAccess(x.dtype) : 1);
      const definitions = definitionsOf(x.dtype);
      if (dWeight !== null) gainGradient(queue, home(), dWeight, dy, x, inverseRms);
      const parameters: KernelArgument[] = [dx, dy, x, weight, inverseRms, rows, columns, whole, lanes];
      queue.launch('rows', 'rmsNormBackward', definitions, shape, [...parameters, accumulate ? 1 : 0]);
    },
  };
}

/** Narrow rows, such as a head's, are many: few blocks would go through all of them, so that each takes a part of the rows. */
function gainGradient(queue: Queue, device: Device, dWeight: Tensor, dy: Tensor, x: Tensor, inverseRms: Tensor): void {
  const [rows, columns] = x.shape;
  const definitions = definitionsOf(x.dtype);
  const [across, block] = [Math.ceil(columns / columnsPerBlock), [columnsPerBlock, 32] as const];
  const splits = Math.min(mostParts, Math.ceil(rows / rowsPerPart));
  if (dWeight.dtype !== 'f32' || splits === 1) {
    const real = dWeight.dtype === x.dtype ? 1 : 0;
    const parameters = [dWeight, dy, x, inverseRms, rows, columns, real];
    queue.launch('reduce', 'gainGradient', definitions, { grid: [across], block }, parameters);
    return;
  }
  using scope = new Scope(device);
  const parts = scope.empty([splits, columns], 'parts of a gradient');
  const parameters = [parts, dy, x, inverseRms, rows, columns, Math.ceil(rows / splits)];
  queue.launch('reduce', 'gainParts', definitions, { grid: [across, splits], block }, parameters);
  device.kernels.sumFirst(dWeight, parts, true);
}

export function lossKernels(queue: Queue): Pick<Kernels, Loss> {
  return {
    logSoftmaxGather(logp, logSumExp, logits, targets) {
      if (logp.size === 0) return;
      const columns = logits.shape[1];
      const whole = columns % 4 === 0 && queue.aligned(logits) ? 1 : 0;
      const shape = { grid: [logp.size], block: wideThreads } as const;
      queue.launch('rows', 'logSoftmaxGather', [], shape, [logp, logSumExp, logits, targets, columns, whole]);
    },
    logSoftmaxGatherBackward(logits, logSumExp, targets, dLogp) {
      const [rows, columns] = logits.shape;
      if (logits.size === 0) return;
      const shape = { grid: [Math.min(32, Math.ceil(columns / threads)), rows], block: threads } as const;
      queue.launch('rows', 'logSoftmaxGatherBackward', [], shape, [logits, logSumExp, targets, dLogp, columns]);
    },
    logSoftmaxSlope(slope, logp, logits, targets) {
      if (logp.size === 0) return;
      const columns = logits.shape[1];
      const whole = columns % 4 === 0 && queue.aligned(slope, logits) ? 1 : 0;
      const pieces = Math.ceil(columns / 4 / (cluster.blocks * cluster.threads));
      const clusters = queue.gpu.facts.capability === cluster.capability && columns >= cluster.leastColumns;
      if (clusters && whole === 1 && pieces <= cluster.mostPieces) {
        const definitions = [...definitionsOf(slope.dtype), `PIECES=${pieces}`];
        const blocks = { grid: [cluster.blocks * logp.size], block: cluster.threads } as const;
        queue.launch('rows', 'logSoftmaxSlopeOnce', definitions, blocks, [slope, logp, logits, targets, columns]);
        return;
      }
      const shape = { grid: [logp.size], block: wideThreads } as const;
      const parameters = [slope, logp, logits, targets, columns, whole];
      queue.launch('rows', 'logSoftmaxSlope', definitionsOf(slope.dtype), shape, parameters);
    },
    scaleRows(out, x, scales) {
      if (x.size === 0) return;
      const [rows] = x.shape;
      const columns = x.size / rows;
      const whole = columns % elementsPerAccess(x.dtype) === 0 && queue.aligned(out, x) ? 1 : 0;
      const shape = { grid: [rows], block: threads } as const;
      queue.launch('rows', 'scaleRows', definitionsOf(x.dtype), shape, [out, x, scales, columns, whole]);
    },
    sample(ids, tokens, logps, logits, slots, rows, counts, options) {
      if (ids.size === 0) return;
      const { key, step, temperature, topK, topP, minP, streams = null } = options;
      queue.launch('sample', 'sample', [], { grid: [ids.size], block: wideThreads }, [
        ...[ids, tokens, logps, logits, slots, rows, counts, logits.shape[1], tokens.shape[1]],
        ...[key[0] >>> 0, key[1] >>> 0, step, float(temperature), topK, double(topP), double(minP), streams],
      ]);
    },
  };
}
