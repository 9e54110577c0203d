/**
 * The bases that adapters start from, in float64 on the host: SVD of a weight (PiSSA), SVD of W C^½ with C the contrastive
 * input covariance (CorDA), the signed mean difference, and the Cayley rotation. Singular vectors come from ml-matrix.
 */
import { EigenvalueDecomposition, inverse, Matrix, SingularValueDecomposition } from 'ml-matrix';

export interface Basis {
  /** Columns: output directions [O, n]. */
  readonly U: Matrix;
  readonly S: readonly number[];
  /** Rows: input directions [n, C]. */
  readonly V: Matrix;
}

export function toMatrix(data: ArrayLike<number>, rows: number, columns: number): Matrix {
  return Matrix.from1DArray(rows, columns, Array.from(data));
}

/** The leading `count` singular triplets, largest first. */
export function leadingSvd(matrix: Matrix, count: number): Basis {
  const svd = new SingularValueDecomposition(matrix, { autoTranspose: true });
  const last = Math.min(count, svd.diagonal.length) - 1;
  return {
    U: svd.leftSingularVectors.subMatrix(0, matrix.rows - 1, 0, last),
    S: svd.diagonal.slice(0, last + 1),
    V: svd.rightSingularVectors.subMatrix(0, matrix.columns - 1, 0, last).transpose(),
  };
}

/** Square root of ΔᵀΔ/n + ridge · (mean variance) · I, for Δ [n, C] the paired input differences. */
export function covarianceRoot(differences: Matrix, ridge: number): Matrix {
  const covariance = differences.transpose().mmul(differences).div(differences.rows);
  const variance = covariance.trace() / covariance.rows;
  const eigen = new EigenvalueDecomposition(Matrix.add(covariance, Matrix.eye(covariance.rows).mul(ridge * variance)), {
    assumeSymmetric: true,
  });
  const Q = eigen.eigenvectorMatrix;
  const roots = eigen.realEigenvalues.map((value) => Math.sqrt(Math.max(0, value)));
  return Q.mmul(Matrix.diag(roots)).mmul(Q.transpose());
}

/** U, S of W C^½, and its right singular vectors taken back through C^½. */
export function cordaBasis(weight: Matrix, differences: Matrix, ridge: number, count: number): Basis {
  const root = covarianceRoot(differences, ridge);
  const { U, S, V } = leadingSvd(weight.mmul(root), count);
  return { U, S, V: V.mmul(root) };
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

export function unit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
