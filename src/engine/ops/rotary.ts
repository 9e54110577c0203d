/**
 * Rotary position embedding (Su et al. 2021) in the half-split layout of Llama and Qwen. The angles come from a table made
 * on the host in float64, so every device turns by the same float32 numbers.
 */
import { ShapeError } from '../../base/index.ts';
import { Scope } from '../scope.ts';
import type { Tape } from '../tape.ts';
import { describeTensor, type Tensor } from '../tensor.ts';
import { expectFloats, expectShape, expectTensor } from './checks.ts';
import { normBackward, rmsNorm } from './normalise.ts';

/** Llama 3's stretching of long wavelengths. */
export interface Llama3Scaling {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  readonly originalMaxPositions: number;
}

export function inverseFrequencies(headSize: number, theta: number, scaling: Llama3Scaling | null): Float64Array {
  const frequencies = Float64Array.from({ length: headSize / 2 }, (_, i) => theta ** ((-2 * i) / headSize));
  return scaling === null ? frequencies : frequencies.map((frequency) => stretch(frequency, scaling));
}

function stretch(frequency: number, scaling: Llama3Scaling): number {
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalMaxPositions } = scaling;
  const wavelength = (2 * Math.PI) / frequency;
  if (wavelength < originalMaxPositions / highFrequencyFactor) return frequency;
  if (wavelength > originalMaxPositions / lowFrequencyFactor) return frequency / factor;
  const smooth = (originalMaxPositions / wavelength - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return ((1 - smooth) * frequency) / factor + smooth * frequency;
}

/** The table [P, D]: cos of every angle of a position, then sin. */
export function rotaryTable(scope: Scope, positions: number, frequencies: Float64Array): Tensor {
  const half = frequencies.length;
  const data = new Float32Array(positions * 2 * half);
  for (let position = 0; position < positions; position++) {
    for (let i = 0; i < half; i++) {
      const angle = Math.fround(position * Math.fround(frequencies[i]));
      data[position * 2 * half + i] = Math.cos(angle);
      data[position * 2 * half + half + i] = Math.sin(angle);
    }
  }
  return scope.from(data, [positions, 2 * half], 'rotary table');
}

export function expectTurns(tape: Tape, call: string, x: Tensor, positions: Tensor, table: Tensor): void {
  expectFloats(tape, call, x);
  expectTensor(tape, `${call} table`, 'f32', table);
  expectTensor(tape, call, 'i32', positions);
  expectShape(call, x, [-1, -1, -1]);
  const [tokens, , headSize] = x.shape;
  if (headSize % 2 !== 0) throw new ShapeError({ call, expected: 'an even head size', found: describeTensor(x) });
  expectShape(`${call} table`, table, [-1, headSize]);
  expectShape(`${call} positions`, positions, [tokens]);
}

/** RMSNorm of every head, then its rotation: one kernel where the device has it. x [T, H, D], weight [D]. */
export function normRotary(
  tape: Tape,
  x: Tensor,
  weight: Tensor,
  epsilon: number,
  positions: Tensor,
  table: Tensor,
): Tensor {
  expectTurns(tape, 'normRotary', x, positions, table);
  expectFloats(tape, 'normRotary', x, weight);
  const [tokens, heads, headSize] = x.shape;
  expectShape('normRotary weight', weight, [headSize]);
  const { kernels } = tape.device;
  if (kernels.normRotary === undefined) {
    return rotary(tape, rmsNorm(tape, x, weight, epsilon), positions, table);
  }
  const out = tape.empty(x.shape, 'normRotary', x.dtype);
  const inverseRms = tape.empty([tokens * heads], 'inverse rms');
  const turn = kernels.normRotary;
  tape.rowwise([out, inverseRms], [x, positions], ([y, inverse], [input, at]) =>
    turn(y, inverse, input, weight, epsilon, at, table),
  );
  tape.record('normRotary', [x, weight], out, [x, weight, inverseRms, positions, table], (dy, gradients) => {
    if (kernels.normRotaryBackward !== undefined && !gradients.wants(weight)) {
      gradients.overwrite([x], ([dx]) => kernels.normRotaryBackward?.(dx, dy, x, weight, inverseRms, positions, table));
      return;
    }
    using scope = new Scope(tape.device);
    const turned = scope.empty(x.shape, 'normRotary backward', x.dtype);
    kernels.rotary(turned, dy, positions, table, true);
    normBackward(tape, gradients, turned, x, weight, inverseRms);
  });
  return out;
}

/** Rotates x [T, H, D] by positions i32 [T] of table [P, D]. */
export function rotary(tape: Tape, x: Tensor, positions: Tensor, table: Tensor): Tensor {
  expectTurns(tape, 'rotary', x, positions, table);
  const { kernels } = tape.device;
  const out = tape.empty(x.shape, 'rotary', x.dtype);
  tape.rowwise([out], [x, positions], ([y], [input, at]) => kernels.rotary(y, input, at, table, false));
  tape.record('rotary', [x], out, [positions, table], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => kernels.rotary(dx, dy, positions, table, true)),
  );
  return out;
}
