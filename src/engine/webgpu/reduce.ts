/** Sums over rows, columns, segments and everything. */
import { type Device, type Kernels, Scope } from '../index.ts';
import { groupKernel, groupSums, type Kernel, lanes } from './kernel.ts';
import type { KernelQueue } from './queue.ts';

/** Columns that a group sums, with as many threads along each. */
const columnsEach = 16;
const alongEach = lanes / columnsEach;
/** Most groups whose sums one group adds up, a thread for each. */
const mostParts = lanes;

type ColumnWords = 'count' | 'out' | 'columns' | 'blocks' | 'accumulate';

/** out [S, columns] (+)= Σ over rows [begin, end) of `value`, an expression of `row` and `column`; S segments set begin and end. */
export function columnSums<Word extends string>(
  name: string,
  words: readonly Word[],
  range: string,
  value: string,
): Kernel<ColumnWords | Word, never> {
  return groupKernel(name, {
    words: ['out', 'columns', 'blocks', 'accumulate', ...words],
    shared: `var<workgroup> shares: array<f32, ${lanes}>;`,
    body: `
  let segment = group / p.blocks;
  let column = (group % p.blocks) * ${columnsEach}u + lane % ${columnsEach}u;
  ${range}
  var sum = 0.0;
  if (column < p.columns) {
    for (var row = begin + lane / ${columnsEach}u; row < end; row += ${alongEach}u) { sum += ${value}; }
  }
  shares[lane] = sum;
  workgroupBarrier();
  if (lane < ${columnsEach}u && column < p.columns) {
    var total = 0.0;
    for (var k = 0u; k < ${alongEach}u; k++) { total += shares[lane + ${columnsEach}u * k]; }
    let at = p.out + segment * p.columns + column;
    if (p.accumulate != 0u) { total += floatAt(at); }
    setFloat(at, total);
  }`,
  });
}

export const blocksOf = (columns: number): number => Math.ceil(columns / columnsEach);

const sumFirst = columnSums(
  'sumFirst',
  ['x', 'rows'],
  'let begin = 0u; let end = p.rows;',
  'floatAt(p.x + row * p.columns + column)',
);
const segmentSum = columnSums(
  'segmentSum',
  ['x', 'width', 'ranges'],
  'let begin = memory[p.ranges + 2u * segment]; let end = memory[p.ranges + 2u * segment + 1u];',
  'floatAt(p.x + row * p.width + column)',
);

const sumLast = groupKernel('sumLast', {
  words: ['out', 'x', 'columns'],
  shared: groupSums,
  body: `
  var sum = 0.0;
  for (var c = lane; c < p.columns; c += ${lanes}u) { sum += floatAt(p.x + group * p.columns + c); }
  let total = sumOfGroup(lane, sum);
  if (lane == 0u) { setFloat(p.out + group, total); }`,
});

/** One sum for each group, of every element that it meets. */
const partsKernel = (name: string, value: string) =>
  groupKernel(name, {
    words: ['out', 'x', 'size'],
    shared: groupSums,
    body: `
  var sum = 0.0;
  for (var i = group * ${lanes}u + lane; i < p.size; i += p.count * ${lanes}u) { sum += ${value}; }
  let total = sumOfGroup(lane, sum);
  if (lane == 0u) { setFloat(p.out + group, total); }`,
  });
const squaresOfParts = partsKernel('squares', 'floatAt(p.x + i) * floatAt(p.x + i)');
// Whether a number is finite is read off its exponent: WGSL may take every number to be finite.
const nonFiniteOfParts = partsKernel('nonFinite', 'select(0.0, 1.0, (memory[p.x + i] & 0x7f800000u) == 0x7f800000u)');

const sumParts = groupKernel('sumParts', {
  words: ['out', 'x', 'parts', 'accumulate', 'whole'],
  shared: groupSums,
  body: `
  var sum = 0.0;
  if (lane < p.parts) { sum = floatAt(p.x + lane); }
  let total = sumOfGroup(lane, sum);
  if (lane != 0u) { return; }
  if (p.whole != 0u) { memory[p.out] = u32(total); }
  else if (p.accumulate != 0u) { setFloat(p.out, floatAt(p.out) + total); }
  else { setFloat(p.out, total); }`,
});

type Names = 'sumLast' | 'sumFirst' | 'segmentSum' | 'sumSquares' | 'countNonFinite';

/** `home` is the device itself, from whose arena partial sums are taken. */
export function webgpuSumKernels(queue: KernelQueue, home: () => Device): Pick<Kernels, Names> {
  return {
    sumLast(out, x) {
      const columns = out.size === 0 ? 0 : x.size / out.size;
      queue.run(sumLast, out.size, { count: out.size, out, x, columns });
    },
    sumFirst(out, x, accumulate) {
      const blocks = blocksOf(out.size);
      const rows = out.size === 0 ? 0 : x.size / out.size;
      queue.run(sumFirst, blocks, { count: blocks, out, x, columns: out.size, blocks, rows, accumulate });
    },
    segmentSum(out, x, ranges) {
      const [segments, columns] = out.shape;
      const blocks = blocksOf(columns);
      const count = segments * blocks;
      queue.run(segmentSum, count, { count, out, x, columns, blocks, width: x.shape[1], ranges, accumulate: false });
    },
    sumSquares(out, x, accumulate) {
      using scope = new Scope(home());
      const count = Math.min(mostParts, Math.ceil(x.size / lanes));
      const parts = scope.empty([count], 'partial sums');
      queue.run(squaresOfParts, count, { count, out: parts, x, size: x.size });
      queue.run(sumParts, 1, { count: 1, out, x: parts, parts: count, accumulate, whole: false });
    },
    countNonFinite(out, x) {
      using scope = new Scope(home());
      const count = Math.min(mostParts, Math.ceil(x.size / lanes));
      const parts = scope.empty([count], 'partial counts');
      queue.run(nonFiniteOfParts, count, { count, out: parts, x, size: x.size });
      queue.run(sumParts, 1, { count: 1, out, x: parts, parts: count, accumulate: false, whole: true });
    },
  };
}
