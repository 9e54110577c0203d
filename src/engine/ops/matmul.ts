/** Matrix products on the tape: out = op(a) · op(b), and y = x Wᵀ + bias. */
import { ShapeError } from '../../base/index.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, type Tensor } from '../tensor.ts';
import { expectAxes, expectFloats, expectShape, expectTensor } from './checks.ts';
import { add } from './elementwise.ts';

export interface Transposes {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
}

/** Two matrices, or two stacks of as many matrices each. */
export function matmul(
  tape: Tape,
  a: Tensor,
  b: Tensor,
  { transposeA = false, transposeB = false }: Transposes = {},
): Tensor {
  expectFloats(tape, 'matmul', a, b);
  const batch = a.shape.slice(0, -2);
  const [aRows, aColumns] = a.shape.slice(-2);
  const [bRows, bColumns] = b.shape.slice(-2);
  const [m, k] = transposeA ? [aColumns, aRows] : [aRows, aColumns];
  const [depth, n] = transposeB ? [bColumns, bRows] : [bRows, bColumns];
  const ranks = a.shape.length === b.shape.length && (a.shape.length === 2 || a.shape.length === 3);
  if (!ranks || k !== depth || batch[0] !== b.shape.slice(0, -2)[0]) {
    throw new ShapeError({
      call: `matmul${transposeA ? ' aᵀ' : ''}${transposeB ? ' bᵀ' : ''}`,
      expected: 'two matrices or two stacks of equal height, whose inner axes agree',
      found: `${a.label} ${describeTensor(a)} and ${b.label} ${describeTensor(b)}`,
    });
  }
  const { kernels } = tape.device;
  const out = tape.empty([...batch, m, n], 'matmul', a.dtype);
  kernels.matmul(out, a, b, { transposeA, transposeB, accumulate: false });
  tape.record('matmul', [a, b], out, [a, b], (dy, gradients) => {
    gradients.into(a, (da, accumulate) => {
      if (transposeA) kernels.matmul(da, b, dy, { transposeA: transposeB, transposeB: true, accumulate });
      else kernels.matmul(da, dy, b, { transposeA: false, transposeB: !transposeB, accumulate });
    });
    gradients.into(b, (db, accumulate) => {
      if (transposeB) kernels.matmul(db, dy, a, { transposeA: true, transposeB: transposeA, accumulate });
      else kernels.matmul(db, a, dy, { transposeA: !transposeA, transposeB: false, accumulate });
    });
  });
  return out;
}

/** A linear layer: weight [O, C] and bias [O] or null. */
export interface LinearWeights {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

/** y [..., O] = x [..., C] · weight [O, C]ᵀ + bias [O], added to `onto` [..., O] where it is given. */
export function linear(
  tape: Tape,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  onto: Tensor | null = null,
): Tensor {
  expectFloats(tape, 'linear', x, weight, ...[bias, onto].filter((tensor) => tensor !== null));
  expectAxes('linear', x, 1);
  const { kernels } = tape.device;
  const columns = x.shape[x.shape.length - 1];
  expectShape(`linear with ${x.label} ${describeTensor(x)}`, weight, [-1, columns]);
  const outputs = weight.shape[0];
  if (bias !== null) expectShape('linear bias', bias, [outputs]);
  if (onto !== null) expectShape('linear onto', onto, [...x.shape.slice(0, -1), outputs]);
  if (onto !== null && (bias !== null || kernels.matmulOnto === undefined))
    return add(tape, onto, linear(tape, x, weight, bias));
  const rows = x.shape.slice(0, -1).reduce((product, axis) => product * axis, 1);
  const flat = x.view([rows, columns]);
  const out = tape.empty([...x.shape.slice(0, -1), outputs], 'linear', x.dtype);
  const target = out.view([rows, outputs]);
  if (onto === null) kernels.matmul(target, flat, weight, { transposeA: false, transposeB: true, accumulate: false });
  else kernels.matmulOnto?.(target, onto.view([rows, outputs]), flat, weight, { transposeA: false, transposeB: true });
  if (bias !== null) kernels.binary('add', out, out, bias);
  const inputs = [x, weight, ...[bias, onto].filter((tensor) => tensor !== null)];
  const saved = [...(tape.learns(weight) ? [x] : []), weight];
  tape.record('linear', inputs, out, saved, (dy, gradients) => {
    const upstream = dy.view([rows, weight.shape[0]]);
    if (onto !== null) gradients.pass(onto, out);
    gradients.into(x, (dx, accumulate) =>
      kernels.matmul(dx.view(flat.shape), upstream, weight, { transposeA: false, transposeB: false, accumulate }),
    );
    gradients.into(weight, (dw, accumulate) =>
      kernels.matmul(dw, upstream, flat, { transposeA: true, transposeB: false, accumulate }),
    );
    if (bias !== null) gradients.into(bias, (db, accumulate) => kernels.sumFirst(db, upstream, accumulate));
  });
  return out;
}

/** Layers that share their input x [T, C], each as `linear`: where nothing learns, together if the device can. */
export function linears(tape: Tape, x: Tensor, layers: readonly LinearWeights[]): Tensor[] {
  const { kernels } = tape.device;
  const weights = layers.map(({ weight }) => weight);
  const biased = layers.some(({ bias }) => bias !== null);
  if (kernels.products === undefined || layers.length < 2 || biased || [x, ...weights].some((t) => tape.learns(t))) {
    return layers.map(({ weight, bias }) => linear(tape, x, weight, bias));
  }
  expectFloats(tape, 'linears', x, ...weights);
  expectShape('linears', x, [-1, -1]);
  const [rows, columns] = x.shape;
  for (const weight of weights) expectShape('linears weight', weight, [-1, columns]);
  const outs = tape.stack(
    weights.map(({ shape }) => [rows, shape[0]]),
    'linear',
    x.dtype,
  );
  const products = kernels.products;
  tape.rowwise(outs, [x], (ys, [input]) => products(ys, input, weights));
  return outs;
}

/** M⁻¹ of a small square matrix; dM = −M⁻ᵀ dY M⁻ᵀ. */
export function invert(tape: Tape, matrix: Tensor): Tensor {
  expectTensor(tape, 'invert', 'f32', matrix);
  expectShape('invert', matrix, [matrix.shape[0], matrix.shape[0]]);
  const { kernels } = tape.device;
  const out = tape.empty(matrix.shape, 'inverse');
  kernels.invert(out, matrix);
  tape.record('invert', [matrix], out, [out], (dy, gradients) =>
    gradients.overwrite([matrix], ([dMatrix]) => {
      using scope = new Scope(tape.device);
      const left = scope.empty(matrix.shape, 'inverse backward');
      kernels.matmul(left, out, dy, { transposeA: true, transposeB: false, accumulate: false });
      kernels.matmul(dMatrix, left, out, { transposeA: false, transposeB: true, accumulate: false });
      kernels.affine(dMatrix, dMatrix, -1, 0);
    }),
  );
  return out;
}
