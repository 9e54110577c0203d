/** Elementwise ops. The second argument of a binary op may repeat: its shape is a suffix of the first one's, or one number. */
import { ShapeError } from '../../base/index.ts';
import type { BinaryKind, Kernels, UnaryKind } from '../kernels.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, type Shape, sizeOf, type Tensor } from '../tensor.ts';
import { expectFloats } from './checks.ts';

type Arithmetic = Exclude<BinaryKind, 'lessEqual'>;

export const add = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'add', a, b);
export const subtract = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'subtract', a, b);
export const multiply = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'multiply', a, b);
export const divide = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'divide', a, b);
/** Where both are equal, minimum passes the gradient to the first and maximum to the second. */
export const minimum = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'minimum', a, b);
export const maximum = (tape: Tape, a: Tensor, b: Tensor): Tensor => binary(tape, 'maximum', a, b);

export const exp = (tape: Tape, x: Tensor): Tensor => unary(tape, 'exp', x);
export const log = (tape: Tape, x: Tensor): Tensor => unary(tape, 'log', x);
export const sqrt = (tape: Tape, x: Tensor): Tensor => unary(tape, 'sqrt', x);
export const reciprocal = (tape: Tape, x: Tensor): Tensor => unary(tape, 'reciprocal', x);
export const tanh = (tape: Tape, x: Tensor): Tensor => unary(tape, 'tanh', x);
export const square = (tape: Tape, x: Tensor): Tensor => unary(tape, 'square', x);

/** scale · x + shift */
export function affine(tape: Tape, x: Tensor, scale: number, shift = 0): Tensor {
  expectFloats(tape, 'affine', x);
  const { kernels } = tape.device;
  const out = tape.empty(x.shape, 'affine', x.dtype);
  kernels.affine(out, x, scale, shift);
  tape.record('affine', [x], out, [], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => kernels.affine(dx, dy, scale, 0)),
  );
  return out;
}

export function clamp(tape: Tape, x: Tensor, low: number, high: number): Tensor {
  expectFloats(tape, 'clamp', x);
  const { kernels } = tape.device;
  const out = tape.empty(x.shape, 'clamp', x.dtype);
  kernels.clamp(out, x, low, high);
  tape.record('clamp', [x], out, [x], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => {
      kernels.inside(dx, x, low, high);
      kernels.binary('multiply', dx, dx, dy);
    }),
  );
  return out;
}

/** The same numbers in another shape. */
export function reshape(tape: Tape, x: Tensor, shape: Shape): Tensor {
  expectFloats(tape, 'reshape', x);
  if (sizeOf(shape) !== x.size) {
    throw new ShapeError({ call: 'reshape', expected: `${x.size} elements`, found: `[${shape.join(',')}]` });
  }
  const out = x.view(shape);
  tape.record('reshape', [x], out, [], (_dy, gradients) => gradients.pass(x, out));
  return out;
}

function unary(tape: Tape, kind: UnaryKind, x: Tensor): Tensor {
  expectFloats(tape, kind, x);
  const { kernels } = tape.device;
  const out = tape.empty(x.shape, kind, x.dtype);
  kernels.unary(kind, out, x);
  tape.record(kind, [x], out, [x, out], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => {
      derivatives[kind](kernels, dx, x, out);
      kernels.binary('multiply', dx, dx, dy);
    }),
  );
  return out;
}

/** dx = f'(x), from x and y = f(x). */
const derivatives: Readonly<Record<UnaryKind, (kernels: Kernels, dx: Tensor, x: Tensor, y: Tensor) => void>> = {
  exp: (kernels, dx, _x, y) => kernels.copy(dx, y),
  log: (kernels, dx, x) => kernels.unary('reciprocal', dx, x),
  sqrt(kernels, dx, _x, y) {
    kernels.unary('reciprocal', dx, y);
    kernels.affine(dx, dx, 0.5, 0);
  },
  reciprocal(kernels, dx, _x, y) {
    kernels.unary('square', dx, y);
    kernels.affine(dx, dx, -1, 0);
  },
  tanh(kernels, dx, _x, y) {
    kernels.unary('square', dx, y);
    kernels.affine(dx, dx, -1, 1);
  },
  square: (kernels, dx, x) => kernels.affine(dx, x, 2, 0),
};

function binary(tape: Tape, kind: Arithmetic, a: Tensor, b: Tensor): Tensor {
  expectFloats(tape, kind, a, b);
  expectRepeats(kind, a, b);
  const out = tape.empty(a.shape, kind, a.dtype);
  tape.device.kernels.binary(kind, out, a, b);
  const linear = kind === 'add' || kind === 'subtract';
  tape.record(kind, [a, b], out, linear ? [] : [a, b], (dy, gradients) => {
    if (linear) gradients.pass(a, out);
    else gradients.overwrite([a], ([da]) => leftGradient(tape, kind, da, a, b, dy));
    if (kind === 'add' && b.size === a.size) gradients.pass(b, out);
    else gradients.overwrite([b], ([db]) => rightGradient(tape, kind, db, a, b, dy));
  });
  return out;
}

function expectRepeats(call: string, a: Tensor, b: Tensor): void {
  const suffix = a.shape.slice(Math.max(0, a.shape.length - b.shape.length));
  const repeats = b.size === 1 || (b.shape.length <= a.shape.length && b.shape.every((axis, i) => axis === suffix[i]));
  if (repeats) return;
  throw new ShapeError({
    call,
    expected: `a second argument that is one number or a suffix of ${describeTensor(a)}`,
    found: `${b.label} ${describeTensor(b)}`,
  });
}

/** da = dy · ∂out/∂a */
function leftGradient({ device }: Tape, kind: Arithmetic, da: Tensor, a: Tensor, b: Tensor, dy: Tensor): void {
  const { kernels } = device;
  if (kind === 'multiply' || kind === 'divide') {
    kernels.binary(kind, da, dy, b);
    return;
  }
  kernels.binary('lessEqual', da, a, b);
  if (kind === 'maximum') kernels.affine(da, da, -1, 1);
  kernels.binary('multiply', da, da, dy);
}

/** db = dy · ∂out/∂b, summed over the axes along which b repeats. */
function rightGradient({ device }: Tape, kind: Arithmetic, db: Tensor, a: Tensor, b: Tensor, dy: Tensor): void {
  const { kernels } = device;
  using scope = new Scope(device);
  const full = scope.empty(a.shape, `${kind} backward`, a.dtype);
  switch (kind) {
    case 'add':
      kernels.copy(full, dy);
      break;
    case 'subtract':
      kernels.affine(full, dy, -1, 0);
      break;
    case 'multiply':
      kernels.binary('multiply', full, dy, a);
      break;
    case 'divide':
      kernels.binary('multiply', full, dy, a);
      kernels.binary('divide', full, full, b);
      kernels.binary('divide', full, full, b);
      kernels.affine(full, full, -1, 0);
      break;
    case 'minimum':
    case 'maximum':
      kernels.binary('lessEqual', full, a, b);
      if (kind === 'minimum') kernels.affine(full, full, -1, 1);
      kernels.binary('multiply', full, full, dy);
  }
  const repeats = b.size === 0 ? 0 : a.size / b.size;
  kernels.sumFirst(db, full.view([repeats, b.size]), false);
}
