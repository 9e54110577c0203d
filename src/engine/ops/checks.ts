/** What every op checks before it queues a kernel: lifetimes, device, dtype, shape. */
import { DeviceError, ShapeError } from '../../base/index.ts';
import type { Tape } from '../tape.ts';
import { type DType, describeTensor, type Shape, type Tensor } from '../tensor.ts';

function complain(call: string, tensor: Tensor, expected: string): never {
  throw new ShapeError({ call, expected, found: `${tensor.label} ${describeTensor(tensor)}` });
}

/** Checks the axes: each must equal the number given; −1 allows any. */
export function expectShape(call: string, tensor: Tensor, shape: Shape): void {
  let fits = tensor.shape.length === shape.length;
  for (let i = 0; fits && i < shape.length; i += 1) fits = shape[i] < 0 || shape[i] === tensor.shape[i];
  if (!fits) complain(call, tensor, `shape [${shape.map((axis) => (axis < 0 ? '?' : axis)).join(',')}]`);
}

export function expectAxes(call: string, tensor: Tensor, least: number): void {
  if (tensor.shape.length < least) complain(call, tensor, `at least ${least} axes`);
}

export function expectSameShape(call: string, a: Tensor, b: Tensor): void {
  expectShape(call, b, a.shape);
}

/** Checks that tensors are alive, on the tape's device and all of one dtype that the device computes in. */
export function expectFloats(tape: Tape, call: string, ...tensors: readonly Tensor[]): void {
  const [first] = tensors;
  if (first === undefined) return;
  if (!tape.device.floats.includes(first.dtype)) {
    complain(call, first, `dtype ${tape.device.floats.join(' or ')} on ${tape.device.name}`);
  }
  expectTensor(tape, call, first.dtype, ...tensors);
}

/** Checks that tensors are alive, of the dtype and on the tape's device. */
export function expectTensor(tape: Tape, call: string, dtype: DType, ...tensors: readonly Tensor[]): void {
  for (const tensor of tensors) {
    tensor.assertAlive(call);
    if (tensor.dtype !== dtype) complain(call, tensor, `dtype ${dtype}`);
    if (tensor.device !== tape.device) {
      throw new DeviceError({
        call,
        expected: `a tensor on the tape's device ${tape.device.name}`,
        found: `${tensor.label} on ${tensor.device.name}${tensor.device.name === tape.device.name ? ' (another one)' : ''}`,
      });
    }
  }
}
