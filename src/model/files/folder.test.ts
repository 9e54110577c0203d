import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { initialTensors } from '../decoder/initialize.ts';
import { chatMarkupChoices, wordLevelTokenizer } from '../text/tokenizer-builder.ts';
import type { DecoderConfig } from './config.ts';
import { describeModel, estimateMemory } from './describe.ts';
import { ModelFolder } from './folder.ts';
import { writeModelFolder } from './folder-writer.ts';
import { modelPresets } from './presets.ts';
import { loadWeights } from './weights.ts';

const golden = fileURLToPath(new URL('../../../test/golden', import.meta.url));
const tokenizer = wordLevelTokenizer(['user', 'assistant', '\n', 'a'], chatMarkupChoices);
const nano: DecoderConfig = { ...modelPresets.nano, vocabSize: 8, eosTokenIds: [2], padTokenId: 0 };

let parent = '';
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'folder-'));
});

/** A small folder, then changed by `change`, then opened. */
async function openChanged(change: (directory: string) => Promise<void>): Promise<ModelFolder> {
  const directory = join(parent, 'model');
  await writeModelFolder(directory, { config: nano, tensors: initialTensors(nano, 1), tokenizer });
  await change(directory);
  return ModelFolder.open(directory);
}

test.each([
  ['qwen3', 70_976, { F32: 24 }],
  ['qwen2', 77_232, { F32: 27 }],
  ['llama', 61_680, { F32: 20 }],
  ['qwen3-bf16', 70_976, { BF16: 24 }],
])('golden %s opens and is described', async (name, parameters, dtypes) => {
  await using folder = await ModelFolder.open(join(golden, name));
  const description = describeModel(folder);
  const elements = [...folder.weights.entries.values()].reduce(
    (sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1),
    0,
  );
  expect(elements).toBe(description.parameters);
  expect(description).toMatchObject({ parameters, dtypes, tokenizerSize: null, chatTemplate: false, unreadKeys: [] });
  expect(() => folder.tokenizer).toThrow(/expected tokenizer.json, found none/);
  expect(() => folder.chat).toThrow(UserError);
});

test('the memory of Qwen3 4B by the stated formula: 147,456 bytes of cache a token on cuda', () => {
  const qwen3: DecoderConfig = {
    ...modelPresets.micro,
    vocabSize: 151_936,
    hiddenSize: 2560,
    layers: 36,
    heads: 32,
    kvHeads: 8,
    headDim: 128,
    intermediateSize: 9728,
  };
  const memory = Object.fromEntries(estimateMemory(qwen3).map((estimate) => [estimate.device, estimate]));
  expect(memory['cuda']).toMatchObject({ weightBytes: 2 * 4_022_468_096, cacheBytesPerToken: 147_456 });
  expect(memory['reference']).toMatchObject({ weightBytes: 4 * 4_022_468_096, cacheBytesPerToken: 2 * 147_456 });
  const norms = 36 * (2 * 2560 + 2 * 128) + 2560;
  expect(memory['wasm'].weightBytes).toBe(4 * (2 * 4_022_468_096 - norms));
  const untied = Object.fromEntries(estimateMemory({ ...qwen3, tieEmbeddings: false }).map((e) => [e.device, e]));
  expect(untied['wasm'].weightBytes - memory['wasm'].weightBytes).toBe(4 * 151_936 * 2560);
});

describe('a written folder', () => {
  test('opens with its config, text and weights', async () => {
    await using folder = await openChanged(async () => {});
    expect(folder.config).toEqual(nano);
    expect(folder.stopTokenIds).toEqual([2]);
    const text = folder.chat.render([{ role: 'user', content: 'a' }], { addGenerationPrompt: true });
    expect(folder.tokenizer.decode(folder.tokenizer.encode(text))).toBe(text);
    expect(folder.unreadKeys).toEqual([]);
    expect(await readdir(parent)).toEqual(['model']);
  });

  test('matrices have deviation 0.02, norms are 1, biases 0, and the seed decides', async () => {
    const config: DecoderConfig = { ...nano, architecture: 'Qwen2ForCausalLM', qkNorm: false, qkvBias: true };
    const read = async (name: string, seed: number) => {
      const directory = join(parent, name);
      await writeModelFolder(directory, { config, tensors: initialTensors(config, seed), tokenizer: null });
      await using folder = await ModelFolder.open(directory);
      const all = new Map<string, Float32Array>();
      for await (const { name, data } of loadWeights(folder.weights, config, { as: 'float32' }))
        all.set(name, Float32Array.from(data));
      return { all, bytes: await readFile(join(directory, 'model.safetensors')) };
    };
    const first = await read('first', 7);
    for (const [name, data] of first.all) {
      const mean = data.reduce((sum, value) => sum + value, 0) / data.length;
      const deviation = Math.sqrt(data.reduce((sum, value) => sum + (value - mean) ** 2, 0) / data.length);
      if (name.endsWith('norm.weight')) expect(data.every((value) => value === 1)).toBe(true);
      else if (name.endsWith('bias')) expect(data.every((value) => value === 0)).toBe(true);
      else {
        expect(Math.abs(mean)).toBeLessThan((5 * 0.02) / Math.sqrt(data.length));
        expect(Math.abs(deviation - 0.02)).toBeLessThan((5 * 0.02) / Math.sqrt(2 * data.length));
      }
    }
    const layers = ['0', '1'].map((layer) => first.all.get(`model.layers.${layer}.mlp.up_proj.weight`));
    expect(layers[0]).not.toEqual(layers[1]);
    expect((await read('again', 7)).bytes.equals(first.bytes)).toBe(true);
    expect((await read('other', 8)).bytes.equals(first.bytes)).toBe(false);
  });

  test('never replaces one that exists, and leaves nothing behind when it fails', async () => {
    await mkdir(join(parent, 'taken'));
    const contents = { config: nano, tensors: initialTensors(nano, 1), tokenizer };
    await expect(writeModelFolder(join(parent, 'taken'), contents)).rejects.toThrow(/does not exist yet/);
    const broken = { ...contents, tensors: contents.tensors.map((t) => ({ ...t, data: () => new Float32Array(1) })) };
    await expect(writeModelFolder(join(parent, 'broken'), broken)).rejects.toThrow(UserError);
    expect(await readdir(parent)).toEqual(['taken']);
  });
});

