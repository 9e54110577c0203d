/**
 * Layers as decoding joins them, with split adapters, in bf16: while the factors are their initial values nothing changes, to the bit, work
 * that is captured and replayed gives what it gave when it ran plainly, and a model decodes as it does layer by layer.
 */
import { scaleRows, targetModules } from '../../src/adapters/index.ts';
import { LinearAdapter } from '../../src/adapters/linear-adapter.ts';
import { randomStream } from '../../src/base/rng.ts';
import {
  adaptedLinears,
  type Device,
  jointFits,
  jointLinears,
  readFloats,
  Scope,
  splitAdapter,
  Tape,
  type Tensor,
} from '../../src/engine/index.ts';
import {
  Decoder,
  type DecoderConfig,
  expectedTensors,
  type Generation,
  generate,
  greedy,
  type Project,
  plainProject,
} from '../../src/model/index.ts';
import { blockScales } from '../device/block-scales.ts';
import { normal } from '../device/case.ts';
import { type Check, compare } from '../device/suite.ts';
import { compareByNorm } from './rounded-suite.ts';

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

/** Makes the layers, with factors whose initial part equals the rest where `initial`; returns ways to apply them. */
function makeLayers(scope: Scope, { rows, outputs, onto }: Layers, initial: boolean) {
  const [x, joined] = [
    upload(scope, 'x', [rows, channels]),
    upload(scope, 'w', [outputs.reduce((sum, width) => sum + width, 0), channels]),
  ];
  const residual = onto ? upload(scope, 'residual', [rows, outputs[0]]) : null;
  const downs = scope.empty([outputs.length * depth, channels], 'downs', 'bf16');
  const learned = scope.zeros([2 * rank, 1], 'what learns');
  let start = 0;
  const layers = outputs.map((width, i) => {
    const weight = joined.rows(start, start + width);
    start += width;
    const down = downs.rows(i * depth, (i + 1) * depth);
    scope.device.kernels.copy(down, upload(scope, `down ${i}`, down.shape, initial));
    const adapter = splitAdapter(rank, down, upload(scope, `up ${i}`, [depth, width], initial));
    return { weight, bias: null, adapter: { ...adapter, learnDown: learned, learnUp: learned } };
  });
  const coefficients = blockScales(scope, rows, 1, 0.3);
  const weights = layers.map(({ weight }) => weight);
  const blocks = { adapters: layers.map(({ adapter }) => adapter), coefficients: coefficients.forward };
  return {
    fits: (tape: Tape) => jointFits(tape, rows, 128, weights, blocks),
    jointly: (tape: Tape) => jointLinears(tape, x, weights, blocks, residual),
    plainly: (tape: Tape) => jointLinears(tape, x, weights, null, residual),
    apart: (tape: Tape) => adaptedLinears(tape, x, layers, coefficients, residual),
  };
}

async function widen(device: Device, x: Tensor): Promise<Float32Array> {
  using scope = new Scope(device);
  const wide = scope.empty(x.shape, 'widened');
  device.kernels.copy(wide, x);
  return await readFloats(wide);
}

/** Initial factors change nothing, to the bit; others give what layers give that are applied one by one. */
async function compareJoined(device: Device, group: Layers): Promise<Check[]> {
  const name = nameOf(group);
  using scope = new Scope(device);
  using tape = new Tape(device);
  const [initial, moved] = [makeLayers(scope, group, true), makeLayers(scope, group, false)];
  const [start, plain, sum] = [initial.jointly(tape), initial.plainly(tape), moved.jointly(tape)];
  const change = start.change === null ? new Float32Array() : await widen(device, start.change);
  const total = scope.empty(sum.base.shape, 'sum', 'bf16');
  if (sum.change !== null) device.kernels.binary('add', total, sum.base, sum.change);
  const found = await widen(device, total);
  const checks = [
    compare(name, 'the device joins these layers', Float32Array.of(Number(moved.fits(tape))), Float32Array.of(1), 0),
    compare(name, 'initial factors change nothing', change, new Float32Array(total.size), 0),
    compare(name, 'the base beside it', await widen(device, start.base), await widen(device, plain.base), 0),
  ];
  let before = 0;
  const columns = total.shape[1];
  for (const [i, out] of moved.apart(tape).entries()) {
    const width = group.outputs[i];
    const own = Float32Array.from({ length: out.size }, (_, at) => {
      return found[Math.floor(at / width) * columns + before + (at % width)];
    });
    checks.push(compareByNorm(name, `layer ${i} as applied alone`, own, await widen(device, out), 1e-2));
    before += width;
  }
  return checks;
}

