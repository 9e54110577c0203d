import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { type DecoderConfig, parseDecoderConfig } from './config.ts';
import { readJsonObject } from './json.ts';
import { SafetensorsFile, toFloat32 } from './safetensors.ts';
import { type TensorToWrite, writeSafetensors } from './safetensors-writer.ts';
import { WeightFiles } from './weight-files.ts';
import { countParameters, expectedTensors, type LoadedWeight, listMismatches, loadWeights } from './weights.ts';

const golden = fileURLToPath(new URL('../../../test/golden', import.meta.url));
const architectures = ['qwen3', 'qwen2', 'llama', 'qwen3-bf16'];

async function configOf(directory: string): Promise<DecoderConfig> {
  const file = join(directory, 'config.json');
  return parseDecoderConfig(await readJsonObject(file), file).config;
}

async function loadAll(directory: string, as: 'float32' | 'stored' = 'float32'): Promise<Map<string, LoadedWeight>> {
  const config = await configOf(directory);
  await using weights = await WeightFiles.open(directory);
  const loaded = new Map<string, LoadedWeight>();
  for await (const weight of loadWeights(weights, config, { as })) {
    loaded.set(weight.name, { ...weight, data: weight.data.slice() });
  }
  return loaded;
}

/** All tensors of a file, to write a changed copy. */
async function tensorsOf(path: string): Promise<TensorToWrite[]> {
  await using file = await SafetensorsFile.open(path);
  const tensors: TensorToWrite[] = [];
  for (const { name, dtype, shape } of file.entries.values()) {
    const data = await file.read(name);
    tensors.push({ name, dtype, shape, data: () => data });
  }
  return tensors;
}

describe.each(architectures)('golden %s', (name) => {
  test('every tensor is there, none is unexpected, and all load', async () => {
    const directory = join(golden, name);
    const config = await configOf(directory);
    await using weights = await WeightFiles.open(directory);
    expect(listMismatches(weights, config)).toEqual([]);
    expect(weights.entries.size).toBe({ qwen3: 24, qwen2: 27, llama: 20, 'qwen3-bf16': 24 }[name]);
    const loaded = await loadAll(directory);
    expect([...loaded.keys()]).toEqual([...expectedTensors(config).keys()]);
    const elements = [...loaded.values()].reduce((sum, { data }) => sum + data.length, 0);
    expect(elements).toBe(countParameters(config));
    for (const { dtype, data, shape } of loaded.values()) {
      expect(dtype).toBe('f32');
      expect(data).toBeInstanceOf(Float32Array);
      expect(data.length).toBe(shape.reduce((a, b) => a * b, 1));
    }
  });
});

test('bfloat16 stays as stored when asked, and is the float32 model rounded', async () => {
  const stored = await loadAll(join(golden, 'qwen3-bf16'), 'stored');
  const full = await loadAll(join(golden, 'qwen3'), 'stored');
  for (const [name, { dtype, data }] of stored) {
    expect(dtype).toBe('bf16');
    const exact = full.get(name)?.data ?? [];
    toFloat32(data, 'BF16').forEach((value, i) => {
      if (Math.abs(value - exact[i]) > Math.abs(exact[i]) * 2 ** -8)
        throw new Error(`${name}[${i}] ${value} ${exact[i]}`);
    });
  }
});

let folder = '';
let original: TensorToWrite[] = [];
beforeAll(async () => {
  original = await tensorsOf(join(golden, 'qwen3', 'model.safetensors'));
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weights-'));
  await cp(join(golden, 'qwen3', 'config.json'), join(folder, 'config.json'));
});
const write = (tensors: readonly TensorToWrite[]) => writeSafetensors(join(folder, 'model.safetensors'), tensors);

test('missing, misshaped, unexpected and integer tensors are all listed before any data is read', async () => {
  const ones = { name: '', dtype: 'F32', shape: [1], data: () => Float32Array.of(1) } as const;
  const rest = original.filter(({ name }) => !/norm.weight|embed_tokens/.test(name));
  await write([
    ...rest,
    { ...ones, name: 'model.norm.weight' },
    { ...ones, name: 'extra' },
    {
      ...ones,
      name: 'model.layers.0.self_attn.q_norm.weight',
      dtype: 'I32',
      shape: [20],
      data: () => new Int32Array(20),
    },
  ]);
  const failure = String(await loadAll(folder).catch((error: unknown) => error));
  expect(failure).toContain('model.embed_tokens.weight: missing, expected [320,48]');
  expect(failure).toMatch(/model.norm.weight in .*model.safetensors: expected \[48\], found \[1\]/);
  expect(failure).toMatch(/extra in .*: unexpected, found \[1\]/);
  expect(failure).toMatch(/q_norm.weight in .*: expected F32, F16 or BF16, found I32/);
});

