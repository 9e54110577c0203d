/**
 * Layers with split adapters as decoding applies them, in bf16: while the factors are their initial values nothing changes, to the bit, and
 * work that is captured and replayed gives what it gave when it ran plainly.
 */
import {
  adaptedLinears,
  type Device,
  linear,
  linears,
  readFloats,
  Scope,
  splitAdapter,
  Tape,
  type Tensor,
} from '../../src/engine/index.ts';
import { blockScales } from '../device/block-scales.ts';
import { normal } from '../device/case.ts';
import { type Check, compare } from '../device/suite.ts';

const channels = 320;
const rank = 16;
const depth = 4 * rank;

interface Layers {
  readonly rows: number;
  readonly outputs: readonly number[];
  readonly onto: boolean;
}

const groups: readonly Layers[] = [1, 64, 160, 256].flatMap((rows) => [
  { rows, outputs: [512, 128, 128], onto: false },
  { rows, outputs: [256, 256], onto: false },
  { rows, outputs: [channels], onto: true },
]);

const nameOf = ({ rows, outputs, onto }: Layers): string =>
  `adapted decoding ${rows}×${channels}→${outputs.join('+')}${onto ? ' onto' : ''}`;

function upload(scope: Scope, name: string, shape: readonly number[], twice = false): Tensor {
  const half = normal(name, twice ? [shape[0] / 2, ...shape.slice(1)] : shape, 0.1);
  const data = twice ? Float32Array.from({ length: 2 * half.length }, (_, i) => half[i % half.length]) : half;
  const out = scope.empty(shape, name, 'bf16');
  scope.device.kernels.copy(out, scope.from(data, shape, name));
  return out;
}

/** Makes the layers, with factors whose initial part equals the rest where `initial`; returns how to apply them with and without adapters. */
function makeLayers(scope: Scope, { rows, outputs, onto }: Layers, initial: boolean) {
  const [x, weights] = [
    upload(scope, 'x', [rows, channels]),
    upload(scope, 'w', [outputs.reduce((sum, width) => sum + width, 0), channels]),
  ];
  const residual = onto ? upload(scope, 'residual', [rows, outputs[0]]) : null;
  const downs = scope.empty([outputs.length * depth, channels], 'downs', 'bf16');
  const learned = scope.zeros([2 * rank, 1], 'what learns');
  let start = 0;
  const layers = outputs.map((width, i) => {
    const weight = weights.rows(start, start + width);
    start += width;
    const down = downs.rows(i * depth, (i + 1) * depth);
    scope.device.kernels.copy(down, upload(scope, `down ${i}`, down.shape, initial));
    const adapter = splitAdapter(rank, down, upload(scope, `up ${i}`, [depth, width], initial));
    return { weight, bias: null, adapter: { ...adapter, learnDown: learned, learnUp: learned } };
  });
  const coefficients = blockScales(scope, rows, 1, 0.3);
  return {
    adapted: (tape: Tape) => adaptedLinears(tape, x, layers, coefficients, residual),
    plain: (tape: Tape) =>
      residual === null ? linears(tape, x, layers) : [linear(tape, x, layers[0].weight, null, residual)],
  };
}

async function compareUnchanged(device: Device, group: Layers): Promise<Check[]> {
  using scope = new Scope(device);
  const { adapted, plain } = makeLayers(scope, group, true);
  using tape = new Tape(device);
  const widths = group.outputs.map((width) => [group.rows, width]);
  const [found, expected] = [adapted(tape), plain(tape)].map((outs) => {
    const wide = widths.map((shape) => scope.empty(shape, 'widened'));
    wide.forEach((out, i) => {
      device.kernels.copy(out, outs[i]);
    });
    return wide;
  });
  return await Promise.all(
    found.map(async (out, i) =>
      compare(nameOf(group), `initial factors, layer ${i}`, await readFloats(out), await readFloats(expected[i]), 0),
    ),
  );
}

async function compareReplayed(device: Device, group: Layers): Promise<Check[]> {
  using scope = new Scope(device);
  const { adapted } = makeLayers(scope, group, false);
  const kept = group.outputs.map((width) => scope.empty([group.rows, width], 'kept'));
  const seen: Float32Array[][] = [];
  for (let i = 0; i < 3; i++) {
    for (const each of kept) device.kernels.fill(each, 0);
    device.repeat(nameOf(group), () => {
      using tape = new Tape(device);
      adapted(tape).forEach((out, which) => {
        device.kernels.copy(kept[which], out);
      });
    });
    seen.push(await Promise.all(kept.map((each) => readFloats(each))));
  }
  const [plainly, ...later] = seen;
  return later.flatMap((outs, time) =>
    outs.map((out, i) => compare(nameOf(group), `replay ${time + 1}, layer ${i}`, out, plainly[i], 0)),
  );
}

export async function compareAdaptedDecoding(device: Device): Promise<Check[]> {
  const checks: Check[] = [];
  for (const group of groups) {
    checks.push(...(await compareUnchanged(device, group)), ...(await compareReplayed(device, group)));
  }
  return checks;
}