async function compareReplayed(device: Device, group: Layers): Promise<Check[]> {
  using scope = new Scope(device);
  const { jointly } = makeLayers(scope, group, false);
  const shape = [group.rows, group.outputs.reduce((sum, width) => sum + width, 0)];
  const kept = ['base', 'change'].map((label) => scope.empty(shape, label));
  const seen: Float32Array[][] = [];
  for (let i = 0; i < 3; i++) {
    for (const each of kept) device.kernels.fill(each, 0);
    const queue = (): void => {
      using tape = new Tape(device);
      const { base, change } = jointly(tape);
      device.kernels.copy(kept[0], base);
      if (change !== null) device.kernels.copy(kept[1], change);
    };
    device.repeat(nameOf(group), queue, scope);
    seen.push(await Promise.all(kept.map((each) => readFloats(each))));
  }
  const [plainly, ...later] = seen;
  return later.flatMap((outs, time) =>
    outs.map((out, i) => compare(nameOf(group), `replay ${time + 1}, ${kept[i].label}`, out, plainly[i], 0)),
  );
}

const wide: DecoderConfig = {
  architecture: 'Qwen3ForCausalLM',
  ...{ layers: 2, heads: 4, kvHeads: 2, headDim: 128, hiddenSize: 320, intermediateSize: 640, vocabSize: 512 },
  ...{
    rmsNormEpsilon: 1e-6,
    tieEmbeddings: true,
    maxPositions: 64,
    rope: { theta: 10_000, scaling: { kind: 'none' } },
  },
  ...{ qkNorm: true, qkvBias: false, bosTokenId: null, eosTokenIds: [], padTokenId: null },
};

/** A model that is wide enough to be joined: greedy decoding, joined and layer by layer, with and without an adapter. */
async function compareSteps(device: Device): Promise<Check[]> {
  using scope = new Scope(device);
  const weights = [...expectedTensors(wide)].map(([name, shape]) => {
    const data = normal(name, shape, shape.length === 1 ? 0.1 : 1 / Math.sqrt(shape[1]));
    return { name, shape, dtype: 'f32' as const, data: shape.length === 1 ? data.map((value) => 1 + value) : data };
  });
  const decoder = await Decoder.load(scope, wide, weights);
  const adapter = new LinearAdapter(scope, 'lora', rank, targetModules(wide), ({ name, inputs, outputs }) => ({
    A0: normal(`${name} A0`, [2 * rank, inputs], 0.1),
    B0: normal(`${name} B0`, [outputs, 2 * rank], 0.1),
  }));
  for (const { value } of adapter.parameters) device.kernels.affine(value, value, 1.2, 0);
  const requests = Array.from({ length: 10 }, (_, row) => ({
    prompt: Int32Array.from({ length: 5 + (row % 3) }, (_unused, i) => (37 * row + 11 * i) % wide.vocabSize),
    ...{ row, scale: row % 2 },
  }));
  const settings = { ...greedy, maxNewTokens: 12, stopTokens: [] };
  const run = (adapted: boolean, joined: boolean): Promise<Generation[]> => {
    const project = (inner: Scope, scales: Float32Array): Project => {
      const whole = adapted ? adapter.project({ coefficients: scaleRows(inner, [...scales]) }) : plainProject;
      return joined ? whole : (tape, x, layers, onto) => whole(tape, x, layers, onto);
    };
    return generate(decoder, requests, settings, { stream: randomStream(1, 'joined'), project });
  };
  const checks: Check[] = [];
  for (const adapted of [false, true]) {
    const [joined, apart] = [await run(adapted, true), await run(adapted, false)];
    const name = `decoding, layers joined${adapted ? ', adapter' : ''}`;
    // Greedy rows may part where two tokens are almost equal: their common beginnings are compared.
    const pairs = joined.flatMap((row, i) => {
      const until = row.tokens.findIndex((token, t) => token !== apart[i].tokens[t]);
      const length = until < 0 ? row.tokens.length : until;
      return Array.from({ length }, (_, t) => [row.fullLogps[t], apart[i].fullLogps[t]] as const);
    });
    const [found, expected] = [pairs.map(([first]) => first), pairs.map(([, second]) => second)];
    const few = pairs.length < 60 ? 1 : 0;
    checks.push(
      compare(name, 'most tokens agree', Float32Array.of(few), Float32Array.of(0), 0),
      compareByNorm(name, 'log-probabilities', found, expected, 3e-2),
    );
  }
  return checks;
}

export async function compareAdaptedDecoding(device: Device): Promise<Check[]> {
  const checks: Check[] = [];
  for (const group of groups) {
    checks.push(...(await compareJoined(device, group)), ...(await compareReplayed(device, group)));
  }
  return [...checks, ...(await compareSteps(device))];
}
