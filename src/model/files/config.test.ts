import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { configJson, parseDecoderConfig } from './config.ts';
import type { JsonObject, JsonValue } from './json.ts';

const golden = fileURLToPath(new URL('../../../test/golden', import.meta.url));
const read = async (name: string) => JSON.parse(await readFile(`${golden}/${name}/config.json`, 'utf8')) as JsonObject;
const parse = (json: JsonObject) => parseDecoderConfig(json, 'DIR/config.json');

describe('the golden folders, as transformers writes them today', () => {
  test('qwen3', async () => {
    const { config, unreadKeys } = parse(await read('qwen3'));
    expect(unreadKeys).toEqual([]);
    expect(config).toEqual({
      architecture: 'Qwen3ForCausalLM',
      vocabSize: 320,
      hiddenSize: 48,
      layers: 2,
      heads: 4,
      kvHeads: 2,
      headDim: 20,
      intermediateSize: 112,
      rmsNormEpsilon: 1e-6,
      tieEmbeddings: true,
      maxPositions: 256,
      rope: { theta: 1e6, scaling: { kind: 'none' } },
      qkNorm: true,
      qkvBias: false,
      bosTokenId: null,
      eosTokenIds: [],
      padTokenId: null,
    });
  });

  test('qwen2', async () => {
    const { config } = parse(await read('qwen2'));
    expect(config).toMatchObject({
      qkNorm: false,
      qkvBias: true,
      tieEmbeddings: false,
      headDim: 12,
      rope: { theta: 1e5 },
    });
  });

  test('llama', async () => {
    const { config } = parse(await read('llama'));
    expect(config).toMatchObject({ qkNorm: false, qkvBias: false, bosTokenId: 1, eosTokenIds: [2] });
    expect(config.rope).toEqual({
      theta: 5e5,
      scaling: { kind: 'llama3', factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalMaxPositions: 64 },
    });
  });

  test.each(['qwen3', 'qwen2', 'llama', 'qwen3-bf16'])('%s: written and read again it is the same', async (name) => {
    const { config } = parse(await read(name));
    expect(parse(configJson(config))).toEqual({ config, unreadKeys: [] });
    const { rope_parameters: _, ...older } = configJson(config);
    expect(parse(older).config).toEqual(config);
    const { rope_theta: __, rope_scaling: ___, ...today } = configJson(config);
    expect(parse(today).config).toEqual(config);
  });
});

test('a published file in the older form: Llama 3.2 1B', () => {
  const { config, unreadKeys } = parse({
    architectures: ['LlamaForCausalLM'],
    attention_bias: false,
    attention_dropout: 0.0,
    bos_token_id: 128000,
    eos_token_id: [128001, 128008, 128009],
    head_dim: 64,
    hidden_act: 'silu',
    hidden_size: 2048,
    initializer_range: 0.02,
    intermediate_size: 8192,
    max_position_embeddings: 131072,
    mlp_bias: false,
    model_type: 'llama',
    num_attention_heads: 32,
    num_hidden_layers: 16,
    num_key_value_heads: 8,
    pretraining_tp: 1,
    rms_norm_eps: 1e-5,
    rope_scaling: {
      factor: 32.0,
      high_freq_factor: 4.0,
      low_freq_factor: 1.0,
      original_max_position_embeddings: 8192,
      rope_type: 'llama3',
    },
    rope_theta: 500000.0,
    tie_word_embeddings: true,
    torch_dtype: 'bfloat16',
    transformers_version: '4.45.0.dev0',
    use_cache: true,
    vocab_size: 128256,
  });
  expect(unreadKeys).toEqual([]);
  expect(config.eosTokenIds).toEqual([128001, 128008, 128009]);
  expect(config.rope.scaling).toMatchObject({ kind: 'llama3', factor: 32, originalMaxPositions: 8192 });
});

test('a SmolLM-like llama file: no head_dim, no key/value heads, no rope keys, an idle window', () => {
  const { config } = parse({
    model_type: 'llama',
    vocab_size: 49152,
    hidden_size: 576,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    intermediate_size: 1536,
    max_position_embeddings: 2048,
    rms_norm_eps: 1e-5,
  });
  expect(config).toMatchObject({ headDim: 64, kvHeads: 9, tieEmbeddings: false, rope: { theta: 10_000 } });
});

