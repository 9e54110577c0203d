/** Weights that are not finite are found by the device that has them; files that change while they are used are refused. */
import { copyFileSync, cpSync, mkdtempSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { Decoder, type DecoderConfig, expectedTensors, type LoadedWeight } from '../model/index.ts';
import { beginHashing, hasFiniteWeights, loadDecoder, modelDirectory, openFolder } from './model.ts';
import { OpenParts } from './open-parts.ts';

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

describe('weights that change between opening and use', () => {
  const home = mkdtempSync(join(tmpdir(), 'gq-model-'));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  const refusal = 'expected the file as it was opened, found a file that was changed or replaced meanwhile';

  /** Runs `use` on a model of its own, with the path of its weights. */
  async function withModel(use: (model: string, weights: string, resources: OpenParts) => Promise<void>) {
    const model = mkdtempSync(join(home, 'micro-'));
    cpSync(modelDirectory('micro'), model, { recursive: true });
    await using resources = new OpenParts();
    await use(model, join(model, 'model.safetensors'), resources);
  }

  it('by another file in their place are not hashed as those that were opened', () =>
    withModel(async (model, weights, resources) => {
      const { folder } = await openFolder(model, false, resources);
      copyFileSync(weights, `${weights}.new`);
      renameSync(`${weights}.new`, weights);
      await expect(beginHashing(folder, resources)).rejects.toThrow(refusal);
    }));

  it('by a write are not loaded as those that were hashed', () =>
    withModel(async (model, weights, resources) => {
      const files = await openFolder(model, false, resources);
      await files.hash;
      utimesSync(weights, 1, 1);
      const scope = resources.use(new Scope(createReferenceDevice({ arenaBytes: 2 ** 26 })));
      await expect(loadDecoder(scope, files, 64)).rejects.toThrow(refusal);
    }));
});
