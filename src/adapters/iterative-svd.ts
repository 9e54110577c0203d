/**
 * The leading singular triplets of a large matrix M: subspace iteration on G = MᵀM (or MMᵀ, whichever is smaller), each
 * round filtered by a Chebyshev polynomial of G that is small on [0, θ] and grows beyond, θ being the smallest Ritz value
 * of the block (Zhou and Saad 2007). A vector v is found when ‖G v − σ² v‖ ≤ 3e-5 · σ², or 1e-7 · σ₁², which is what float32
 * resolves; it is then projected out of G, so that the small directions of a spectrum that falls steeply are found as well as
 * the large ones. Everything as long as a vector stays on the device in float32; what has the size of the block is computed
 * in float64 on the host. The start is a fixed stream: same matrix and device, same result.
 */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { DeviceError, randomStream } from '../base/index.ts';
import { nextTask } from '../base/node/index.ts';
import { type Device, readFloats, Scope, type Tensor } from '../engine/index.ts';
import type { Basis, SvdSource } from './basis.ts';
import { orthonormalise } from './orthonormal.ts';
import { innerProducts, mixRows, readMatrix, stackRows, writeMatrix } from './row-blocks.ts';

const residualBound = 3e-5;
/** Residuals below this share of the largest value are rounding errors. */
const noise = 1e-7;
const mostRounds = 60;
const highestDegree = 20;
/** How much a filter may favour the largest direction over the last wanted one: float32 must still resolve both. */
const mostGrowth = 1e4;
/** How much a filter may multiply a vector by: the square must stay a float32. */
const mostSize = 1e12;

export async function iterativeSvd(device: Device, source: SvdSource, count: number): Promise<Basis> {
  using scope = new Scope(device);
  const matrix = placeMatrix(scope, source);
  const [rows, columns] = matrix.shape;
  const isTall = rows >= columns;
  const vectors = await leadingVectors(scope, gramMatrix(scope, matrix, isTall), count);
  if (vectors !== null) return await triplets(scope, matrix, vectors, isTall);
  throw new DeviceError({
    call: `leading singular vectors of [${rows}, ${columns}]`,
    expected: `a residual of ${residualBound} after ${mostRounds} rounds on ${device.name}`,
    found: 'a larger one',
  });
}

/** M = W, or W C^½ = floor · W + (W Q diag(gains)) Qᵀ. */
function placeMatrix(scope: Scope, { data, rows, columns, root }: SvdSource): Tensor {
  const matrix = scope.from(data, [rows, columns], 'matrix of singular vectors');
  if (root === undefined) return matrix;
  const { kernels } = scope.device;
  using inside = new Scope(scope.device);
  const directions = writeMatrix(inside, root.directions);
  const along = inside.empty([rows, root.gains.length], 'weight along the pairs');
  const scaled = writeMatrix(inside, Matrix.diag([...root.gains]).mmul(root.directions));
  kernels.matmul(along, matrix, directions, { transposeA: false, transposeB: true, accumulate: false });
  kernels.affine(matrix, matrix, root.floor, 0);
  kernels.matmul(matrix, along, scaled, { transposeA: false, transposeB: false, accumulate: true });
  return matrix;
}

function gramMatrix(scope: Scope, matrix: Tensor, isTall: boolean): Tensor {
  const small = Math.min(...matrix.shape);
  const gram = scope.empty([small, small], 'Gram matrix');
  scope.device.kernels.matmul(gram, matrix, matrix, { transposeA: isTall, transposeB: !isTall, accumulate: false });
  return gram;
}

