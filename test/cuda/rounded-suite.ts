/**
 * The op cases in bf16: float inputs are rounded to bf16, the device computes with them, and the result is compared with the
 * reference device's float32 result of the same rounded inputs, by ‖found − expected‖ / ‖expected‖. What learns stays float32
 * and is rounded by an op of its own, as adapters are.
 */
import { bfloat16ToFloat, floatToBfloat16 } from '../../src/base/half.ts';
import { type Device, multiply, readFloats, Scope, sum, Tape, type Tensor } from '../../src/engine/index.ts';
import { type OpCase, type Outcome, outputWeights } from '../device/case.ts';
import { type Check, compareOutcomes, runCase } from '../device/suite.ts';

/** Ops that are float32 by contract. */
export const isFloat32Only = ({ name }: OpCase): boolean => /^(sum|meanAll|sumFirst|sumLast|invert)\b/.test(name);

function cast(tape: Tape, x: Tensor, dtype: Tensor['dtype']): Tensor {
  if (x.dtype === dtype || x.dtype === 'i32') return x;
  const out = tape.empty(x.shape, `${x.label} as ${dtype}`, dtype);
  tape.device.kernels.copy(out, x);
  tape.record('cast', [x], out, [], (dy, gradients) =>
    gradients.overwrite([x], ([dx]) => tape.device.kernels.copy(dx, dy)),
  );
  return out;
}

/** The same case with its floats rounded to bf16. */
function rounded(op: OpCase): OpCase {
  const inputs = Object.entries(op.inputs).map(([name, input]) => {
    const { data } = input;
    if (data instanceof Int32Array) return [name, input];
    return [name, { ...input, data: Float32Array.from(data, (x) => bfloat16ToFloat(floatToBfloat16(x))) }];
  });
  return { ...op, inputs: Object.fromEntries(inputs) };
}

async function runRounded(device: Device, { inputs, recompute = false, run }: OpCase): Promise<Outcome> {
  using scope = new Scope(device);
  const exact: Record<string, Tensor> = {};
  for (const [name, { data, shape }] of Object.entries(inputs)) exact[name] = scope.from(data, shape, name);
  const halves = Object.entries(exact).map(
    ([name, tensor]) => [`${name}½`, tensor.rows(0, Math.floor(tensor.shape[0] / 2))] as const,
  );
  const all: Record<string, Tensor> = { ...exact, ...Object.fromEntries(halves) };
  const learning = Object.keys(inputs).filter((name) => inputs[name].role !== 'frozen');
  const parameter = (name: string): Tensor => all[inputs[name].role === 'half' ? `${name}½` : name];
  const gradients = Object.fromEntries(learning.map((name) => [name, scope.zeros(parameter(name).shape, `d ${name}`)]));
  const learned = new Map(learning.map((name) => [parameter(name), gradients[name]]));
  using tape = new Tape(device, { learn: learned, recompute });
  const given = Object.fromEntries(
    Object.entries(all).map(([name, x]) => [name, name.endsWith('½') ? x : cast(tape, x, 'bf16')]),
  );
  const output = cast(tape, run(tape, given, scope), 'f32');
  const result = await readFloats(output);
  if (learning.length > 0) {
    const weights = scope.from(outputWeights(output.size), output.shape, 'output weights');
    tape.backward(sum(tape, multiply(tape, output, weights)));
  }
  const read = await Promise.all(learning.map(async (name) => [name, await readFloats(gradients[name])] as const));
  return { output: result, gradients: Object.fromEntries(read) };
}

function relativeByNorm(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [difference, size] = [0, 0];
  for (let i = 0; i < expected.length; i++) {
    difference += (found[i] - expected[i]) ** 2;
    size += expected[i] ** 2;
  }
  if (found.length !== expected.length || Number.isNaN(difference)) return Number.POSITIVE_INFINITY;
  return difference === 0 ? 0 : Math.sqrt(difference) / Math.max(Math.sqrt(size), 1e-2 * Math.sqrt(expected.length));
}

export function compareByNorm(
  name: string,
  quantity: string,
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  bound: number,
): Check {
  const maxRel = relativeByNorm(found, expected);
  return { case: name, quantity, maxAbs: maxRel, maxRel, bound, pass: maxRel <= bound };
}

export async function compareRounded(device: Device, reference: Device, op: OpCase, bound: number): Promise<Check[]> {
  const same = rounded(op);
  const [found, expected] = [await runRounded(device, same), await runCase(reference, same)];
  const outputs = compareByNorm(op.name, 'output', found.output, expected.output, bound);
  const gradients = Object.keys(expected.gradients).map((name) =>
    compareByNorm(op.name, `d ${name}`, found.gradients[name], expected.gradients[name], bound),
  );
  return [outputs, ...gradients];
}

/** Checks that the device gives the same bytes twice. */
export async function compareTwice(device: Device, op: OpCase): Promise<Check[]> {
  const same = rounded(op);
  const [first, second] = [await runRounded(device, same), await runRounded(device, same)];
  return compareOutcomes(`${op.name}, twice`, second, first, 0);
}
