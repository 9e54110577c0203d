/** SwiGLU: gate · sigmoid(gate) · up (Shazeer 2020). */
import type { MakeWithGradient, Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectFloats, expectSameShape } from './checks.ts';

export function swiglu(tape: Tape, gate: Tensor, up: Tensor): Tensor {
  expectFloats(tape, 'swiglu', gate, up);
  expectSameShape('swiglu', gate, up);
  const { kernels } = tape.device;
  const out = tape.empty(gate.shape, 'swiglu', gate.dtype);
  const make = (): void => kernels.swiglu(out, gate, up);
  tape.rowwise([out], [gate, up], ([y], [g, u]) => kernels.swiglu(y, g, u));
  tape.record('swiglu', [gate, up], out, [gate, up], (dy, gradients) =>
    gradients.overwrite([gate, up], ([dGate, dUp]) => kernels.swigluBackward(dGate, dUp, dy, gate, up)),
  );
  const withGradient: MakeWithGradient = (again, dy, gradients) =>
    gradients.overwrite([gate, up], ([dGate, dUp]) => kernels.swigluAgain?.(again, dGate, dUp, dy, gate, up));
  tape.remember(out, make, kernels.swigluAgain === undefined ? undefined : withGradient);
  return out;
}
