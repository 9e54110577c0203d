/**
 * Policies that compute in one batch on a device with lanes: whoever the neighbours are, and however many, each gets the bytes that it gets
 * alone: in products, in attention, in whole passes that learn, and in decoding. A neighbour of NaN changes nothing either.
 */

import type { Adapter } from '../../src/adapters/index.ts';
import { createAdapter, routeGroups, scaleRows } from '../../src/adapters/index.ts';
import { randomStream } from '../../src/base/rng.ts';
import {
  add,
  attention,
  type Device,
  readFloats,
  Scope,
  Segments,
  sum,
  Tape,
  type Tensor,
} from '../../src/engine/index.ts';
import {
  type Decoder,
  type DecoderConfig,
  forwardLanes,
  type GenerateLane,
  type Group,
  generateLanes,
  packGroups,
} from '../../src/model/index.ts';
import { normal } from '../device/case.ts';
import type { Check } from '../device/suite.ts';
import { loadRandom, qwen3Like } from '../training/model.ts';

const vocabSize = 89;

/** The shapes of the micro lab, with fewer layers. */
export const laneShapes: Readonly<Record<string, DecoderConfig>> = {
  '2M': shape(192, 6, 4),
  '27M': shape(512, 8, 2),
  '100M': shape(768, 12, 2),
};

export function shape(hiddenSize: number, heads: number, layers: number): DecoderConfig {
  return qwen3Like({
    ...{ vocabSize, hiddenSize, layers, heads, kvHeads: heads, headDim: hiddenSize / heads },
    ...{ intermediateSize: 3 * hiddenSize, maxPositions: 256 },
  });
}

function bytesCheck(name: string, quantity: string, found: Float32Array, expected: Float32Array): Check {
  const [a, b] = [
    new Int32Array(found.buffer, found.byteOffset, found.length),
    new Int32Array(expected.buffer, expected.byteOffset, expected.length),
  ];
  const differ = Array.from(a.keys()).filter((i) => a[i] !== b[i]);
  const largest = differ.reduce((most, i) => Math.max(most, Math.abs(found[i] - expected[i])), 0);
  const where = differ.length === 0 ? '' : `, first at ${differ[0]}: ${found[differ[0]]} for ${expected[differ[0]]}`;
  return {
    case: name,
    quantity: `${quantity}: ${differ.length} of ${a.length} differ${where}`,
    maxAbs: largest,
    maxRel: differ.length,
    bound: 0,
    pass: differ.length === 0 && found.length === expected.length && found.length > 0,
  };
}

function upload(scope: Scope, name: string, size: readonly number[], scale = 1): Tensor {
  const exact = scope.from(normal(name, size, scale), size, name);
  const [dtype] = scope.device.floats;
  if (dtype === 'f32') return exact;
  const out = scope.empty(size, name, dtype);
  scope.device.kernels.copy(out, exact);
  return out;
}

const kinds = [
  { name: 'NN', transposeA: false, transposeB: false },
  { name: 'NT', transposeA: false, transposeB: true },
  { name: 'TN', transposeA: true, transposeB: false },
] as const;

/** Products of lanes against the same products one by one, and rows of a product against fewer rows. */
export async function compareProducts(device: Device, sizes: readonly (readonly [number, number])[]): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [N, K] of sizes) {
    for (const { name, transposeA, transposeB } of kinds) {
      using scope = new Scope(device);
      const label = `products ${name} ${K}→${N}`;
      const rows = [5, 0, 128, 131, 64, 300, 1, 40];
      const [width, depth] = transposeA ? [16, N] : [K, 0];
      const x = upload(scope, 'rows', [rows.reduce((total, count) => total + count, 0), width]);
      const side = transposeA ? upload(scope, 'side', [x.shape[0], depth]) : x;
      let start = 0;
      const make = () =>
        rows.map((count, lane) => {
          const a = x.rows(start, start + count);
          const b = transposeA
            ? side.rows(start, start + count)
            : upload(scope, `factor ${lane}`, transposeB ? [N, K] : [K, N], 0.1);
          start += count;
          const out = scope.zeros(transposeA ? [16, N] : [count, N], 'out');
          if (transposeA) return { out, a, b };
          const typed = scope.empty([count, N], 'out', device.floats[0]);
          device.kernels.copy(typed, out);
          return { out: typed, a, b };
        });
      const together = make();
      start = 0;
      const apart = make();
      for (const accumulate of [false, true]) {
        const options = { transposeA, transposeB, accumulate };
        device.kernels.laneProducts?.(together, options);
        for (const { out, a, b } of apart) device.kernels.matmul(out, a, b, options);
        for (const lane of rows.keys()) {
          if (together[lane].out.size === 0) continue;
          const [found, expected] = [await readFloats(together[lane].out), await readFloats(apart[lane].out)];
          checks.push(bytesCheck(label, `lane ${lane}${accumulate ? ', added' : ''}`, found, expected));
        }
      }
      if (transposeA) continue;
      // Rows of one product, in company of more.
      const weight = upload(scope, 'weight', transposeB ? [N, K] : [K, N], 0.1);
      const many = upload(scope, 'many rows', [1700, K]);
      const outs = [1700, 300, 64, 1].map((count) => {
        const out = scope.empty([count, N], 'out', device.floats[0]);
        device.kernels.matmul(out, many.rows(1700 - count, 1700), weight, {
          transposeA,
          transposeB,
          accumulate: false,
        });
        return out;
      });
      const whole = await readFloats(outs[0]);
      for (const out of outs.slice(1))
        checks.push(
          bytesCheck(label, `${out.shape[0]} rows`, await readFloats(out), whole.slice(whole.length - out.size)),
        );
    }
  }
  return checks;
}

