/** RMSNorm: y = x / √(mean x² + ε) · weight, over the last axis (Zhang and Sennrich 2019). */
import type { Gradients } from '../gradients.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import type { Tensor } from '../tensor.ts';
import { expectAxes, expectFloats, expectShape } from './checks.ts';

export function rmsNorm(tape: Tape, x: Tensor, weight: Tensor, epsilon: number): Tensor {
  expectFloats(tape, 'rmsNorm', x, weight);
  expectAxes('rmsNorm', x, 1);
  const columns = x.shape[x.shape.length - 1];
  expectShape('rmsNorm weight', weight, [columns]);
  const { kernels } = tape.device;
  const rows = columns === 0 ? 0 : x.size / columns;
  const out = tape.empty(x.shape, 'rmsNorm', x.dtype);
  const inverseRms = tape.empty([rows], 'inverse rms');
  const flat = [rows, columns];
  tape.rowwise([out.view(flat), inverseRms], [x.view(flat)], ([y, inverse], [input]) =>
    kernels.rmsNorm(y, inverse, input, weight, epsilon),
  );
  tape.record('rmsNorm', [x, weight], out, [x, weight, inverseRms], (dy, gradients) =>
    normBackward(tape, gradients, dy, x, weight, inverseRms),
  );
  return out;
}

/** Gradients of x and of the weight, as far as they are wanted. */
export function normBackward(
  tape: Tape,
  gradients: Gradients,
  dy: Tensor,
  x: Tensor,
  weight: Tensor,
  inverseRms: Tensor,
): void {
  const { kernels } = tape.device;
  const flat = [inverseRms.size, weight.size];
  using scope = new Scope(tape.device);
  let dWeight: Tensor | null = null;
  gradients.into(weight, (dw, accumulate) => {
    if (!accumulate) kernels.fill(dw, 0);
    dWeight = dw;
  });
  const backward = (dx: Tensor, accumulate: boolean): void =>
    kernels.rmsNormBackward(dx.view(flat), dWeight, dy.view(flat), x.view(flat), weight, inverseRms, accumulate);
  if (gradients.wants(x)) gradients.into(x, backward);
  else backward(scope.empty(x.shape, 'unused gradient', x.dtype), false);
}
