/** Generation does not depend on how its batch is cut: alone, together, looked at seldom, shrinking in steps. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { withKernels } from '../../../test/device/wrap.ts';
import { randomStream } from '../../base/rng.ts';
import { type Device, Scope } from '../../engine/index.ts';
import { createReferenceDevice } from '../../engine/reference/index.ts';
import { ModelFolder } from '../files/folder.ts';
import { loadWeights } from '../files/weights.ts';
import { Decoder } from './decoder.ts';
import { type GenerateOptions, generate } from './generate.ts';

const directory = join(fileURLToPath(new URL('../../../test/golden', import.meta.url)), 'qwen3');
const settings = { temperature: 0.9, topK: 0, topP: 1, minP: 0, maxNewTokens: 12, maxPromptTokens: null };
const stopTokens = Array.from({ length: 20 }, (_, id) => 16 * id);
const requests = Array.from({ length: 7 }, (_, row) => ({ prompt: Int32Array.of(3, 9, 1 + (row % 3)), row, scale: 1 }));

/** What was drawn, how many rows each draw had, and how many were computed for it. */
async function run(
  rows: typeof requests,
  options: Partial<GenerateOptions>,
  temperature = settings.temperature,
): Promise<{ text: string; sizes: number[]; computed: number[] }> {
  const sizes: number[] = [];
  const computed: number[] = [];
  const plain = createReferenceDevice({ arenaBytes: 2 ** 24 });
  const device: Device = withKernels(plain, (kernels) => ({
    sample(ids, ...rest) {
      sizes.push(ids.size);
      kernels.sample(ids, ...rest);
    },
    swiglu(out, ...rest) {
      computed.push(out.shape[0]);
      kernels.swiglu(out, ...rest);
    },
    jointSwiglu(out, ...rest) {
      computed.push(out.shape[0]);
      kernels.jointSwiglu?.(out, ...rest);
    },
  }));
  using scope = new Scope(device);
  await using folder = await ModelFolder.open(directory);
  const decoder = await Decoder.load(
    scope,
    folder.config,
    loadWeights(folder.weights, folder.config, { as: 'float32' }),
  );
  const stream = randomStream(1, 'generate test');
  const generations = await generate(decoder, rows, { ...settings, temperature, stopTokens }, { stream, ...options });
  const text = generations
    .map(({ tokens, logps, finish }) => `${tokens.join(' ')} ${logps.join(' ')} ${finish}`)
    .join('\n');
  return { text, sizes, computed };
}

test('rows finish at different times, so that what follows means something', async () => {
  const { sizes, text } = await run(requests, {});
  expect(new Set(sizes).size).toBeGreaterThan(3);
  expect([text.includes('stop'), text.includes('length')]).toEqual([true, true]);
});

test('a row is the same alone and in a batch', async () => {
  const { text } = await run(requests, {});
  const alone: string[] = [];
  for (const request of requests) alone.push((await run([request], {})).text);
  expect(alone.join('\n')).toBe(text);
});

test('looking seldom changes nothing', async () => {
  expect((await run(requests, { readEvery: 5 })).text).toBe((await run(requests, {})).text);
});

test('prompts computed in passes of few tokens, or one by one, change nothing', async () => {
  const whole = (await run(requests, {})).text;
  expect((await run(requests, { tokensPerPass: 7 })).text).toBe(whole);
  expect((await run(requests, { tokensPerPass: 1, readEvery: 3, rowStep: 2 })).text).toBe(whole);
});

test('batches that shrink in steps have those sizes only, and change nothing', async () => {
  const steps = await run(requests, { rowStep: 4 });
  expect(steps.text).toBe((await run(requests, {})).text);
  expect([...new Set(steps.sizes)]).toEqual([7, 4]);
});

test('rows that are equal so far are computed once, which changes nothing', async () => {
  // Cold enough for rows of one prompt to begin alike, and warm enough for some to part later.
  const rows = requests.map(({ row }) => ({ prompt: Int32Array.of(3, 9, 1 + (row % 2)), row, scale: 1 }));
  const [merged, apart] = [await run(rows, {}, 0.25), await run(rows, { readEvery: 2 }, 0.25)];
  expect(merged.text).toBe(apart.text);
  // The first width is that of the prompts' tokens.
  const widths = [...new Set(merged.computed)].slice(1);
  expect(widths[0]).toBeLessThan(rows.length);
  expect(Math.max(...widths)).toBeGreaterThan(widths[0]);
});
