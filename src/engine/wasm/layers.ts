/** The transformer's other kernels: arguments and shards for kernels/{rows,layers,rotary,optimise}.ts. */
import { DeviceError } from '../../base/index.ts';
import { type Kernels, momentsOf, type Tensor } from '../index.ts';
import { columnsOfShard, rowsEach } from './elementwise.ts';
import type { FrozenLayouts } from './frozen.ts';
import { type JobName, type Jobs, pieces } from './jobs.ts';

const heavyElements = 8192;
const lightElements = 32768;

type Rows = 'gatherRows' | 'scatterRows' | 'scatterAddRows';

export function wasmRowKernels(jobs: Jobs): Pick<Kernels, Rows> {
  const byRows = (name: JobName, out: Tensor, x: Tensor, index: Tensor, columns: number) => {
    const { count, each } = pieces(index.size, rowsEach(columns, heavyElements));
    jobs.run(name, count, [index.size, columns, each, out.offset, x.offset, index.offset]);
  };
  return {
    gatherRows: (out, table, index) => byRows('gatherRows', out, table, index, table.size / table.shape[0]),
    scatterRows: (out, x, index) => byRows('scatterRows', out, x, index, out.size / out.shape[0]),
    scatterAddRows(out, x, index) {
      const columns = out.size / out.shape[0];
      const { count, each } = pieces(columns, columnsOfShard(index.size, columns));
      jobs.run('scatterAddRows', count, [index.size, columns, each, out.offset, x.offset, index.offset]);
    },
  };
}

type Layers =
  | 'rmsNorm'
  | 'rmsNormBackward'
  | 'rotary'
  | 'normRotary'
  | 'normRotaryBackward'
  | 'logSoftmaxGather'
  | 'logSoftmaxGatherBackward'
  | 'scaleBlocks';

export function wasmLayerKernels(jobs: Jobs): Pick<Kernels, Layers> {
  const logProb = (name: JobName, logp: Tensor, logSumExp: Tensor, logits: Tensor, targets: Tensor) => {
    const [rows, columns] = logits.shape;
    const { count, each } = pieces(rows, rowsEach(columns, heavyElements));
    jobs.run(name, count, [rows, columns, each, logits.offset, logSumExp.offset, targets.offset, logp.offset]);
  };
  const turn = (name: JobName, out: Tensor, x: Tensor, rest: readonly number[], floats: readonly number[] = []) => {
    const [tokens, heads, size] = x.shape;
    const { count, each } = pieces(tokens, rowsEach(heads * size, heavyElements));
    jobs.run(name, count, [tokens, heads, size / 2, each, out.offset, x.offset, ...rest], floats);
  };
  return {
    rmsNorm(out, inverseRms, x, weight, epsilon) {
      const [rows, columns] = [inverseRms.size, weight.size];
      const { count, each } = pieces(rows, rowsEach(columns));
      const tensors = [out.offset, inverseRms.offset, x.offset, weight.offset, 0, 0];
      jobs.run('rmsNorm', count, [rows, columns, each, ...tensors], [epsilon]);
    },
    rmsNormBackward(dx, dWeight, dy, x, weight, inverseRms, accumulate) {
      const [rows, columns] = [inverseRms.size, weight.size];
      const inputs = [inverseRms.offset, x.offset, weight.offset, dy.offset];
      const byRows = pieces(rows, rowsEach(columns));
      jobs.run('rmsNormBackward', byRows.count, [rows, columns, byRows.each, dx.offset, ...inputs, accumulate ? 1 : 0]);
      if (dWeight === null) return;
      const byColumns = pieces(columns, columnsOfShard(rows, columns));
      jobs.run('rmsNormWeight', byColumns.count, [rows, columns, byColumns.each, dWeight.offset, ...inputs, 1]);
    },
    rotary: (out, x, positions, table, inverse) =>
      turn('rotary', out, x, [positions.offset, table.offset, inverse ? 1 : 0]),
    normRotary: (out, inverseRms, x, weight, epsilon, positions, table) =>
      turn('normRotary', out, x, [positions.offset, table.offset, 0, inverseRms.offset, weight.offset, 0], [epsilon]),
    normRotaryBackward(dx, dy, x, weight, inverseRms, positions, table) {
      const norm = [inverseRms.offset, weight.offset, dy.offset];
      turn('normRotaryBackward', dx, x, [positions.offset, table.offset, 1, ...norm]);
    },
    logSoftmaxGather: (logp, logSumExp, logits, targets) =>
      logProb('logSoftmaxGather', logp, logSumExp, logits, targets),
    logSoftmaxGatherBackward: (logits, logSumExp, targets, dLogp) =>
      logProb('logSoftmaxGatherBackward', dLogp, logSumExp, logits, targets),
    scaleBlocks(out, h, coefficients, rank, column) {
      const [tokens, width] = out.shape;
      const { count, each } = pieces(tokens, rowsEach(width));
      const tensors = [out.offset, h.offset, coefficients.offset];
      jobs.run('scaleBlocks', count, [tokens, width, h.shape[1], column, rank, each, ...tensors]);
    },
  };
}

export function optimiserKernels(jobs: Jobs, frozen: FrozenLayouts): Pick<Kernels, 'adamw' | 'invert'> {
  return {
    adamw(parameter, gradient, m, v, target, squaredNorm, options) {
      frozen.expectChangeable('adamw', parameter);
      const { learningRate, epsilon, decay, maxNorm } = options;
      const { keep1, keep2, bias1, bias2 } = momentsOf(options);
      const { count, each } = pieces(parameter.size, lightElements);
      const tensors = [parameter, gradient, m, v].map(({ offset }) => offset);
      const corrections = [1 / bias1, 1 / bias2];
      jobs.run(
        'adamw',
        count,
        [parameter.size, each, ...tensors, target?.offset ?? 0, squaredNorm.offset],
        [learningRate, keep1, keep2, 1 - keep1, 1 - keep2, ...corrections, epsilon, learningRate * decay, maxNorm],
      );
    },
    invert(out, x) {
      const size = x.shape[0];
      if (2 * 8 * size * size > jobs.scratchBytes) {
        throw new DeviceError({ call: 'invert', expected: 'a matrix of an adapter’s rank', found: `${size} rows` });
      }
      jobs.run('invert', 1, [size, out.offset, x.offset]);
    },
  };
}
