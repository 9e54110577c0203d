/** out[m, n] = Σ_k op(a)[m, k] · op(b)[k, n], one float64 sum per element; and the inverse of a small matrix. */
import type { Kernels } from '../index.ts';
import type { Slab } from './memory.ts';

export function referenceMatmulKernels(slab: Slab): Pick<Kernels, 'matmul' | 'invert'> {
  return {
    matmul(out, a, b, { transposeA, transposeB, accumulate }) {
      const left = slab.floats(a);
      const right = slab.floats(b);
      const target = slab.floats(out);
      const [rows, columns] = out.shape.slice(-2);
      const depth = transposeA ? a.shape.slice(-2)[0] : a.shape.slice(-2)[1];
      const [leftRow, leftDepth] = transposeA ? [1, rows] : [depth, 1];
      const [rightDepth, rightColumn] = transposeB ? [1, depth] : [columns, 1];
      const batches = out.shape.length === 3 ? out.shape[0] : 1;
      const sums = new Float64Array(columns);
      for (let batch = 0; batch < batches; batch++) {
        for (let m = 0; m < rows; m++) {
          const row = { values: left, base: batch * rows * depth + m * leftRow, step: leftDepth };
          const matrix = { values: right, base: batch * depth * columns, step: rightDepth };
          sumProducts(sums, row, matrix, rightColumn, depth);
          const at = (batch * rows + m) * columns;
          for (let n = 0; n < columns; n++) {
            target[at + n] = accumulate ? target[at + n] + Math.fround(sums[n]) : sums[n];
          }
        }
      }
    },
    invert(out, x) {
      const size = x.shape[0];
      const work = Float64Array.from(slab.floats(x));
      const inverse = Float64Array.from({ length: size * size }, (_, i) => (i % (size + 1) === 0 ? 1 : 0));
      for (let column = 0; column < size; column++) eliminate([work, inverse], size, column);
      slab.floats(out).set(inverse);
    },
  };
}

/** Values along the depth of a product: the k-th stands at base + k · step. */
interface Along {
  readonly values: Float32Array;
  readonly base: number;
  readonly step: number;
}

/** sums[n] = Σ_k row[k] · matrix[k, n], k rising. Four columns at a time: their sums do not wait for each other. */
function sumProducts(sums: Float64Array, row: Along, matrix: Along, column: number, depth: number): void {
  const [x, y] = [row.values, matrix.values];
  let n = 0;
  for (; n + 3 < sums.length; n += 4) {
    let [s0, s1, s2, s3] = [0, 0, 0, 0];
    let [i, j] = [row.base, matrix.base + n * column];
    for (let k = 0; k < depth; k++) {
      const value = x[i];
      s0 += value * y[j];
      s1 += value * y[j + column];
      s2 += value * y[j + 2 * column];
      s3 += value * y[j + 3 * column];
      i += row.step;
      j += matrix.step;
    }
    sums[n] = s0;
    sums[n + 1] = s1;
    sums[n + 2] = s2;
    sums[n + 3] = s3;
  }
  for (; n < sums.length; n++) {
    let sum = 0;
    const base = matrix.base + n * column;
    for (let k = 0; k < depth; k++) sum += x[row.base + k * row.step] * y[base + k * matrix.step];
    sums[n] = sum;
  }
}

/** Gauss–Jordan: brings column `column` of the first matrix to a unit column, doing the same to the second. */
function eliminate(matrices: readonly [Float64Array, Float64Array], size: number, column: number): void {
  const [work] = matrices;
  let pivot = column;
  for (let row = column + 1; row < size; row++) {
    if (Math.abs(work[row * size + column]) > Math.abs(work[pivot * size + column])) pivot = row;
  }
  const divisor = work[pivot * size + column];
  const factors = Float64Array.from({ length: size }, (_, row) => work[row * size + column]);
  factors[pivot] = factors[column];
  for (const matrix of matrices) {
    for (let j = 0; j < size; j++) {
      const lead = matrix[pivot * size + j] / divisor;
      matrix[pivot * size + j] = matrix[column * size + j];
      matrix[column * size + j] = lead;
      for (let row = 0; row < size; row++) if (row !== column) matrix[row * size + j] -= factors[row] * lead;
    }
  }
}
