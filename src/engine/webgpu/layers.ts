/** The transformer's other kernels: embedding rows, RMSNorm, rotary, log-softmax, adapter blocks. */
import type { Kernels, Tensor } from '../index.ts';
import { groupsFor } from './elementwise.ts';
import { elementKernel, groupKernel, groupSums, lanes, least } from './kernel.ts';
import type { KernelQueue } from './queue.ts';
import { blocksOf, columnSums } from './reduce.ts';

const gatherRows = elementKernel('gatherRows', {
  words: ['out', 'table', 'index', 'columns'],
  body: 'memory[p.out + i] = memory[p.table + memory[p.index + i / p.columns] * p.columns + i % p.columns];',
});
const scatterRows = elementKernel('scatterRows', {
  words: ['out', 'x', 'index', 'columns'],
  body: 'memory[p.out + memory[p.index + i / p.columns] * p.columns + i % p.columns] = memory[p.x + i];',
});
/** A thread has a column, so that rows are added in order. */
const scatterAddRows = elementKernel('scatterAddRows', {
  words: ['out', 'x', 'index', 'rows'],
  body: `
  for (var n = 0u; n < p.rows; n++) {
    let at = p.out + memory[p.index + n] * p.size + i;
    setFloat(at, floatAt(at) + floatAt(p.x + n * p.size + i));
  }`,
});

const rmsNorm = groupKernel('rmsNorm', {
  words: ['out', 'inverseRms', 'x', 'weight', 'columns'],
  floats: ['epsilon'],
  shared: groupSums,
  body: `
  let row = group * p.columns;
  var squares = 0.0;
  for (var c = lane; c < p.columns; c += ${lanes}u) {
    let x = floatAt(p.x + row + c);
    squares += x * x;
  }
  let r = 1.0 / sqrt(sumOfGroup(lane, squares) / f32(p.columns) + p.epsilon);
  if (lane == 0u) { setFloat(p.inverseRms + group, r); }
  for (var c = lane; c < p.columns; c += ${lanes}u) {
    setFloat(p.out + row + c, floatAt(p.x + row + c) * r * floatAt(p.weight + c));
  }`,
});
const rmsNormBackward = groupKernel('rmsNormBackward', {
  words: ['dx', 'dy', 'x', 'weight', 'inverseRms', 'columns', 'accumulate'],
  shared: groupSums,
  body: `
  let row = group * p.columns;
  let r = floatAt(p.inverseRms + group);
  var sum = 0.0;
  for (var c = lane; c < p.columns; c += ${lanes}u) {
    sum += floatAt(p.dy + row + c) * floatAt(p.weight + c) * floatAt(p.x + row + c) * r;
  }
  let mean = sumOfGroup(lane, sum) / f32(p.columns);
  for (var c = lane; c < p.columns; c += ${lanes}u) {
    let at = p.dx + row + c;
    var value = r * (floatAt(p.dy + row + c) * floatAt(p.weight + c) - floatAt(p.x + row + c) * r * mean);
    if (p.accumulate != 0u) { value += floatAt(at); }
    setFloat(at, value);
  }`,
});
const rmsNormWeight = columnSums(
  'rmsNormWeight',
  ['rows', 'dy', 'x', 'inverseRms'],
  'let begin = 0u; let end = p.rows;',
  'floatAt(p.dy + row * p.columns + column) * floatAt(p.x + row * p.columns + column) * floatAt(p.inverseRms + row)',
);

const rotary = elementKernel('rotary', {
  words: ['out', 'x', 'positions', 'table', 'heads', 'half', 'inverse'],
  body: `
  let d = i % p.half;
  let row = i / p.half;
  let angle = p.table + memory[p.positions + row / p.heads] * 2u * p.half + d;
  let cosine = floatAt(angle);
  let sine = select(floatAt(angle + p.half), -floatAt(angle + p.half), p.inverse != 0u);
  let at = row * 2u * p.half + d;
  let a = floatAt(p.x + at);
  let b = floatAt(p.x + at + p.half);
  setFloat(p.out + at, a * cosine - b * sine);
  setFloat(p.out + at + p.half, b * cosine + a * sine);`,
});