/** The leading eigenvectors of G as rows; G is changed. Null where they are not found. */
async function leadingVectors(scope: Scope, gram: Tensor, count: number): Promise<Tensor | null> {
  const { device } = scope;
  const [small] = gram.shape;
  const size = Math.min(small, count + Math.max(8, Math.ceil(count / 2)));
  const found: Tensor[] = [];
  let [missing, largest] = [count, 0];
  let block = await ritzBlock(new Scope(device), gram, startBlock(scope, small, size));
  for (let round = 0; round < mostRounds; round++) {
    await nextTask();
    largest = Math.max(largest, block.values[0]);
    const good = Math.min(missing, leadingGood(block, largest));
    if (good > 0) {
      found.push(...keep(scope, gram, block, good));
      missing -= good;
    }
    if (missing === 0) {
      block.scope[Symbol.dispose]();
      // Rounding errors along the first vectors would outweigh what is far smaller.
      return await orthonormalise(scope, stackRows(scope, found));
    }
    using last = block.scope;
    const rest = block.vectors.rows(good, block.values.length);
    const filtered = filter(last, gram, rest, filterOf(block.values.slice(good), missing));
    block = await ritzBlock(new Scope(device), gram, filtered);
  }
  block.scope[Symbol.dispose]();
  return null;
}

interface RitzBlock {
  /** Owns the vectors and images. */
  readonly scope: Scope;
  /** The Ritz vectors as rows, largest value first, and G times each. */
  readonly vectors: Tensor;
  readonly images: Tensor;
  readonly values: readonly number[];
  readonly residuals: readonly number[];
}

/** The Ritz vectors of the space that the rows of the block span. */
async function ritzBlock(scope: Scope, gram: Tensor, block: Tensor): Promise<RitzBlock> {
  const { kernels } = scope.device;
  using inside = new Scope(scope.device);
  const space = await orthonormalise(inside, block);
  const products = inside.empty(space.shape, 'Gram product');
  kernels.matmul(products, space, gram, { transposeA: false, transposeB: false, accumulate: false });
  const projected = await readMatrix(innerProducts(inside, products, space));
  const symmetric = Matrix.add(projected, projected.transpose()).mul(0.5);
  const { eigenvectorMatrix, realEigenvalues } = new EigenvalueDecomposition(symmetric, { assumeSymmetric: true });
  const order = [...realEigenvalues.keys()].sort((a, b) => realEigenvalues[b] - realEigenvalues[a]);
  const values = order.map((i) => realEigenvalues[i]);
  const weights = new Matrix(order.map((i) => eigenvectorMatrix.getColumn(i)));
  const vectors = mixRows(scope, weights, space);
  const images = mixRows(scope, weights, products);
  const rest = mixRows(inside, Matrix.diag(values.map((value) => -value)).mmul(weights), space);
  kernels.add(rest, images);
  kernels.unary('square', rest, rest);
  const squares = inside.empty([order.length], 'squared residuals');
  kernels.sumLast(squares, rest);
  const residuals = Array.from(await readFloats(squares), Math.sqrt);
  return { scope, vectors, images, values, residuals };
}

/** How many of the first vectors are good enough. */
function leadingGood({ values, residuals }: RitzBlock, largest: number): number {
  const bad = residuals.findIndex((size, i) => size > Math.max(residualBound * values[i], noise * largest));
  return bad < 0 ? residuals.length : bad;
}

/** Takes the first vectors L out of the block, and G becomes (I − LᵀL) G (I − LᵀL) = G − LᵀZ − ZᵀL, Z = L G − ½ Λ L. */
function keep(scope: Scope, gram: Tensor, { vectors, images, values }: RitzBlock, count: number): Tensor[] {
  const { kernels } = scope.device;
  using inside = new Scope(scope.device);
  const kept = scope.empty([count, vectors.shape[1]], 'found vectors');
  kernels.copy(kept, vectors.rows(0, count));
  const change = mixRows(inside, Matrix.diag(values.slice(0, count).map((value) => value / 2)), kept);
  const minus = inside.empty(kept.shape, 'images of found vectors');
  kernels.affine(minus, images.rows(0, count), -1, 0);
  kernels.add(change, minus);
  const options = { transposeA: true, transposeB: false, accumulate: true };
  kernels.matmul(gram, kept, change, options);
  kernels.matmul(gram, change, kept, options);
  return [kept];
}

