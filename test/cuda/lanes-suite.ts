/**
 * Policies that compute in one batch on a device with lanes: whoever the neighbours are, and however many, each gets the bytes that it gets
 * alone: in products, in attention, in whole passes that learn, and in decoding. A neighbour of NaN changes nothing either.
 */

import type { Adapter } from '../../src/adapters/index.ts';
import { createAdapter, routeGroups, scaleRows } from '../../src/adapters/index.ts';
import { randomStream } from '../../src/base/rng.ts';
import { add, type Device, readFloats, Scope, sum, Tape, type Tensor } from '../../src/engine/index.ts';
import {
  type Decoder,
  type DecoderConfig,
  forwardLanes,
  type GenerateLane,
  type Group,
  generateLanes,
  packGroups,
} from '../../src/model/index.ts';
import type { Check } from '../device/suite.ts';
import { loadRandom, qwen3Like } from '../training/model.ts';
import { bytesCheck, compareAttention, compareProducts, compareSteps, laneProducts } from './lane-kernels-suite.ts';

const vocabSize = 89;

/** The shapes of the micro lab, with fewer layers. */
export const laneShapes: Readonly<Record<string, DecoderConfig>> = {
  '2M': shape(192, 6, 4),
  '27M': shape(512, 8, 2),
  '100M': shape(768, 12, 2),
};

export function laneChecks(
  device: Device,
  shapes: Readonly<Record<string, DecoderConfig>> = laneShapes,
  products: readonly (readonly [number, number])[] = laneProducts,
): Readonly<Record<string, () => Promise<Check[]>>> {
  const models = Object.entries(shapes).map(([name, config]) => [name, () => compareLanes(device, name, config)]);
  return {
    steps: () => compareSteps(device),
    products: () => compareProducts(device, products),
    'attention 6×32': () => compareAttention(device, 6, 32),
    'attention 8×64': () => compareAttention(device, 8, 64),
    ...Object.fromEntries(models),
  };
}

export function shape(hiddenSize: number, heads: number, layers: number): DecoderConfig {
  return qwen3Like({
    ...{ vocabSize, hiddenSize, layers, heads, kvHeads: heads, headDim: hiddenSize / heads },
    ...{ intermediateSize: 3 * hiddenSize, maxPositions: 256 },
  });
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
