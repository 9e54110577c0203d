/** The decoder's gradient against central differences, in every architecture; its cache of keys; what it refuses. */
import { describe, expect, test } from 'vitest';
import { randomStream } from '../../base/rng.ts';
import { readFloats, Scope, sum, Tape, type Tensor } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import { modelPresets } from '../files/presets.ts';
import { expectedTensors, type LoadedWeight } from '../files/weights.ts';
import { Decoder } from './decoder.ts';
import { KeyValueCache } from './kv-cache.ts';
import { packGroups, packRows } from './pack.ts';
import { scoreGroups } from './score.ts';

const device = createReferenceDevice({ arenaBytes: 2 ** 25 });
const small: DecoderConfig = {
  ...modelPresets.nano,
  vocabSize: 11,
  hiddenSize: 8,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 4,
  intermediateSize: 6,
  maxPositions: 32,
};
const llama3 = {
  kind: 'llama3',
  factor: 8,
  lowFrequencyFactor: 1,
  highFrequencyFactor: 4,
  originalMaxPositions: 16,
} as const;
const architectures: Readonly<Record<string, DecoderConfig>> = {
  qwen3: small,
  qwen2: { ...small, architecture: 'Qwen2ForCausalLM', qkNorm: false, qkvBias: true, tieEmbeddings: false },
  llama: { ...small, architecture: 'LlamaForCausalLM', qkNorm: false, rope: { theta: 10_000, scaling: llama3 } },
};

function randomWeights(config: DecoderConfig): LoadedWeight[] {
  return [...expectedTensors(config)].map(([name, shape]) => {
    const data = new Float32Array(shape.reduce((product, axis) => product * axis, 1));
    randomStream(6, name).fillNormal(data, 0.5);
    if (name.endsWith('norm.weight')) for (let i = 0; i < data.length; i++) data[i] += 1;
    return { name, shape, dtype: 'f32', data };
  });
}

const groups = [
  { prompt: Int32Array.of(1, 2, 3), completions: [Int32Array.of(4, 5), Int32Array.of(6)] },
  { prompt: Int32Array.of(7), completions: [Int32Array.of(8, 9, 10)] },
];

describe.each(Object.entries(architectures))('%s', (_name, config) => {
  test('gradients of every kind of weight are the central differences', async () => {
    using scope = new Scope(device);
    const weights = randomWeights(config);
    const decoder = await Decoder.load(scope, config, weights, { trainable: true });
    const gradients = new Map<Tensor, Tensor>();
    for (const tensor of decoder.weights.values()) gradients.set(tensor, scope.zeros(tensor.shape, 'gradient'));
    {
      using tape = new Tape(device, { learn: gradients });
      tape.backward(sum(tape, scoreGroups(tape, decoder, packGroups(tape, config, groups))));
    }
    const value = async (): Promise<number> => {
      using tape = new Tape(device);
      const logps = await readFloats(scoreGroups(tape, decoder, packGroups(tape, config, groups)));
      return logps.reduce((total, logp) => total + logp, 0);
    };
    for (const { name, data } of weights.filter(({ name }) => !name.includes('layers.1'))) {
      const tensor = decoder.weight(name);
      const gradient = await readFloats(gradients.get(tensor) ?? tensor);
      const pick = gradient.reduce((best, each, i) => (Math.abs(each) > Math.abs(gradient[best]) ? i : best), 0);
      const shifted = async (by: number): Promise<[number, number]> => {
        const moved = Float32Array.from(data);
        moved[pick] += by;
        device.write(tensor, moved);
        const found: [number, number] = [await value(), moved[pick]];
        device.write(tensor, data);
        return found;
      };
      const [[up, high], [down, low]] = [await shifted(2e-3), await shifted(-2e-3)];
      const numeric = (up - down) / (high - low);
      expect(Math.abs(gradient[pick] - numeric) / Math.max(1, Math.abs(numeric)), name).toBeLessThan(2e-2);
    }
  });

  test('keys and values from a cache give what the whole row gives', async () => {
    using scope = new Scope(device);
    const decoder = await Decoder.load(scope, config, randomWeights(config));
    const row = Int32Array.of(1, 5, 2, 7, 3);
    using tape = new Tape(device);
    const whole = await readFloats(decoder.forward(tape, packRows(scope, config, [row])));
    const cache = new KeyValueCache(scope, config, row.length, 1, 1);
    const slots = scope.from(Int32Array.from(row.keys()), [row.length], 'slots');
    const keyValues = cache.store(slots, 'pass');
    expect(await readFloats(decoder.forward(tape, packRows(scope, config, [row]), { keyValues }))).toEqual(whole);
    expect(cache.room(0)).toEqual({ start: row.length, end: row.length + 1 });
    expect(cache.slots).toBe(row.length + 1);
  });
});

test('a weight that is not there is named', async () => {
  using scope = new Scope(device);
  const weights = randomWeights(small).filter(({ name }) => !name.includes('layers.1.mlp.up_proj'));
  const decoder = await Decoder.load(scope, small, weights);
  using tape = new Tape(device);
  const batch = packRows(scope, small, [Int32Array.of(1)]);
  expect(() => decoder.forward(tape, batch)).toThrow('model.layers.1.mlp.up_proj.weight');
});

test('without gradients a pass leaves only its result behind', async () => {
  using scope = new Scope(device);
  const decoder = await Decoder.load(scope, small, randomWeights(small));
  const batch = packRows(scope, small, [Int32Array.of(1, 2, 3)]);
  const used = device.arena.used;
  using tape = new Tape(device);
  const hidden = decoder.forward(tape, batch);
  expect(hidden.shape).toEqual([3, small.hiddenSize]);
  // The result and its statistics, in units of the arena.
  expect(device.arena.used - used).toBeLessThan(1024);
});
