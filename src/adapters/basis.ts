/**
 * The bases that adapters start from, in float64 on the host: SVD of a weight (PiSSA), SVD of W C^½ with C the contrastive
 * input covariance (CorDA, Yang et al. 2024), the signed mean difference, and the Cayley rotation. C = ΔᵀΔ/n + ridge · I has
 * the n directions of the pairs and one variance in all others, so with Δ/√n = P diag(s) Qᵀ its root is
 *   C^½ = √ridge · I + Q diag(√(s² + ridge) − √ridge) Qᵀ,
 * exactly; it is cheap where there are few pairs.
 */

import { EigenvalueDecomposition, inverse, Matrix, SingularValueDecomposition } from 'ml-matrix';
import { UserError } from '../base/index.ts';

export interface Basis {
  /** Columns: output directions [O, n]. */
  readonly U: Matrix;
  readonly S: readonly number[];
  /** Rows: input directions [n, C]. */
  readonly V: Matrix;
}

/** W, row major. */
export interface WeightMatrix {
  readonly data: Float32Array;
  readonly rows: number;
  readonly columns: number;
}

/** C^½ = floor · I + Q diag(gains) Qᵀ. */
export interface CovarianceRoot {
  readonly floor: number;
  /** The columns of Q as rows. */
  readonly directions: Matrix;
  readonly gains: readonly number[];
}

/** A matrix whose singular vectors are wanted: W, or W C^½ where there is a root. */
export interface SvdSource extends WeightMatrix {
  readonly root?: CovarianceRoot;
}

/** The leading singular triplets of a matrix, largest first. */
export type LeadingSvd = (source: SvdSource, count: number) => Basis | Promise<Basis>;

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

export const fullSvd = ({ data, rows, columns, root }: SvdSource, count: number): Basis => {
  const weight = toMatrix(data, rows, columns);
  return leadingSvd(root === undefined ? weight : timesRoot(weight, root), count);
};

/** Directions of the pairs whose variance is below this share of the largest are rounding errors. */
const leastVariance = 1e-13;

/**
 * The root for paired input differences Δ [n, C]; the ridge is relative to the mean variance. s² and P are the eigenvalues and
 * vectors of the small ΔΔᵀ/n, Q = Δᵀ P / (√n s).
 */
export function covarianceRoot(differences: Matrix, ridge: number): CovarianceRoot {
  const pairs = differences.rows;
  const rows = differences.to2DArray();
  const products = new Matrix(pairs, pairs);
  for (let i = 0; i < pairs; i++) {
    for (let j = 0; j <= i; j++) {
      const value = dot(rows[i], rows[j]) / pairs;
      products.set(i, j, value);
      products.set(j, i, value);
    }
  }
  const { realEigenvalues: values, eigenvectorMatrix } = new EigenvalueDecomposition(products, {
    assumeSymmetric: true,
  });
  const floor = Math.sqrt((ridge * products.trace()) / differences.columns);
  const largest = Math.max(...values);
  const kept = [...values.keys()].filter((i) => values[i] > leastVariance * largest).reverse();
  const mix = new Matrix(kept.map((i) => eigenvectorMatrix.getColumn(i).map((v) => v / Math.sqrt(pairs * values[i]))));
  const gains = kept.map((i) => Math.sqrt(values[i] + floor * floor) - floor);
  return { floor, directions: mix.mmul(differences), gains };
}

/** matrix · C^½ */
export function timesRoot(matrix: Matrix, { floor, directions, gains }: CovarianceRoot): Matrix {
  const along = matrix.mmul(directions.transpose());
  return Matrix.mul(matrix, floor).add(along.mmul(Matrix.diag([...gains])).mmul(directions));
}

/** U, S of W C^½, and its right singular vectors taken back through C^½. */
export async function cordaBasis(
  weight: WeightMatrix,
  differences: Matrix,
  ridge: number,
  count: number,
  svd: LeadingSvd = fullSvd,
): Promise<Basis> {
  const root = covarianceRoot(differences, ridge);
  const { U, S, V } = await svd({ ...weight, root }, count);
  return { U, S, V: timesRoot(V, root) };
}

export interface SignedDirection {
  /** Unit mean paired input difference. */
  readonly input: number[];
  /** Unit W · input. */
  readonly output: number[];
}

export function signedDirection({ data, rows, columns }: WeightMatrix, differences: Matrix): SignedDirection {
  const input = unit(differences.mean('column'));
  const image = new Array<number>(rows);
  for (let row = 0, at = 0; row < rows; row++) {
    let sum = 0;
    for (let column = 0; column < columns; column++) sum += data[at++] * input[column];
    image[row] = sum;
  }
  return { input, output: unit(image) };
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
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