describe('a folder that is wrong is refused, by name, when it is opened', () => {
  test.each([
    ['no config.json', 'config.json', null, /config.json: expected a readable file, found no such file/],
    [
      'no weights',
      'model.safetensors',
      null,
      /expected model.safetensors or model.safetensors.index.json, found neither/,
    ],
    ['broken JSON', 'config.json', '{"a":', /config.json: expected valid JSON/],
    ['a list', 'generation_config.json', '[]', /generation_config.json: expected a JSON object/],
    ['a broken template', 'chat_template.jinja', '{% for %}', /chat_template.jinja: expected a Jinja template/],
    ['a truncated file', 'model.safetensors', 'truncated', /model.safetensors/],
  ])('%s', async (_, file, text, message) => {
    const error: unknown = await openChanged((directory) =>
      text === null ? rm(join(directory, file)) : writeFile(join(directory, file), text),
    ).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UserError);
    expect(String(error)).toMatch(message);
  });

  test('a tokenizer larger than the vocabulary', async () => {
    const larger = wordLevelTokenizer(['a', 'b', 'c', 'd', 'e', 'f'], chatMarkupChoices).tokenizer;
    const opening = openChanged((directory) => writeFile(join(directory, 'tokenizer.json'), JSON.stringify(larger)));
    await expect(opening).rejects.toThrow(/at most 8 tokens.*ids up to 8/);
  });

  test('a path that is no folder', async () => {
    await expect(ModelFolder.open(join(parent, 'none'))).rejects.toThrow(
      /expected a model folder, found no such folder/,
    );
    await expect(ModelFolder.open(fileURLToPath(import.meta.url))).rejects.toThrow(/found a file/);
  });
});

test('the end token: generation_config.json, else config.json, else the tokenizer', async () => {
  const write = (name: string, json: object) => (directory: string) =>
    writeFile(join(directory, name), JSON.stringify(json));
  await using fromGeneration = await openChanged(write('generation_config.json', { eos_token_id: [1, 2] }));
  expect(fromGeneration.stopTokenIds).toEqual([1, 2]);
  await rm(join(parent, 'model'), { recursive: true });
  await using fromConfig = await openChanged(write('generation_config.json', {}));
  expect(fromConfig.stopTokenIds).toEqual([2]);
  const silent: DecoderConfig = { ...nano, eosTokenIds: [] };
  await writeModelFolder(join(parent, 'silent'), { config: silent, tensors: initialTensors(silent, 1), tokenizer });
  await using fromTokenizer = await ModelFolder.open(join(parent, 'silent'));
  expect(fromTokenizer.stopTokenIds).toEqual([2]);
});

test.each([
  ['words, of which none ends a text', [3, 4], [2]],
  ['one token that is special, if not the own end', [1, 3], [1, 3]],
  ['a word beside the own end', [2, 3], [2, 3]],
])('an end token that the config has wrong: %s', async (_, eos_token_id, stops) => {
  await using folder = await openChanged((directory) =>
    writeFile(join(directory, 'generation_config.json'), JSON.stringify({ eos_token_id })),
  );
  expect(folder.stopTokenIds).toEqual(stops);
});

test('an end token that config and tokenizer both name is believed, also where it is no special one', async () => {
  await using folder = await openChanged(async (directory) => {
    const file = join(directory, 'tokenizer.json');
    const json = JSON.parse(await readFile(file, 'utf8'));
    for (const added of json.added_tokens) added.special = false;
    await writeFile(file, JSON.stringify(json));
    await writeFile(join(directory, 'generation_config.json'), JSON.stringify({ eos_token_id: [2, 3] }));
  });
  expect(folder.stopTokenIds).toEqual([2, 3]);
});
