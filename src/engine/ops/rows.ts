/** Rows of a tensor taken apart and put together again: how parts of one batch go different ways. */
import { ShapeError } from '../../base/index.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, sizeOf, type Tensor } from '../tensor.ts';
import { expectFloats } from './checks.ts';

/** The rows of x [N, …] in parts of so many rows, without a copy. */
export function divideRows(tape: Tape, x: Tensor, counts: readonly number[]): Tensor[] {
  expectFloats(tape, 'divideRows', x);
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total !== x.shape[0]) {
    throw new ShapeError({ call: 'divideRows', expected: `parts of ${describeTensor(x)}`, found: `${total} rows` });
  }
  const { kernels } = tape.device;
  const parts = partsOf(x, counts);
  tape.recordJointly('divideRows', [x], parts, [], (dys, gradients) =>
    gradients.into(x, (dx, accumulate) => {
      partsOf(dx, counts).forEach((part, i) => {
        if (accumulate) kernels.add(part, dys[i]);
        else kernels.copy(part, dys[i]);
      });
    }),
  );
  return parts;
}

/** Parts [n, …] one after another. */
export function concatRows(tape: Tape, parts: readonly Tensor[]): Tensor {
  const [first] = parts;
  if (first === undefined) throw new ShapeError({ call: 'concatRows', expected: 'at least one part', found: 'none' });
  expectFloats(tape, 'concatRows', ...parts);
  const [, ...rest] = first.shape;
  const other = parts.find(({ shape: [, ...own] }) => own.join() !== rest.join());
  if (other !== undefined) {
    const [expected, found] = [`rows of [${rest.join(',')}]`, describeTensor(other)];
    throw new ShapeError({ call: 'concatRows', expected, found });
  }
  const { kernels } = tape.device;
  const counts = parts.map(({ shape }) => shape[0]);
  const rows = counts.reduce((sum, count) => sum + count, 0);
  const out = tape.empty([rows, ...rest], 'joined rows', first.dtype);
  partsOf(out, counts).forEach((part, i) => {
    kernels.copy(part, parts[i]);
  });
  tape.record('concatRows', parts, out, [], (dy, gradients) => {
    partsOf(dy, counts).forEach((part, i) => {
      gradients.into(parts[i], (d, accumulate) => {
        if (accumulate) kernels.add(d, part);
        else kernels.copy(d, part);
      });
    });
  });
  return out;
}

function partsOf(x: Tensor, counts: readonly number[]): Tensor[] {
  const [, ...rest] = x.shape;
  let start = 0;
  return counts.map((count) => {
    const part = x.view([count, ...rest], start * sizeOf(rest));
    start += count;
    return part;
  });
}