/** Attention of a lane that begins at the first row, and of the same lane behind others, forward and backward. */
export async function compareAttention(device: Device, heads: number, size: number): Promise<Check[]> {
  const lengths = [37, 130, 5, 64, 77, 1, 200];
  const own = lengths.reduce((total, length) => total + length, 0);
  const step = device.lanes ?? 1;
  const run = async (before: readonly number[], after: readonly number[]) => {
    using scope = new Scope(device);
    const start = before.reduce((total, length) => total + length, 0);
    const total = start + own + after.reduce((sum, length) => sum + length, 0);
    const rows = (name: string): Tensor => {
      const all = upload(scope, `others of ${name} ${total}`, [total, heads, size]);
      device.kernels.copy(all.rows(start, start + own), upload(scope, name, [own, heads, size]));
      return all;
    };
    const [q, k, v, up] = ['q', 'k', 'v', 'upstream'].map(rows);
    const segments = Segments.packed(scope, [...before, ...lengths, ...after]);
    using tape = new Tape(device);
    const out = attention(tape, q, k, v, segments);
    const logSumExp = scope.empty([total, heads], 'log-sum-exp');
    device.kernels.attention(out, logSumExp, q, k, v, segments, size ** -0.5);
    const [dq, dk, dv] = ['dq', 'dk', 'dv'].map((name) => scope.empty(q.shape, name, q.dtype));
    device.kernels.attentionBackward(dq, dk, dv, up, out, logSumExp, q, k, v, segments, size ** -0.5);
    const read = (tensor: Tensor) => readFloats(tensor.rows(start, start + own));
    return { out: await read(out), dq: await read(dq), dk: await read(dk), dv: await read(dv) };
  };
  const alone = await run([], []);
  const checks: Check[] = [];
  for (const [before, after] of [
    [[2 * step], [3]],
    [
      [3, step - 3, 5 * step],
      [200, 1, 9],
    ],
  ]) {
    const found = await run(
      before.filter((length) => length > 0),
      after,
    );
    for (const name of ['out', 'dq', 'dk', 'dv'] as const) {
      checks.push(
        bytesCheck(`attention ${heads}×${size}`, `${name} behind ${before.length} rows`, found[name], alone[name]),
      );
    }
  }
  return checks;
}

