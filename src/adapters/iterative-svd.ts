/**
 * The leading singular triplets of a large matrix M: block Krylov iteration on G = MᵀM (or MMᵀ, whichever is smaller) with
 * restarts (Musco and Musco 2015). Products run on a device in float32, everything of the size of the block in float64 on
 * the host. Each round spans X, GX, …, GᵈX, takes the Ritz vectors of largest value, and starts again from them, until
 *   ‖G v − σ² v‖ ≤ 3e-5 · σ₁²  for every wanted v,
 * a little above what float32 products can resolve. The start is a fixed stream: same matrix and device, same result.
 */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { DeviceError } from '../base/errors.ts';
import { randomStream } from '../base/rng.ts';
import { type Device, readFloats, Scope, type Tensor } from '../engine/index.ts';
import type { Basis } from './basis.ts';

const residualBound = 3e-5;
const depth = 3;
const mostRounds = 40;

/** Vectors as rows. */
type Rows = Float64Array[];

export async function iterativeSvd(device: Device, matrix: Matrix, count: number): Promise<Basis> {
  using scope = new Scope(device);
  const products = new Products(scope, matrix);
  let block = startBlock(products.small, Math.min(products.small, count + Math.max(8, Math.ceil(count / 4))));
  for (let round = 0; round < mostRounds; round++) {
    const { vectors, residual } = await improve(products, block, count);
    if (residual <= residualBound) return triplets(products, vectors.slice(0, count));
    block = vectors;
  }
  throw new DeviceError({
    call: `leading singular vectors of [${matrix.rows}, ${matrix.columns}]`,
    expected: `a residual of ${residualBound} after ${mostRounds} rounds on ${device.name}`,
    found: 'a larger one',
  });
}

/** M and its products with blocks of rows, on the device. */
class Products {
  readonly small: number;
  readonly #matrix: Tensor;
  readonly #tall: boolean;

  constructor(scope: Scope, matrix: Matrix) {
    const { rows, columns } = matrix;
    const data = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) data.set(matrix.getRow(row), row * columns);
    this.#matrix = scope.from(data, [rows, columns], 'matrix of singular vectors');
    this.#tall = rows >= columns;
    this.small = Math.min(rows, columns);
  }

  get tall(): boolean {
    return this.#tall;
  }

  /** Each vector of the small side, multiplied by M (or Mᵀ): the large side. */
  across(scope: Scope, block: Tensor): Tensor {
    const [rows, columns] = this.#matrix.shape;
    const out = scope.empty([block.shape[0], this.#tall ? rows : columns], 'product across');
    const options = { transposeA: false, transposeB: this.#tall, accumulate: false };
    scope.device.kernels.matmul(out, block, this.#matrix, options);
    return out;
  }

  async acrossRows(block: Rows): Promise<Rows> {
    using scope = new Scope(this.#matrix.device);
    return fromTensor(this.across(scope, toTensor(scope, block)));
  }

  /** G times each vector. */
  async gram(block: Rows): Promise<Rows> {
    using scope = new Scope(this.#matrix.device);
    const across = this.across(scope, toTensor(scope, block));
    const out = scope.empty([block.length, this.small], 'Gram product');
    const options = { transposeA: false, transposeB: !this.#tall, accumulate: false };
    scope.device.kernels.matmul(out, across, this.#matrix, options);
    return await fromTensor(out);
  }
}

function toTensor(scope: Scope, rows: Rows): Tensor {
  const data = new Float32Array(rows.length * rows[0].length);
  rows.forEach((row, i) => {
    data.set(row, i * row.length);
  });
  return scope.from(data, [rows.length, rows[0].length], 'block of vectors');
}

async function fromTensor(tensor: Tensor): Promise<Rows> {
  const data = await readFloats(tensor);
  const [count, width] = tensor.shape;
  return Array.from({ length: count }, (_, i) => Float64Array.from(data.subarray(i * width, (i + 1) * width)));
}

function startBlock(width: number, count: number): Rows {
  const stream = randomStream(0, 'singular vectors');
  return Array.from({ length: count }, (_, row) => {
    const values = new Float32Array(width);
    stream.at(0, row).fillNormal(values);
    return Float64Array.from(values);
  });
}

/** One round: the Ritz vectors of largest value in the Krylov space of `block`, and the largest wanted residual. */
async function improve(products: Products, block: Rows, count: number): Promise<{ vectors: Rows; residual: number }> {
  const space: Rows = [];
  const images: Rows = [];
  let fresh = orthonormalise(space, block);
  for (let level = 0; level <= depth && fresh.length > 0; level++) {
    space.push(...fresh);
    const image = await products.gram(fresh);
    images.push(...image);
    fresh = level < depth ? orthonormalise(space, image) : [];
  }
  const projected = new Matrix(space.length, space.length);
  for (let i = 0; i < space.length; i++) {
    for (let j = 0; j <= i; j++) {
      const value = (dot(space[i], images[j]) + dot(space[j], images[i])) / 2;
      projected.set(i, j, value);
      projected.set(j, i, value);
    }
  }
  const { eigenvectorMatrix, realEigenvalues } = new EigenvalueDecomposition(projected, { assumeSymmetric: true });
  const order = [...realEigenvalues.keys()].sort((a, b) => realEigenvalues[b] - realEigenvalues[a]);
  const kept = order.slice(0, block.length);
  const [largest] = kept.map((i) => realEigenvalues[i]);
  let residual = 0;
  const vectors = kept.map((i, rank) => {
    const weights = eigenvectorMatrix.getColumn(i);
    const vector = combine(space, weights);
    if (rank < count) {
      const image = combine(images, weights);
      const rest = image.map((value, at) => value - realEigenvalues[i] * vector[at]);
      residual = Math.max(residual, Math.sqrt(dot(rest, rest)) / largest);
    }
    return vector;
  });
  return { vectors, residual };
}

/** The block made orthonormal among itself and to `space`; what depends on the rest is left out. Each row is swept twice. */
function orthonormalise(space: Rows, block: Rows): Rows {
  const done: Rows = [];
  for (const source of block) {
    const row = Float64Array.from(source);
    const before = Math.sqrt(dot(row, row));
    for (let sweep = 0; sweep < 2; sweep++) {
      for (const other of space) subtractAlong(row, other);
      for (const other of done) subtractAlong(row, other);
    }
    const length = Math.sqrt(dot(row, row));
    if (length > 1e-6 * before) done.push(row.map((value) => value / length));
  }
  return done;
}

function subtractAlong(row: Float64Array, direction: Float64Array): void {
  const along = dot(row, direction);
  for (let i = 0; i < row.length; i++) row[i] -= along * direction[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

function combine(rows: Rows, weights: readonly number[]): Float64Array {
  const out = new Float64Array(rows[0].length);
  rows.forEach((row, r) => {
    for (let i = 0; i < out.length; i++) out[i] += weights[r] * row[i];
  });
  return out;
}

async function triplets(products: Products, vectors: Rows): Promise<Basis> {
  const across = await products.acrossRows(vectors);
  const S = across.map((row) => Math.sqrt(dot(row, row)));
  const others = across.map((row, i) => row.map((value) => value / S[i]));
  const [inputs, outputs] = products.tall ? [vectors, others] : [others, vectors];
  return { U: new Matrix(outputs.map((row) => [...row])).transpose(), S, V: new Matrix(inputs.map((row) => [...row])) };
}
