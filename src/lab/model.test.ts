/** Weights that are not finite are found by the device that has them. */
import { expect, it } from 'vitest';
import { Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { Decoder, type DecoderConfig, expectedTensors, type LoadedWeight } from '../model/index.ts';
import { hasFiniteWeights } from './model.ts';

const config: DecoderConfig = {
  ...{ architecture: 'Qwen3ForCausalLM', vocabSize: 7, hiddenSize: 4, layers: 1, heads: 1, kvHeads: 1, headDim: 4 },
  ...{ intermediateSize: 6, rmsNormEpsilon: 1e-6, tieEmbeddings: true, maxPositions: 8 },
  rope: { theta: 10_000, scaling: { kind: 'none' } },
  ...{ qkNorm: true, qkvBias: false, bosTokenId: null, eosTokenIds: [0], padTokenId: 0 },
};

it.each([
  [1, true],
  [Number.NaN, false],
  [Number.NEGATIVE_INFINITY, false],
])('a last weight of %s', async (value, expected) => {
  using scope = new Scope(createReferenceDevice({ arenaBytes: 2 ** 20 }));
  const weights = [...expectedTensors(config)].map(([name, shape]): LoadedWeight => {
    const data = new Float32Array(shape.reduce((size, axis) => size * axis, 1)).fill(1);
    if (name === 'model.norm.weight') data[data.length - 1] = value;
    return { name, shape, dtype: 'f32', data };
  });
  expect(await hasFiniteWeights(await Decoder.load(scope, config, weights))).toBe(expected);
});
