/** Rows that drew the same tokens are one only where their prompt and their scale are the same too. */
import { expect, test } from 'vitest';
import { scaleRows, targetModules } from '../../adapters/index.ts';
import { LinearAdapter } from '../../adapters/linear-adapter.ts';
import { randomStream } from '../../base/rng.ts';
import { Scope } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import { modelPresets } from '../files/presets.ts';
import { countElements, expectedTensors } from '../files/weights.ts';
import { Decoder } from './decoder.ts';
import { type GenerateRequest, type Generation, generate, greedy } from './generate.ts';

const config = { ...modelPresets.nano, vocabSize: 5, layers: 1, maxPositions: 16 };
const rank = 2;
const settings = { ...greedy, maxNewTokens: 5, stopTokens: [] };

function draw(name: string, shape: readonly number[]): Float32Array {
  const data = new Float32Array(countElements(shape));
  randomStream(8, name).fillNormal(data, 0.4);
  return data;
}

async function decode(requests: readonly GenerateRequest[]): Promise<Generation[]> {
  using scope = new Scope(createReferenceDevice({ arenaBytes: 2 ** 24 }));
  const weights = [...expectedTensors(config)].map(([name, shape]) => {
    return { name, shape, dtype: 'f32' as const, data: draw(name, shape) };
  });
  const decoder = await Decoder.load(scope, config, weights);
  const adapter = new LinearAdapter(scope, 'lora', rank, targetModules(config), ({ name, inputs, outputs }) => ({
    A0: draw(`${name} A0`, [2 * rank, inputs]),
    B0: draw(`${name} B0`, [outputs, 2 * rank]),
  }));
  for (const { value } of adapter.parameters) scope.device.kernels.affine(value, value, 1.1, 0);
  return await generate(decoder, requests, settings, {
    stream: randomStream(1, 'equal rows'),
    project: (inner, scales) => adapter.project({ coefficients: scaleRows(inner, [...scales]) }),
  });
}

const prompts = [[0, 1], [1, 1], [2, 1], [3], [4, 0, 2], [2, 3]].map((ids) => Int32Array.from(ids));

test.each([
  ['prompts', prompts.map((prompt, row) => ({ prompt, row, scale: 1 }))],
  ['scales', [1, 0.5, 0, 0.75, 0.25].map((scale, row) => ({ prompt: prompts[1], row, scale }))],
])('rows of different %s', async (_name, requests) => {
  const together = await decode(requests);
  const alone = await Promise.all(requests.map(async (request) => (await decode([request]))[0]));
  expect(together.map(({ tokens, fullLogps }) => [[...tokens], [...fullLogps]])).toEqual(
    alone.map(({ tokens, fullLogps }) => [[...tokens], [...fullLogps]]),
  );
  // Some draw the same first token, so that only their prompt or their scale keeps them apart.
  expect(new Set(alone.map(({ tokens }) => tokens[0])).size).toBeLessThan(requests.length);
});
