/**
 * Runs op cases on a device and compares them with the reference device: output and every gradient, by the largest
 * difference relative to the largest value. It also compares gradients with central differences on the device itself.
 */
import { type Device, multiply, readFloats, Scope, sum, Tape, type Tensor } from '../../src/engine/index.ts';
import { type Input, type OpCase, type Outcome, outputWeights } from './case.ts';

export interface Check {
  readonly case: string;
  readonly quantity: string;
  readonly maxAbs: number;
  readonly maxRel: number;
  readonly bound: number;
  readonly pass: boolean;
}

type Inputs = Readonly<Record<string, Input>>;

/** Runs a case forward, then backward from Σ weights · output. */
export async function runCase(device: Device, { inputs, recompute = false, run }: OpCase): Promise<Outcome> {
  using scope = new Scope(device);
  const tensors = upload(scope, inputs);
  const learning = Object.keys(inputs).filter((name) => inputs[name].role !== 'frozen');
  const parameter = (name: string): Tensor => tensors[inputs[name].role === 'half' ? `${name}½` : name];
  const gradients = Object.fromEntries(learning.map((name) => [name, scope.zeros(parameter(name).shape, `d ${name}`)]));
  const learned = new Map(learning.map((name) => [parameter(name), gradients[name]]));
  using tape = new Tape(device, { learn: learned, recompute });
  const output = run(tape, tensors, scope);
  const result = await readFloats(output);
  if (learning.length > 0) {
    const weights = scope.from(outputWeights(output.size), output.shape, 'output weights');
    tape.backward(sum(tape, multiply(tape, output, weights)));
  }
  const read = await Promise.all(learning.map(async (name) => [name, await readFloats(gradients[name])] as const));
  return { output: result, gradients: Object.fromEntries(read) };
}

/** The same function, called once for each case; later calls get the first result. */
export function once<C extends object, R>(run: (one: C) => Promise<R>): (one: C) => Promise<R> {
  const known = new Map<C, Promise<R>>();
  return (one) => {
    const result = known.get(one) ?? run(one);
    known.set(one, result);
    return result;
  };
}

function upload(scope: Scope, inputs: Inputs): Record<string, Tensor> {
  const tensors: Record<string, Tensor> = {};
  for (const [name, { data, shape }] of Object.entries(inputs)) {
    tensors[name] = scope.from(data, shape, name);
    tensors[`${name}½`] = tensors[name].rows(0, Math.floor(shape[0] / 2));
  }
  return tensors;
}

export function compare(
  name: string,
  quantity: string,
  found: Float32Array,
  expected: Float32Array,
  bound: number,
): Check {
  let maxAbs = found.length === expected.length ? 0 : Number.POSITIVE_INFINITY;
  let largest = 0;
  for (let i = 0; i < expected.length; i++) {
    const difference = Math.abs(found[i] - expected[i]);
    if (!(difference <= maxAbs)) maxAbs = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  const maxRel = maxAbs === 0 ? 0 : maxAbs / Math.max(largest, 0.1);
  return { case: name, quantity, maxAbs, maxRel, bound, pass: maxRel <= bound };
}

/** Compares output and gradients with another device's. */
export function compareOutcomes(name: string, found: Outcome, expected: Outcome, bound: number): Check[] {
  return [
    compare(name, 'output', found.output, expected.output, bound),
    ...Object.keys(expected.gradients).map((each) =>
      compare(name, `d ${each}`, found.gradients[each], expected.gradients[each], bound),
    ),
  ];
}

const probes = 12;

/** Compares the gradient with (f(x + h) − f(x − h)) / 2h at a few elements of every learning input. */
export async function compareDifferences(device: Device, op: OpCase, bound: number): Promise<Check[]> {
  const { gradients } = await runCase(device, op);
  const value = async (inputs: Inputs): Promise<number> => {
    const frozenInputs = Object.entries(inputs).map(([name, input]) => [name, { ...input, role: 'frozen' as const }]);
    const { output } = await runCase(device, { ...op, inputs: Object.fromEntries(frozenInputs) });
    const weights = outputWeights(output.length);
    return output.reduce((total, y, i) => total + y * weights[i], 0);
  };
  const checks: Check[] = [];
  for (const name of Object.keys(gradients)) {
    const input = op.inputs[name];
    const size = gradients[name].length;
    const picks = Array.from({ length: Math.min(size, probes) }, (_, i) =>
      Math.floor((i * size) / Math.min(size, probes)),
    );
    const numeric = new Float32Array(picks.length);
    for (const [i, pick] of picks.entries()) {
      const shifted = async (by: number): Promise<[number, number]> => {
        const data = Float32Array.from(input.data);
        data[pick] += by;
        return [await value({ ...op.inputs, [name]: { ...input, data } }), data[pick]];
      };
      const [up, high] = await shifted(5e-3);
      const [down, low] = await shifted(-5e-3);
      numeric[i] = (up - down) / (high - low);
    }
    const exact = Float32Array.from(picks, (pick) => gradients[name][pick]);
    checks.push(compare(op.name, `differences ${name}`, exact, numeric, bound));
  }
  return checks;
}
