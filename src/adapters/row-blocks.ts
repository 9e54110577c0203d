/** Blocks of vectors, one a row, on a device, and the small matrices that mix them, on the host. */
import { Matrix } from 'ml-matrix';
import { readFloats, type Scope, type Tensor } from '../engine/index.ts';

export async function readMatrix(tensor: Tensor): Promise<Matrix> {
  const data = await readFloats(tensor);
  const [rows, columns] = tensor.shape;
  return new Matrix(
    Array.from({ length: rows }, (_, row) => Array.from(data.subarray(row * columns, (row + 1) * columns))),
  );
}

export function writeMatrix(scope: Scope, matrix: Matrix): Tensor {
  const { rows, columns } = matrix;
  const data = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) data.set(matrix.getRow(row), row * columns);
  return scope.from(data, [rows, columns], 'small matrix');
}

/** weights · rows: each new row a mixture of the rows. */
export function mixRows(scope: Scope, weights: Matrix, rows: Tensor): Tensor {
  const out = scope.empty([weights.rows, rows.shape[1]], 'mixed rows');
  const mix = writeMatrix(scope, weights);
  scope.device.kernels.matmul(out, mix, rows, { transposeA: false, transposeB: false, accumulate: false });
  return out;
}

/** The innerProducts products of the rows of a with those of b. */
export function innerProducts(scope: Scope, a: Tensor, b: Tensor): Tensor {
  const out = scope.empty([a.shape[0], b.shape[0]], 'innerProducts products');
  scope.device.kernels.matmul(out, a, b, { transposeA: false, transposeB: true, accumulate: false });
  return out;
}

export function stackRows(scope: Scope, parts: readonly Tensor[]): Tensor {
  const rows = parts.reduce((sum, { shape }) => sum + shape[0], 0);
  const out = scope.empty([rows, parts[0].shape[1]], 'stacked rows');
  let start = 0;
  for (const part of parts) {
    scope.device.kernels.copy(out.rows(start, start + part.shape[0]), part);
    start += part.shape[0];
  }
  return out;
}
