/**
 * The leading singular triplets of a large matrix M: subspace iteration on G = MᵀM (or MMᵀ, whichever is smaller), each
 * round filtered by a Chebyshev polynomial of G that is small on [0, θ] and grows beyond, θ being the smallest Ritz value
 * of the block (Zhou and Saad 2007). Products run on a device in float32, what has the size of the block in float64 on
 * the host. It ends when ‖G v − σ² v‖ ≤ 3e-5 · σ₁² for every wanted v, a little above what float32 products resolve.
 * The start is a fixed stream: same matrix and device, same result.
 */
import { EigenvalueDecomposition, Matrix } from 'ml-matrix';
import { DeviceError, randomStream } from '../base/index.ts';
import { type Device, readFloats, Scope, type Tensor } from '../engine/index.ts';
import type { Basis } from './basis.ts';

const residualBound = 3e-5;
const mostRounds = 60;
const highestDegree = 20;
/** How much a filter may favour the largest direction over the last wanted one: float32 must still resolve both. */
const mostGrowth = 1e4;

/** Vectors as rows. */
type Rows = Float64Array[];

export async function iterativeSvd(device: Device, matrix: Matrix, count: number): Promise<Basis> {
  using scope = new Scope(device);
  const products = new Products(scope, matrix);
  const size = Math.min(products.small, count + Math.max(8, Math.ceil(count / 4)));
  let block = await improve(products, startBlock(products.small, size), count);
  for (let round = 0; round < mostRounds; round++) {
    if (block.residual <= residualBound) return triplets(products, block.vectors.slice(0, count));
    const filtered = await products.filter(block.vectors, filterOf(block.values, count));
    block = await improve(products, filtered, count);
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

  #gram(scope: Scope, block: Tensor): Tensor {
    const across = this.across(scope, block);
    const out = scope.empty([block.shape[0], this.small], 'Gram product');
    const options = { transposeA: false, transposeB: !this.#tall, accumulate: false };
    scope.device.kernels.matmul(out, across, this.#matrix, options);
    return out;
  }

  /** G times each vector. */
  async gram(block: Rows): Promise<Rows> {
    using scope = new Scope(this.#matrix.device);
    return await fromTensor(this.#gram(scope, toTensor(scope, block)));
  }

  /** T_degree(2 G / edge − 1) times each vector, by the recurrence of the Chebyshev polynomials. */
  async filter(block: Rows, { degree, edge }: Filter): Promise<Rows> {
    const { device } = this.#matrix;
    using scope = new Scope(device);
    let before = toTensor(scope, block);
    let last = before;
    const step = (scale: number, current: Tensor): Tensor => {
      const out = scope.empty(current.shape, 'filtered block');
      using inner = new Scope(device);
      const minus = inner.empty(current.shape, 'shifted block');
      device.kernels.affine(out, this.#gram(inner, current), (2 * scale) / edge, 0);
      device.kernels.affine(minus, current, -scale, 0);
      device.kernels.add(out, minus);
      return out;
    };
    for (let power = 1; power <= degree; power++) {
      const next = step(power === 1 ? 1 : 2, last);
      if (power > 1) {
        using inner = new Scope(device);
        const minus = inner.empty(before.shape, 'earlier block');
        device.kernels.affine(minus, before, -1, 0);
        device.kernels.add(next, minus);
      }
      [before, last] = [last, next];
    }
    return await fromTensor(last);
  }
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
  let degree = 1;
  while (
    degree < highestDegree &&
    growth(values[0], degree + 1) / growth(values[count - 1], degree + 1) <= mostGrowth
  ) {
    degree++;
  }
  return { degree, edge };
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

interface RitzBlock {
  /** The Ritz vectors, largest value first. */
  readonly vectors: Rows;
  readonly values: readonly number[];
  /** The largest residual of the wanted vectors, relative to the largest value. */
  readonly residual: number;
}

/** The Ritz vectors of the space that the block spans. */
async function improve(products: Products, block: Rows, count: number): Promise<RitzBlock> {
  const space = orthonormalise(block);
  const images = await products.gram(space);
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
  const values = order.map((i) => realEigenvalues[i]);
  const vectors = order.map((i) => combine(space, eigenvectorMatrix.getColumn(i)));
  let residual = 0;
  order.slice(0, count).forEach((i, rank) => {
    const image = combine(images, eigenvectorMatrix.getColumn(i));
    const rest = image.map((value, at) => value - values[rank] * vectors[rank][at]);
    residual = Math.max(residual, Math.sqrt(dot(rest, rest)) / values[0]);
  });
  return { vectors, values, residual };
}

/** Each row is swept twice. One that depends on the others becomes a random direction: the block keeps its size. */
function orthonormalise(block: Rows): Rows {
  const done: Rows = [];
  const spare = startBlock(block[0].length, block.length);
  for (const [i, source] of block.entries()) {
    let row = Float64Array.from(source);
    const before = Math.sqrt(dot(row, row));
    sweep(row, done);
    if (Math.sqrt(dot(row, row)) <= 1e-7 * before) {
      row = Float64Array.from(spare[i]);
      sweep(row, done);
    }
    const length = Math.sqrt(dot(row, row));
    done.push(row.map((value) => value / length));
  }
  return done;
}

function sweep(row: Float64Array, others: Rows): void {
  for (let time = 0; time < 2; time++) for (const other of others) subtractAlong(row, other);
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
