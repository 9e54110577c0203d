/**
 * Rows made orthonormal on a device by repeated Cholesky factorisations of their innerProducts products, shifted so that rows which
 * depend on others do not end it (Fukaya, Kannan, Nakatsukasa, Yamamoto and Yanagisawa 2020). Like Gram-Schmidt it keeps the
 * first rows and changes later ones; each pass makes the rows better conditioned, until they are orthonormal in float32.
 */
import { Matrix } from 'ml-matrix';
import { DeviceError } from '../base/index.ts';
import type { Scope, Tensor } from '../engine/index.ts';
import { innerProducts, mixRows, readMatrix } from './row-blocks.ts';

const mostPasses = 8;
/** What float32 leaves of the innerProducts products of orthonormal rows. */
const tolerance = 1e-5;
/** The shift for each row, of innerProducts products of rows of length 1. */
const shiftPerRow = 1e-7;

export async function orthonormalise(scope: Scope, block: Tensor): Promise<Tensor> {
  let rows = block;
  for (let pass = 0; pass < mostPasses; pass++) {
    const products = await readMatrix(innerProducts(scope, rows, rows));
    if (distanceFromIdentity(products) <= tolerance) return rows;
    rows = mixRows(scope, inverseFactor(products), rows);
  }
  throw new DeviceError({
    call: `make ${block.shape[0]} rows of ${block.shape[1]} numbers orthonormal`,
    expected: `innerProducts products within ${tolerance} after ${mostPasses} passes`,
    found: 'larger ones',
  });
}

function distanceFromIdentity(products: Matrix): number {
  return Matrix.sub(products, Matrix.eye(products.rows)).abs().max();
}

/** L⁻¹ D⁻¹ of products = D (L Lᵀ − shift · I) D, D being the lengths of the rows. */
function inverseFactor(products: Matrix): Matrix {
  const size = products.rows;
  const lengths = products.diagonal().map(Math.sqrt);
  const factor = new Matrix(size, size);
  const inverse = new Matrix(size, size);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = i === j ? 1 + shiftPerRow * size : products.get(i, j) / (lengths[i] * lengths[j]);
      for (let k = 0; k < j; k++) sum -= factor.get(i, k) * factor.get(j, k);
      factor.set(i, j, i === j ? Math.sqrt(Math.max(sum, shiftPerRow)) : sum / factor.get(j, j));
    }
    for (let j = 0; j <= i; j++) {
      let sum = i === j ? 1 : 0;
      for (let k = j; k < i; k++) sum -= factor.get(i, k) * inverse.get(k, j);
      inverse.set(i, j, sum / factor.get(i, i));
    }
  }
  for (let j = 0; j < size; j++) for (let i = j; i < size; i++) inverse.set(i, j, inverse.get(i, j) / lengths[j]);
  return inverse;
}