test.each([Number.NaN, Infinity])('a weight that is %s is named with file, tensor and element', async (value) => {
  const bad = Float32Array.from({ length: 48 }, (_, i) => (i === 7 ? value : 1));
  await write(original.map((t) => (t.name === 'model.norm.weight' ? { ...t, data: () => bad } : t)));
  const message = `model.safetensors, tensor model.norm.weight: expected finite weights, found ${value} at element 7`;
  await expect(loadAll(folder)).rejects.toThrow(message);
  await using weights = await WeightFiles.open(folder);
  const found: (number | undefined)[] = [];
  for await (const { name, data } of loadWeights(weights, await configOf(folder), { as: 'stored', finite: true })) {
    if (name === 'model.norm.weight') found.push(data[7]);
  }
  expect(found).toEqual([value]);
});

test('a stored copy of the tied head is accepted when equal, refused when not', async () => {
  const table = original.find(({ name }) => name === 'model.embed_tokens.weight');
  if (table === undefined) throw new Error('no embedding in the golden file');
  await write([...original, { ...table, name: 'lm_head.weight' }]);
  expect((await loadAll(folder)).has('lm_head.weight')).toBe(false);
  await write([...original, { ...table, name: 'lm_head.weight', data: () => new Float32Array(320 * 48) }]);
  await expect(loadAll(folder)).rejects.toThrow('tie_word_embeddings');
});

describe('sharded', () => {
  const shardOf = (name: string) => (name.includes('layers.0') ? 'model-00001-of-00002' : 'model-00002-of-00002');
  const writeShards = async (weightMap: Record<string, string>) => {
    for (const shard of new Set(original.map(({ name }) => shardOf(name)))) {
      await writeSafetensors(
        join(folder, `${shard}.safetensors`),
        original.filter(({ name }) => shardOf(name) === shard),
      );
    }
    await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: weightMap }));
  };
  const rightMap = () => Object.fromEntries(original.map(({ name }) => [name, `${shardOf(name)}.safetensors`]));

  test('the same tensors as one file', async () => {
    await writeShards(rightMap());
    expect(await loadAll(folder)).toEqual(await loadAll(join(golden, 'qwen3')));
  });

  test('an index that is wrong, incomplete or points outside, and a missing shard', async () => {
    await writeShards({ ...rightMap(), 'model.norm.weight': 'model-00001-of-00002.safetensors' });
    await expect(WeightFiles.open(folder)).rejects.toThrow(/model.norm.weight: expected the tensor in model-00001/);
    const { 'model.norm.weight': _, ...incomplete } = rightMap();
    await writeShards(incomplete);
    await expect(WeightFiles.open(folder)).rejects.toThrow('model.norm.weight');
    await writeShards({ ...rightMap(), x: '../other.safetensors' });
    await expect(WeightFiles.open(folder)).rejects.toThrow('same folder');
    await writeShards(rightMap());
    await rm(join(folder, 'model-00001-of-00002.safetensors'));
    await expect(WeightFiles.open(folder)).rejects.toThrow(/00001.*no such file/);
  });

  test('no weights at all', async () => {
    await expect(WeightFiles.open(folder)).rejects.toThrow(/expected model.safetensors or .*index.json, found neither/);
  });
});

describe('corruption of a model file is a UserError or changes nothing', () => {
  const path = () => join(folder, 'model.safetensors');

  test('truncated anywhere', async () => {
    const bytes = await readFile(join(golden, 'qwen3', 'model.safetensors'));
    const lengths = fc.integer({ min: 0, max: bytes.length - 1 });
    await fc.assert(
      fc.asyncProperty(lengths, async (length) => {
        await writeFile(path(), bytes.subarray(0, length));
        await expect(loadAll(folder)).rejects.toThrow(UserError);
      }),
      { numRuns: 100 },
    );
  });

  test('any byte of the header changed to any other', async () => {
    const bytes = await readFile(join(golden, 'qwen3', 'model.safetensors'));
    const headerEnd = 8 + Number(bytes.readBigUInt64LE(0));
    const whole = await loadAll(join(golden, 'qwen3'));
    let refused = 0;
    const change = fc.tuple(fc.nat(headerEnd - 1), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(change, async ([position, difference]) => {
        const changed = Buffer.from(bytes);
        changed[position] ^= difference;
        await writeFile(path(), changed);
        const outcome = await loadAll(folder).catch((error: unknown) => error);
        if (outcome instanceof UserError) refused += 1;
        else expect(outcome).toEqual(whole);
      }),
      { numRuns: 300, examples: [[[8, 1]], [[0, 1]], [[7, 0x80]]] },
    );
    expect(refused).toBeGreaterThan(200);
  });
});
