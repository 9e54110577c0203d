/**
 * `config.json` of a decoder folder, read into one internal form and written back as transformers reads it. Both
 * spellings of the rotary settings are read: today's `rope_parameters`, and the older `rope_theta` with `rope_scaling`.
 * A feature this project does not compute (sliding windows, other biases, other rope types or activations) is an
 * error, never ignored.
 */
import { z } from 'zod';
import { type JsonObject, show } from './json.ts';
import { parseRope, type Rope, ropeJson, ropeKeys } from './rope-config.ts';
import {
  keyError,
  noSuchKey,
  onlyValue,
  parseFields,
  plainText,
  positiveNumber,
  tokenId,
  tokenIdList,
  wholeNumber,
  yesOrNo,
} from './schema.ts';

export type Architecture = 'Qwen3ForCausalLM' | 'Qwen2ForCausalLM' | 'LlamaForCausalLM';

export interface DecoderConfig {
  readonly architecture: Architecture;
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly intermediateSize: number;
  readonly rmsNormEpsilon: number;
  /** The output head is the embedding table. */
  readonly tieEmbeddings: boolean;
  readonly maxPositions: number;
  readonly rope: Rope;
  /** RMS norms over each head of q and k, before the rotation (Qwen3). */
  readonly qkNorm: boolean;
  /** Biases on the q, k and v projections (Qwen2). */
  readonly qkvBias: boolean;
  readonly bosTokenId: number | null;
  /** Any of these ends a text; empty when the folder names none. */
  readonly eosTokenIds: readonly number[];
  readonly padTokenId: number | null;
}

const modelTypes: Readonly<Record<Architecture, string>> = {
  Qwen3ForCausalLM: 'qwen3',
  Qwen2ForCausalLM: 'qwen2',
  LlamaForCausalLM: 'llama',
};
const architectures = Object.keys(modelTypes) as Architecture[];

/** Keys that say nothing about what the decoder computes. */
const harmless = new Set(
  `_name_or_path dtype torch_dtype initializer_range transformers_version use_cache max_window_layers sliding_window
  pretraining_tp return_dict output_attentions output_hidden_states auto_map task_specific_params gradient_quarantine`.split(
    /\s+/,
  ),
);

export interface ParsedConfig {
  readonly config: DecoderConfig;
  /** Keys of the file that were neither read nor known to be harmless. */
  readonly unreadKeys: readonly string[];
}

/** Bounds far above any model: a damaged number is refused before lists of that length are made. */
const sizeUpTo = (most: number) => wholeNumber({ least: 1, most });

const configFile = z.object({
  architectures: z
    .array(z.enum(architectures, { error: `one of ${architectures.map(show).join(', ')}` }), { error: 'a list of one' })
    .length(1, { error: 'a list of one' })
    .optional(),
  model_type: plainText.optional(),
  hidden_size: sizeUpTo(2 ** 20),
  num_hidden_layers: sizeUpTo(1024),
  num_attention_heads: sizeUpTo(65_536),
  max_position_embeddings: sizeUpTo(2 ** 24),
  hidden_act: onlyValue('silu'),
  attention_bias: onlyValue(false),
  mlp_bias: onlyValue(false),
  attention_dropout: onlyValue(0),
  partial_rotary_factor: onlyValue(1),
  quantization_config: noSuchKey,
  layer_types: z
    .array(z.literal('full_attention', { error: '"full_attention", the only kind supported' }), { error: 'a list' })
    .optional(),
  use_sliding_window: yesOrNo.default(false),
  sliding_window: z.json().optional(),
  max_window_layers: wholeNumber({ least: 0 }).optional(),
  vocab_size: sizeUpTo(2 ** 24),
  num_key_value_heads: sizeUpTo(65_536).optional(),
  head_dim: sizeUpTo(65_536).optional(),
  intermediate_size: sizeUpTo(2 ** 22),
  rms_norm_eps: positiveNumber,
  tie_word_embeddings: yesOrNo.default(false),
  ...ropeKeys,
  bos_token_id: tokenId.optional(),
  eos_token_id: tokenIdList,
  pad_token_id: tokenId.optional(),
});
type ConfigFile = z.output<typeof configFile>;