/** What is done for all parameters of a policy at once, against the same one by one. */
export async function compareSteps(device: Device): Promise<Check[]> {
  using scope = new Scope(device);
  const { kernels } = device;
  const make = () =>
    Array.from({ length: 70 }, (_, i) => {
      const size = [1 + ((37 * i) % 5000)];
      const tensor = (name: string): Tensor => scope.from(normal(`${name} ${i}`, size), size, name);
      const v = tensor('v');
      kernels.unary('square', v, v);
      return {
        parameter: tensor('p'),
        gradient: tensor('g'),
        m: tensor('m'),
        v,
        target: i % 3 === 0 ? null : tensor('t'),
      };
    });
  const [together, apart, sums] = [make(), make(), scope.zeros([2], 'sums')];
  const [joint, single] = [sums.rows(0, 1), sums.rows(1, 2)];
  kernels.sumSquaresOf?.(
    joint,
    together.map(({ gradient }) => gradient),
  );
  for (const { gradient } of apart) kernels.sumSquares(single, gradient, true);
  const options = { learningRate: 0.01, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, step: 3, maxNorm: 1 };
  kernels.adamwOf?.(together, single, options);
  for (const { parameter, gradient, m, v, target } of apart)
    kernels.adamw(parameter, gradient, m, v, target, single, options);
  const joined = async (all: typeof together, of: 'parameter' | 'm' | 'v'): Promise<Float32Array> =>
    Float32Array.from((await Promise.all(all.map((each) => readFloats(each[of])))).flatMap((data) => [...data]));
  const checks: Check[] = [];
  for (const name of ['parameter', 'm', 'v'] as const)
    checks.push(bytesCheck('AdamW of all', name, await joined(together, name), await joined(apart, name)));
  const [found, expected] = await readFloats(sums);
  const x = upload(scope, 'squared', [300, 16]);
  const ranges = scope.from(Int32Array.of(0, 5, 5, 130, 130, 130, 131, 300), [4, 2], 'ranges');
  const out = scope.zeros([4, 16], 'squares of segments');
  kernels.segmentSquares?.(out, x, ranges);
  kernels.segmentSquares?.(out, x, ranges);
  const wide = scope.empty(x.shape, 'wide');
  kernels.copy(wide, x);
  kernels.unary('square', wide, wide);
  const each = scope.zeros([4, 16], 'sums');
  kernels.segmentSum(each, wide, ranges);
  const [squares, once] = [await readFloats(out), await readFloats(each)];
  const away = (a: number, b: number): number => Math.abs(a - b) / Math.max(1e-3, Math.abs(b));
  const worst = Math.max(...squares.map((value, i) => away(value, 2 * once[i])));
  const near = (quantity: string, maxRel: number): Check => ({
    ...{
      case: 'sums',
      quantity: `${quantity}, relative ${maxRel.toExponential(1)}`,
      maxAbs: maxRel,
      maxRel,
      bound: 1e-5,
    },
    pass: maxRel <= 1e-5,
  });
  return [...checks, near('Σ x² of all', away(found, expected)), near('Σ x² of segments', worst)];
}

interface LanePolicy {
  readonly adapter: Adapter;
  readonly seed: number;
}

async function makeLanes(scope: Scope, decoder: Decoder, count: number, rank: number): Promise<LanePolicy[]> {
  const lanes: LanePolicy[] = [];
  for (let seed = 1; seed <= count; seed++) {
    const adapter = await createAdapter(scope, decoder, { family: 'lora', rank, seed });
    for (const { name, value } of adapter.parameters) {
      const noise = new Float32Array(value.size);
      randomStream(seed, ['lane', name]).fillNormal(noise, 0.05);
      const data = await readFloats(value);
      value.device.write(
        value,
        data.map((x, i) => x + noise[i]),
      );
    }
    lanes.push({ adapter, seed });
  }
  return lanes;
}

function tokensOf(seed: number, name: string, length: number): Int32Array {
  const ids = new Uint32Array(length);
  randomStream(seed, ['tokens', name]).fillIntegers(ids, vocabSize);
  return Int32Array.from(ids);
}

/** Groups of a lane, of lengths that differ by lane. */
function groupsOf(seed: number, groups: number): Group[] {
  return Array.from({ length: groups }, (_, g) => ({
    prompt: tokensOf(seed, `prompt ${g}`, 20 + ((7 * seed + 11 * g) % 60)),
    completions: Array.from({ length: 4 }, (__, c) =>
      tokensOf(seed, `completion ${g} ${c}`, 1 + ((5 * seed + 13 * g + 17 * c) % 47)),
    ),
  }));
}

const routes = ['keep', 'absorb', 'route'] as const;

