/**
 * The bases that adapters start from, in float64 on the host: SVD of a weight (PiSSA), SVD of W C^½ with C the contrastive
 * input covariance (CorDA, Yang et al. 2024), the signed mean difference, and the Cayley rotation. C = ΔᵀΔ/n + ridge · I has
 * the n directions of the pairs and one variance in all others, so with Δ/√n = P diag(s) Qᵀ its root is
 *   C^½ = √ridge · I + Q diag(√(s² + ridge) − √ridge) Qᵀ,
 * exactly; it is cheap where there are few pairs.
 */

import { inverse, Matrix, SingularValueDecomposition } from 'ml-matrix';
import { UserError } from '../base/index.ts';

export interface Basis {
  /** Columns: output directions [O, n]. */
  readonly U: Matrix;
  readonly S: readonly number[];
  /** Rows: input directions [n, C]. */
  readonly V: Matrix;
}

/** The leading singular triplets of a matrix, largest first. */
export type LeadingSvd = (matrix: Matrix, count: number) => Basis | Promise<Basis>;

export function toMatrix(data: Float32Array, rows: number, columns: number): Matrix {
  const matrix = new Matrix(rows, columns);
  for (let row = 0; row < rows; row++) matrix.setRow(row, [...data.subarray(row * columns, (row + 1) * columns)]);
  return matrix;
}

/** The leading triplets from a full SVD, by ml-matrix. */
export function leadingSvd(matrix: Matrix, count: number): Basis {
  const svd = new SingularValueDecomposition(matrix, { autoTranspose: true });
  const last = Math.min(count, svd.diagonal.length) - 1;
  return {
    U: svd.leftSingularVectors.subMatrix(0, matrix.rows - 1, 0, last),
    S: svd.diagonal.slice(0, last + 1),
    V: svd.rightSingularVectors.subMatrix(0, matrix.columns - 1, 0, last).transpose(),
  };
}

/** The map matrix ↦ matrix · C^½ for paired input differences Δ [n, C]; the ridge is relative to the mean variance. */
export function covarianceRoot(differences: Matrix, ridge: number): (matrix: Matrix) => Matrix {
  const scaled = Matrix.div(differences, Math.sqrt(differences.rows));
  const svd = new SingularValueDecomposition(scaled, { autoTranspose: true });
  const variance = svd.diagonal.reduce((sum, s) => sum + s * s, 0) / differences.columns;
  const floor = Math.sqrt(ridge * variance);
  const Q = svd.rightSingularVectors.subMatrix(0, differences.columns - 1, 0, svd.diagonal.length - 1);
  const gains = Matrix.diag(svd.diagonal.map((s) => Math.sqrt(s * s + floor * floor) - floor));
  return (matrix) => Matrix.mul(matrix, floor).add(matrix.mmul(Q).mmul(gains).mmul(Q.transpose()));
}

/** U, S of W C^½, and its right singular vectors taken back through C^½. */
export async function cordaBasis(
  weight: Matrix,
  differences: Matrix,
  ridge: number,
  count: number,
  svd: LeadingSvd = leadingSvd,
): Promise<Basis> {
  const timesRoot = covarianceRoot(differences, ridge);
  const { U, S, V } = await svd(timesRoot(weight), count);
  return { U, S, V: timesRoot(V) };
}

export interface SignedDirection {
  /** Unit mean paired input difference. */
  readonly input: number[];
  /** Unit W · input. */
  readonly output: number[];
}

export function signedDirection(weight: Matrix, differences: Matrix): SignedDirection {
  const input = unit(differences.mean('column'));
  return { input, output: unit(weight.mmul(Matrix.columnVector(input)).to1DArray()) };
}

/** (I − X̂)(I + X̂)⁻¹ for X̂ = X − Xᵀ: a rotation for every X, the identity for X = 0. */
export function cayleyRotation(X: Matrix): Matrix {
  const skew = Matrix.sub(X, X.transpose());
  const identity = Matrix.eye(X.rows);
  return Matrix.sub(identity, skew).mmul(inverse(Matrix.add(identity, skew)));
}

function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  if (!(length > 0)) {
    throw new UserError({
      call: 'signed direction',
      expected: 'a mean paired difference that is not zero',
      found: `one of length ${length}`,
      fix: 'Use pairs whose hack and clean sides differ in the same way.',
    });
  }
  return vector.map((value) => value / length);
}