test('rope settings keep their exact values, and a null among them is an absent key', async () => {
  const settings = { rope_type: null, type: 'llama3', factor: 1.1, low_freq_factor: 5e-324, high_freq_factor: 0.3 };
  const { config } = parse({
    ...(await read('qwen3')),
    rope_parameters: { ...settings, rope_theta: 1000000.0000000001, original_max_position_embeddings: 256 },
  });
  const scaling = { kind: 'llama3', factor: 1.1, lowFrequencyFactor: 5e-324, highFrequencyFactor: 0.3 };
  expect(config.rope).toEqual({ theta: 1000000.0000000001, scaling: { ...scaling, originalMaxPositions: 256 } });
});

test('keys nobody read are reported', async () => {
  expect(parse({ ...(await read('qwen3')), invented: 1, torch_dtype: 'float32' }).unreadKeys).toEqual(['invented']);
});

const changes: [string, Record<string, JsonValue>, RegExp][] = [
  [
    'architecture',
    { architectures: ['MistralForCausalLM'] },
    /key architectures\[0\]: expected one of .*found "MistralForCausalLM"/,
  ],
  ['model type', { model_type: 'gemma3' }, /key model_type: .*found "gemma3"/],
  ['both disagree', { architectures: ['Qwen2ForCausalLM'] }, /key model_type: expected "qwen2"/],
  ['activation', { hidden_act: 'gelu' }, /key hidden_act: expected "silu".*found "gelu"/],
  ['attention bias', { attention_bias: true }, /key attention_bias/],
  [
    'sliding window',
    { use_sliding_window: true, sliding_window: 64, max_window_layers: 1, layer_types: null },
    /key use_sliding_window/,
  ],
  ['sliding layers', { layer_types: ['full_attention', 'sliding_attention'] }, /key layer_types/],
  ['quantised', { quantization_config: { bits: 4 } }, /key quantization_config: expected no such key/],
  [
    'rope type',
    { rope_parameters: { rope_type: 'yarn', rope_theta: 1e6, factor: 4 } },
    /key rope_parameters.rope_type.*"yarn"/,
  ],
  [
    'older rope type',
    { rope_parameters: null, rope_scaling: { type: 'linear', factor: 2 } },
    /key rope_scaling.type.*"linear"/,
  ],
  [
    'rope that disagrees',
    { rope_theta: 10_000 },
    /key rope_theta: expected 1000000, as in rope_parameters, found 10000/,
  ],
  ['missing', { hidden_size: null }, /key hidden_size: expected a whole number from 1 to 1048576, found nothing/],
  ['fraction', { vocab_size: 3.5 }, /key vocab_size: .*found 3.5/],
  ['text', { num_hidden_layers: '2' }, /key num_hidden_layers: .*found "2"/],
  [
    'groups',
    { num_key_value_heads: 3 },
    /key num_key_value_heads: expected a divisor of num_attention_heads 4, found 3/,
  ],
  [
    'a frequency out of order',
    {
      rope_parameters: {
        rope_type: 'llama3',
        factor: 2,
        low_freq_factor: 4,
        high_freq_factor: 4,
        original_max_position_embeddings: 9,
      },
    },
    /key rope_parameters.high_freq_factor: expected more than low_freq_factor 4, found 4/,
  ],
  [
    'more original positions than there are',
    {
      rope_parameters: {
        rope_type: 'llama3',
        factor: 2,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 257,
      },
    },
    /key rope_parameters.original_max_position_embeddings: expected a whole number from 1 to 256, found 257/,
  ],
  ['rope that is a list', { rope_parameters: [] }, /key rope_parameters: expected an object, found \[\]/],
  ['no key/value heads', { num_key_value_heads: null }, /key num_key_value_heads: .*found nothing/],
  ['odd head', { head_dim: 21 }, /key head_dim: expected an even number/],
  ['epsilon', { rms_norm_eps: 0 }, /key rms_norm_eps/],
  ['eos', { eos_token_id: [1, -2] }, /key eos_token_id/],
];

test.each(changes)('%s is refused by file, key, expected and found', async (_, change, message) => {
  const json = { ...(await read('qwen3')), ...change };
  expect(() => parse(json)).toThrow(UserError);
  expect(() => parse(json)).toThrow(message);
  expect(() => parse(json)).toThrow('DIR/config.json');
});