export function parseDecoderConfig(json: JsonObject, file: string): ParsedConfig {
  const read = parseFields(configFile, json, file);
  const architecture = findArchitecture(read, file);
  refuseSliding(read, file);
  const config: DecoderConfig = {
    architecture,
    vocabSize: read.vocab_size,
    hiddenSize: read.hidden_size,
    layers: read.num_hidden_layers,
    heads: read.num_attention_heads,
    kvHeads: findKvHeads(read, architecture, file),
    headDim: findHeadDim(read, architecture, file),
    intermediateSize: read.intermediate_size,
    rmsNormEpsilon: read.rms_norm_eps,
    tieEmbeddings: read.tie_word_embeddings,
    maxPositions: read.max_position_embeddings,
    rope: parseRope(read, read.max_position_embeddings, file),
    qkNorm: architecture === 'Qwen3ForCausalLM',
    qkvBias: architecture === 'Qwen2ForCausalLM',
    bosTokenId: read.bos_token_id ?? null,
    eosTokenIds: read.eos_token_id,
    padTokenId: read.pad_token_id ?? null,
  };
  const isUnread = (key: string): boolean => !Object.hasOwn(configFile.shape, key) && !harmless.has(key);
  return { config, unreadKeys: Object.keys(json).filter(isUnread) };
}

function findArchitecture({ architectures: listed, model_type: modelType }: ConfigFile, file: string): Architecture {
  if (listed === undefined) {
    const architecture = architectures.find((name) => modelTypes[name] === modelType);
    if (architecture !== undefined) return architecture;
    throw keyError(file, 'model_type', Object.values(modelTypes).map(show).join(', '), show(modelType));
  }
  const [architecture] = listed;
  if (modelType !== undefined && modelType !== modelTypes[architecture]) {
    throw keyError(file, 'model_type', `${show(modelTypes[architecture])} for ${architecture}`, show(modelType));
  }
  return architecture;
}

/** What transformers takes for `max_window_layers` when the key is absent: only the layers from there on slide. */
const defaultWindowLayers = 28;

function refuseSliding(read: ConfigFile, file: string): void {
  const { num_hidden_layers: layers, layer_types: types, sliding_window: window } = read;
  if (types !== undefined && types.length !== layers) {
    throw keyError(file, 'layer_types', `${layers} times "full_attention"`, show(types));
  }
  const slides = read.use_sliding_window && window !== undefined && types === undefined;
  if (slides && (read.max_window_layers ?? defaultWindowLayers) < layers) {
    throw keyError(file, 'use_sliding_window', 'false: sliding windows are not supported', 'true');
  }
}

function findKvHeads(read: ConfigFile, architecture: Architecture, file: string): number {
  const { num_attention_heads: heads, num_key_value_heads: given } = read;
  const kvHeads = given ?? (architecture === 'LlamaForCausalLM' ? heads : undefined);
  if (kvHeads !== undefined && heads % kvHeads === 0) return kvHeads;
  throw keyError(file, 'num_key_value_heads', `a divisor of num_attention_heads ${heads}`, show(kvHeads));
}

function findHeadDim(read: ConfigFile, architecture: Architecture, file: string): number {
  // transformers' Qwen3 uses 128 when the key is absent; the others divide.
  const fallback = architecture === 'Qwen3ForCausalLM' ? 128 : read.hidden_size / read.num_attention_heads;
  const headDim = read.head_dim ?? fallback;
  if (headDim % 2 === 0) return headDim;
  throw keyError(file, 'head_dim', 'an even number, for the rotary halves', `${headDim}`);
}

/** `config.json` for a config: readable by transformers before and after the change to `rope_parameters`. */
export function configJson(config: DecoderConfig): JsonObject {
  const { architecture, eosTokenIds } = config;
  return {
    architectures: [architecture],
    model_type: modelTypes[architecture],
    attention_dropout: 0,
    ...(architecture === 'Qwen2ForCausalLM' ? {} : { attention_bias: false }),
    ...(architecture === 'LlamaForCausalLM'
      ? { mlp_bias: false }
      : { use_sliding_window: false, sliding_window: null }),
    bos_token_id: config.bosTokenId,
    eos_token_id: eosTokenIds.length > 1 ? eosTokenIds : (eosTokenIds[0] ?? null),
    pad_token_id: config.padTokenId,
    head_dim: config.headDim,
    hidden_act: 'silu',
    hidden_size: config.hiddenSize,
    initializer_range: 0.02,
    intermediate_size: config.intermediateSize,
    max_position_embeddings: config.maxPositions,
    num_attention_heads: config.heads,
    num_hidden_layers: config.layers,
    num_key_value_heads: config.kvHeads,
    rms_norm_eps: config.rmsNormEpsilon,
    ...ropeJson(config.rope),
    tie_word_embeddings: config.tieEmbeddings,
    use_cache: true,
    vocab_size: config.vocabSize,
  };
}
