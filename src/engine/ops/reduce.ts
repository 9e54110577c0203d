/** Sums and means. */
import { ShapeError } from '../../base/index.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import { sizeOf, type Tensor } from '../tensor.ts';
import { expectAxes, expectTensor } from './checks.ts';
import { affine } from './elementwise.ts';

/** Σ x, one number. */
export function sum(tape: Tape, x: Tensor): Tensor {
  expectTensor(tape, 'sum', 'f32', x);
  const { kernels } = tape.device;
  const out = tape.empty([1], 'sum');
  kernels.sumLast(out, x.view([1, x.size]));
  tape.record('sum', [x], out, [], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => {
      kernels.fill(dx, 1);
      kernels.binary('multiply', dx, dx, dy);
    }),
  );
  return out;
}

export function meanAll(tape: Tape, x: Tensor): Tensor {
  expectTensor(tape, 'meanAll', 'f32', x);
  if (x.size === 0) throw new ShapeError({ call: 'meanAll', expected: 'at least one element', found: 'none' });
  return affine(tape, sum(tape, x), 1 / x.size);
}

/** Σ over the last axis. */
export function sumLast(tape: Tape, x: Tensor): Tensor {
  expectTensor(tape, 'sumLast', 'f32', x);
  expectAxes('sumLast', x, 1);
  const { kernels } = tape.device;
  const columns = x.shape[x.shape.length - 1];
  const out = tape.empty(x.shape.slice(0, -1), 'sumLast');
  kernels.sumLast(out.view([out.size]), x.view([out.size, columns]));
  tape.record('sumLast', [x], out, [], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => {
      using scope = new Scope(tape.device);
      const ones = scope.empty([1, columns], 'ones');
      kernels.fill(ones, 1);
      const options = { transposeA: false, transposeB: false, accumulate: false };
      kernels.matmul(dx.view([out.size, columns]), dy.view([out.size, 1]), ones, options);
    }),
  );
  return out;
}

/** Σ over the first axis. */
export function sumFirst(tape: Tape, x: Tensor): Tensor {
  expectTensor(tape, 'sumFirst', 'f32', x);
  expectAxes('sumFirst', x, 1);
  const { kernels } = tape.device;
  const [rows, ...rest] = x.shape;
  const out = tape.empty(rest, 'sumFirst');
  kernels.sumFirst(out, x.view([rows, sizeOf(rest)]), false);
  tape.record('sumFirst', [x], out, [], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => {
      kernels.fill(dx, 1);
      kernels.binary('multiply', dx, dx, dy);
    }),
  );
  return out;
}
