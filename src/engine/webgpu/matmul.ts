/** Matrix products in tiles, and the inverse of a small matrix. */
import { type Device, type Kernels, Scope } from '../index.ts';
import { groupKernel, lanes } from './kernel.ts';
import type { KernelQueue } from './queue.ts';

/** A group computes a tile of this many rows and columns, a thread 4 × 4 of it, this deep at a time. */
const tile = 32;
const depthEach = 16;
/** Long sums are sums of pieces, and those of pieces of pieces: one after another, 300,000 products lose half of their digits. */
const pieceDepth = 256;
const piecesEach = 64;

/** Strides say where op(a)[m, k] and op(b)[k, n] stand, so that one kernel serves all transposes. */
const matmul = groupKernel('matmul', {
  words: [
    ...(['out', 'a', 'b', 'rows', 'columns', 'depth', 'tilesDown', 'tilesAcross'] as const),
    ...(['aRow', 'aDepth', 'bDepth', 'bColumn', 'accumulate'] as const),
  ],
  shared: `
var<workgroup> left: array<f32, ${depthEach * tile}>;
var<workgroup> right: array<f32, ${depthEach * tile}>;
fn four(which: vec4<f32>, accumulate: bool, at: u32, room: u32) {
  for (var j = 0u; j < min(4u, room); j++) {
    if (accumulate) { setFloat(at + j, floatAt(at + j) + which[j]); } else { setFloat(at + j, which[j]); }
  }
}`,
  body: `
  let tiles = p.tilesDown * p.tilesAcross;
  let batch = group / tiles;
  let row0 = ((group % tiles) / p.tilesAcross) * ${tile}u;
  let column0 = (group % p.tilesAcross) * ${tile}u;
  let a = p.a + batch * p.rows * p.depth;
  let b = p.b + batch * p.depth * p.columns;
  let across = 4u * (lane % ${tile / 4}u);
  let down = 4u * (lane / ${tile / 4}u);
  var piece = mat4x4<f32>();
  var pieces = mat4x4<f32>();
  var total = mat4x4<f32>();
  for (var start = 0u; start < p.depth; start += ${depthEach}u) {
    for (var j = lane; j < ${depthEach * tile}u; j += ${lanes}u) {
      // Neighbouring threads read neighbouring words.
      let aLies = p.aDepth == 1u;
      let aK = select(j / ${tile}u, j % ${depthEach}u, aLies);
      let m = select(j % ${tile}u, j / ${depthEach}u, aLies);
      var value = 0.0;
      if (row0 + m < p.rows && start + aK < p.depth) { value = floatAt(a + (row0 + m) * p.aRow + (start + aK) * p.aDepth); }
      left[aK * ${tile}u + m] = value;
      let bLies = p.bDepth == 1u;
      let bK = select(j / ${tile}u, j % ${depthEach}u, bLies);
      let n = select(j % ${tile}u, j / ${depthEach}u, bLies);
      value = 0.0;
      if (column0 + n < p.columns && start + bK < p.depth) { value = floatAt(b + (start + bK) * p.bDepth + (column0 + n) * p.bColumn); }
      right[bK * ${tile}u + n] = value;
    }
    workgroupBarrier();
    for (var k = 0u; k < ${depthEach}u; k++) {
      let x = k * ${tile}u + down;
      let y = k * ${tile}u + across;
      let r = vec4<f32>(right[y], right[y + 1u], right[y + 2u], right[y + 3u]);
      piece[0] += left[x] * r;
      piece[1] += left[x + 1u] * r;
      piece[2] += left[x + 2u] * r;
      piece[3] += left[x + 3u] * r;
    }
    workgroupBarrier();
    let done = start + ${depthEach}u;
    if (done % ${pieceDepth}u == 0u) { pieces += piece; piece = mat4x4<f32>(); }
    if (done % ${pieceDepth * piecesEach}u == 0u) { total += pieces; pieces = mat4x4<f32>(); }
  }
  total += pieces + piece;
  let column = column0 + across;
  if (column >= p.columns) { return; }
  let room = p.columns - column;
  let row = row0 + down;
  let at = p.out + (batch * p.rows + row) * p.columns + column;
  let adds = p.accumulate != 0u;
  if (row < p.rows) { four(total[0], adds, at, room); }
  if (row + 1u < p.rows) { four(total[1], adds, at + p.columns, room); }
  if (row + 2u < p.rows) { four(total[2], adds, at + 2u * p.columns, room); }
  if (row + 3u < p.rows) { four(total[3], adds, at + 3u * p.columns, room); }`,
});

/** Gauss–Jordan with row pivots on [x | 1]: a thread has a column of both matrices. */
const invert = groupKernel('invert', {
  words: ['out', 'x', 'work', 'factors', 'size'],
  shared: 'var<workgroup> pivot: u32;',
  body: `
  let n = p.size;
  for (var i = lane; i < n * n; i += ${lanes}u) {
    memory[p.work + i] = memory[p.x + i];
    setFloat(p.out + i, select(0.0, 1.0, i % (n + 1u) == 0u));
  }
  storageBarrier();
  for (var column = 0u; column < n; column++) {
    if (lane == 0u) {
      var best = column;
      for (var row = column + 1u; row < n; row++) {
        if (abs(floatAt(p.work + row * n + column)) > abs(floatAt(p.work + best * n + column))) { best = row; }
      }
      pivot = best;
      for (var row = 0u; row < n; row++) { memory[p.factors + row] = memory[p.work + select(row, column, row == best) * n + column]; }
      memory[p.factors + n] = memory[p.work + best * n + column];
    }
    storageBarrier();
    let chosen = workgroupUniformLoad(&pivot);
    let divisor = floatAt(p.factors + n);
    for (var i = lane; i < 2u * n; i += ${lanes}u) {
      let matrix = select(p.out, p.work, i < n) + i % n;
      let lead = floatAt(matrix + chosen * n) / divisor;
      memory[matrix + chosen * n] = memory[matrix + column * n];
      setFloat(matrix + column * n, lead);
      for (var row = 0u; row < n; row++) {
        if (row != column) { setFloat(matrix + row * n, floatAt(matrix + row * n) - floatAt(p.factors + row) * lead); }
      }
    }
    storageBarrier();
  }`,
});

/** `home` is the device itself, from whose arena scratch memory is taken. */
export function webgpuMatmulKernels(queue: KernelQueue, home: () => Device): Pick<Kernels, 'matmul' | 'invert'> {
  return {
    matmul(out, a, b, { transposeA, transposeB, accumulate }) {
      const [rows, columns] = out.shape.slice(-2);
      const [aRows, aColumns] = a.shape.slice(-2);
      const depth = transposeA ? aRows : aColumns;
      const [tilesDown, tilesAcross] = [Math.ceil(rows / tile), Math.ceil(columns / tile)];
      const count = (out.shape.length === 3 ? out.shape[0] : 1) * tilesDown * tilesAcross;
      const [aRow, aDepth] = transposeA ? [1, rows] : [depth, 1];
      const [bDepth, bColumn] = transposeB ? [1, depth] : [columns, 1];
      const strides = { aRow, aDepth, bDepth, bColumn };
      const numbers = { count, out, a, b, rows, columns, depth, tilesDown, tilesAcross, ...strides, accumulate };
      queue.run(matmul, count, numbers);
    },
    invert(out, x) {
      const size = x.shape[0];
      if (size === 0) return;
      using scope = new Scope(home());
      const work = scope.empty([size, size], 'matrix to invert');
      const factors = scope.empty([size + 1], 'factors');
      queue.run(invert, 1, { count: 1, out, x, work, factors, size });
    },
  };
}