const logSoftmaxGather = groupKernel('logSoftmaxGather', {
  words: ['logp', 'logSumExp', 'logits', 'targets', 'columns'],
  shared: groupSums,
  body: `
  let row = p.logits + group * p.columns;
  var most = ${least};
  for (var c = lane; c < p.columns; c += ${lanes}u) { most = max(most, floatAt(row + c)); }
  let top = mostOfGroup(lane, most);
  var sum = 0.0;
  for (var c = lane; c < p.columns; c += ${lanes}u) { sum += exp(floatAt(row + c) - top); }
  let rest = log(sumOfGroup(lane, sum));
  if (lane == 0u) {
    setFloat(p.logSumExp + group, top + rest);
    setFloat(p.logp + group, floatAt(row + memory[p.targets + group]) - top - rest);
  }`,
});
const logSoftmaxGatherBackward = elementKernel('logSoftmaxGatherBackward', {
  words: ['logits', 'logSumExp', 'targets', 'dLogp', 'columns'],
  body: `
  let row = i / p.columns;
  let hit = select(0.0, 1.0, i % p.columns == memory[p.targets + row]);
  let share = exp(floatAt(p.logits + i) - floatAt(p.logSumExp + row));
  setFloat(p.logits + i, floatAt(p.dLogp + row) * (hit - share));`,
});

const scaleBlocks = elementKernel('scaleBlocks', {
  words: ['out', 'h', 'coefficients', 'width', 'columns', 'rank', 'column'],
  body: `
  let token = i / p.width;
  let j = p.column + i % p.width;
  let scale = floatAt(p.coefficients + 2u * token + (j / p.rank) % 2u);
  let value = floatAt(p.h + token * p.columns + j) * scale;
  setFloat(p.out + i, select(-value, value, j < 2u * p.rank));`,
});

type Names =
  | 'gatherRows'
  | 'scatterRows'
  | 'scatterAddRows'
  | 'rmsNorm'
  | 'rmsNormBackward'
  | 'rotary'
  | 'logSoftmaxGather'
  | 'logSoftmaxGatherBackward'
  | 'scaleBlocks';

export function webgpuLayerKernels(queue: KernelQueue): Pick<Kernels, Names> {
  const columnsOf = (table: Tensor): number => table.size / Math.max(1, table.shape[0]);
  return {
    gatherRows: (out, table, index) =>
      queue.run(gatherRows, groupsFor(out.size), { size: out.size, out, table, index, columns: columnsOf(table) }),
    scatterRows: (out, x, index) =>
      queue.run(scatterRows, groupsFor(x.size), { size: x.size, out, x, index, columns: columnsOf(out) }),
    scatterAddRows(out, x, index) {
      const size = columnsOf(out);
      queue.run(scatterAddRows, groupsFor(size), { size, out, x, index, rows: index.size });
    },
    rmsNorm(out, inverseRms, x, weight, epsilon) {
      const [count, columns] = [inverseRms.size, weight.size];
      queue.run(rmsNorm, count, { count, out, inverseRms, x, weight, columns, epsilon });
    },
    rmsNormBackward(dx, dWeight, dy, x, weight, inverseRms, accumulate) {
      const [rows, columns] = [inverseRms.size, weight.size];
      const inputs = { dy, x, inverseRms, columns };
      if (dWeight !== null) {
        const blocks = blocksOf(columns);
        queue.run(rmsNormWeight, blocks, { ...inputs, count: blocks, out: dWeight, blocks, rows, accumulate: true });
      }
      queue.run(rmsNormBackward, rows, { ...inputs, count: rows, dx, weight, accumulate });
    },
    rotary(out, x, positions, table, inverse) {
      const [, heads, headSize] = x.shape;
      const size = x.size / 2;
      queue.run(rotary, groupsFor(size), { size, out, x, positions, table, heads, half: headSize / 2, inverse });
    },
    logSoftmaxGather(logp, logSumExp, logits, targets) {
      const [count, columns] = logits.shape;
      queue.run(logSoftmaxGather, count, { count, logp, logSumExp, logits, targets, columns });
    },
    logSoftmaxGatherBackward(logits, logSumExp, targets, dLogp) {
      const numbers = { size: logits.size, logits, logSumExp, targets, dLogp, columns: logits.shape[1] };
      queue.run(logSoftmaxGatherBackward, groupsFor(logits.size), numbers);
    },
    scaleBlocks(out, h, coefficients, rank, column) {
      const numbers = { size: out.size, out, h, coefficients, width: out.shape[1], columns: h.shape[1], rank, column };
      queue.run(scaleBlocks, groupsFor(out.size), numbers);
    },
  };
}