interface Filter {
  readonly degree: number;
  /** Eigenvalue below which directions are damped and above which they grow. */
  readonly edge: number;
}

/** The highest degree whose growth float32 still resolves; T_m(x) = cosh(m arcosh x) for x ≥ 1. */
function filterOf(values: readonly number[], count: number): Filter {
  const edge = Math.max(values[values.length - 1], values[0] * 1e-9);
  const growth = (value: number, degree: number): number =>
    Math.cosh(degree * Math.acosh(Math.max(1, (2 * value) / edge - 1)));
  const fits = (degree: number): boolean => {
    const largest = growth(values[0], degree);
    return largest <= mostSize && largest / growth(values[count - 1], degree) <= mostGrowth;
  };
  let degree = 1;
  while (degree < highestDegree && fits(degree + 1)) degree++;
  return { degree, edge };
}

/** T_degree(2 G / edge − 1) times each row, by the recurrence of the Chebyshev polynomials. */
function filter(scope: Scope, gram: Tensor, block: Tensor, { degree, edge }: Filter): Tensor {
  const { kernels } = scope.device;
  const make = (): Tensor => scope.empty(block.shape, 'filtered block');
  const [product, scaled] = [make(), make()];
  let [before, last, next] = [make(), make(), make()];
  kernels.copy(last, block);
  for (let power = 1; power <= degree; power++) {
    const scale = power === 1 ? 1 : 2;
    kernels.matmul(product, last, gram, { transposeA: false, transposeB: false, accumulate: false });
    kernels.affine(next, product, (2 * scale) / edge, 0);
    kernels.affine(scaled, last, -scale, 0);
    kernels.add(next, scaled);
    if (power > 1) {
      kernels.affine(scaled, before, -1, 0);
      kernels.add(next, scaled);
    }
    [before, last, next] = [last, next, before];
  }
  return last;
}

function startBlock(scope: Scope, width: number, count: number): Tensor {
  const stream = randomStream(0, 'singular vectors');
  const data = new Float32Array(count * width);
  for (let row = 0; row < count; row++) stream.at(0, row).fillNormal(data.subarray(row * width, (row + 1) * width));
  return scope.from(data, [count, width], 'block of vectors');
}

/** σ and the other side's vectors from M v; a σ of zero has a vector of zeros. */
async function triplets(scope: Scope, matrix: Tensor, found: Tensor, isTall: boolean): Promise<Basis> {
  const across = scope.empty([found.shape[0], matrix.shape[isTall ? 0 : 1]], 'product across');
  scope.device.kernels.matmul(across, found, matrix, { transposeA: false, transposeB: isTall, accumulate: false });
  const [own, other] = [await readFloats(found), await readFloats(across)];
  const sizes = Array.from({ length: found.shape[0] }, (_, row) => length(other, row, across.shape[1]));
  const order = [...sizes.keys()].sort((a, b) => sizes[b] - sizes[a]);
  const vectors = pickRows(own, order, found.shape[1], () => 1);
  const others = pickRows(other, order, across.shape[1], (row) => sizes[row]);
  const [V, outputs] = isTall ? [vectors, others] : [others, vectors];
  return { U: outputs.transpose(), S: order.map((i) => sizes[i]), V };
}

function length(data: Float32Array, row: number, width: number): number {
  let sum = 0;
  for (let at = row * width; at < (row + 1) * width; at++) sum += data[at] * data[at];
  return Math.sqrt(sum);
}

/** The rows in this order, each divided by its size. */
function pickRows(data: Float32Array, order: readonly number[], width: number, size: (row: number) => number): Matrix {
  const matrix = new Matrix(order.length, width);
  order.forEach((row, i) => {
    const factor = size(row) > 0 ? size(row) : 1;
    for (let column = 0; column < width; column++) matrix.set(i, column, data[row * width + column] / factor);
  });
  return matrix;
}