/** log π and all gradients of each lane of a joint pass. */
async function learnTogether(decoder: Decoder, lanes: readonly LanePolicy[], groups: number) {
  const { device } = decoder.head;
  using scope = new Scope(device);
  const learn = new Map<Tensor, Tensor>();
  const parts = lanes.map(({ adapter, seed }) => {
    const own = groupsOf(seed, groups);
    const packed = packGroups(scope, decoder.config, own);
    const coefficients = routeGroups(
      scope,
      packed,
      own.map((_, g) => routes[(g + seed) % 3]),
      'branch',
    );
    for (const { value, gradient } of adapter.parameters) {
      device.kernels.fill(gradient, 0);
      learn.set(value, gradient);
    }
    return { groups: own, packed, project: adapter.project({ coefficients }) };
  });
  using tape = new Tape(device, { learn });
  const logps = forwardLanes(tape, decoder, parts, {}, true);
  const losses = logps.map((logp) => sum(tape, logp));
  tape.backward(losses.reduce((total, loss) => add(tape, total, loss)));
  return Promise.all(
    lanes.map(async ({ adapter }, i) => ({
      logp: await readFloats(logps[i]),
      gradients: await Promise.all(
        adapter.parameters.map(async ({ name, gradient }) => ({ name, data: await readFloats(gradient) })),
      ),
    })),
  );
}

async function decodeTogether(decoder: Decoder, lanes: readonly LanePolicy[], rows: number) {
  const settings = {
    temperature: 0.9,
    topK: 0,
    topP: 1,
    minP: 0,
    maxNewTokens: 40,
    stopTokens: [2, 3, 5, 7],
    maxPromptTokens: null,
  };
  const asked = lanes.map(({ adapter, seed }): GenerateLane => {
    const requests = Array.from({ length: rows }, (_, row) => ({
      prompt: tokensOf(seed, `asked ${row >> 2}`, 20 + ((5 * seed + (row >> 2)) % 50)),
      row,
      scale: row % 4 === 3 ? 0 : 1,
    }));
    return {
      requests,
      stream: randomStream(seed, 'lanes', 3),
      project: (scope, scales) => adapter.project({ coefficients: scaleRows(scope, Array.from(scales)) }),
    };
  });
  return generateLanes(decoder, asked, settings, { readEvery: 16, rowStep: 32, tokensPerPass: 8192 });
}

/** The first lane alone, and in company that differs in number, place, contents and finiteness. */
export async function compareLanes(
  device: Device,
  name: string,
  config: DecoderConfig,
  size = { groups: 6, rows: 24, rank: 8 },
): Promise<Check[]> {
  using scope = new Scope(device);
  const decoder = await loadRandom(scope, config, { trainable: false });
  const [own, ...others] = await makeLanes(scope, decoder, 5, size.rank);
  const poisoned = others[3];
  const companies: readonly (readonly [string, readonly LanePolicy[]])[] = [
    ['first of 3', [own, others[0], others[1]]],
    ['last of 4', [others[2], others[1], others[0], own]],
    ['beside NaN', [poisoned, own, poisoned]],
  ];
  const alone = {
    learned: (await learnTogether(decoder, [own], size.groups))[0],
    drawn: (await decodeTogether(decoder, [own], size.rows))[0],
  };
  const checks: Check[] = [];
  for (const [label, lanes] of companies) {
    if (label.includes('NaN')) {
      const [{ value }] = poisoned.adapter.parameters;
      device.write(value, new Float32Array(value.size).fill(Number.NaN));
    }
    const at = lanes.indexOf(own);
    const distinct = [...new Set(lanes)];
    const learned = (await learnTogether(decoder, distinct, size.groups))[distinct.indexOf(own)];
    const of = `${name} ${label}`;
    checks.push(bytesCheck(of, 'log π', learned.logp, alone.learned.logp));
    const bad = learned.gradients.map(({ name: parameter, data }, i) =>
      bytesCheck(of, `gradient of ${parameter}`, data, alone.learned.gradients[i].data),
    );
    const failed = bad.filter(({ pass }) => !pass);
    checks.push({
      ...(failed[0] ?? bad[0]),
      quantity: `gradients: ${failed.length} of ${bad.length} differ${failed.length === 0 ? '' : `, first: ${failed[0].quantity}; last: ${failed.at(-1)?.quantity}`}`,
    });
    // Where the host draws, logits of NaN are an error at once.
    if (label.includes('NaN') && device.name !== 'cuda') continue;
    const drawn = (await decodeTogether(decoder, lanes, size.rows))[at];
    const tokens = (all: typeof drawn): Float32Array => Float32Array.from(all.flatMap((each) => [...each.tokens]));
    const logps = (all: typeof drawn): Float32Array => Float32Array.from(all.flatMap((each) => [...each.fullLogps]));
    checks.push(
      bytesCheck(of, 'tokens', tokens(drawn), tokens(alone.drawn)),
      bytesCheck(of, 'log-probabilities', logps(drawn), logps(alone.drawn)),
    );
  }
  return checks;
}
