/**
 * `config.json` of a decoder folder, read into one internal form and written back as transformers reads it. Both
 * spellings of the rotary settings are read: today's `rope_parameters`, and the older `rope_theta` with `rope_scaling`.
 * A feature this project does not compute (sliding windows, other biases, other rope types or activations) is an
 * error, never ignored.
 */
import { Fields, type JsonObject, show } from './json.ts';
import { parseRope, type Rope, ropeJson } from './rope-config.ts';

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
  pretraining_tp return_dict output_attentions output_hidden_states auto_map task_specific_params`.split(/\s+/),
);

export interface ParsedConfig {
  readonly config: DecoderConfig;
  /** Keys of the file that were neither read nor known to be harmless. */
  readonly unreadKeys: readonly string[];
}

export function parseDecoderConfig(json: JsonObject, file: string): ParsedConfig {
  const fields = new Fields(json, file);
  const architecture = parseArchitecture(fields);
  const hiddenSize = fields.integer('hidden_size');
  const layers = fields.integer('num_hidden_layers');
  const heads = fields.integer('num_attention_heads');
  const maxPositions = fields.integer('max_position_embeddings');
  refuseUnsupported(fields, layers);
  const vocabSize = fields.integer('vocab_size');
  const config: DecoderConfig = {
    architecture,
    vocabSize,
    hiddenSize,
    layers,
    heads,
    kvHeads: parseKvHeads(fields, architecture, heads),
    headDim: parseHeadDim(fields, architecture, hiddenSize, heads),
    intermediateSize: fields.integer('intermediate_size'),
    rmsNormEpsilon: fields.number('rms_norm_eps', undefined, { least: Number.MIN_VALUE }),
    tieEmbeddings: fields.boolean('tie_word_embeddings', false),
    maxPositions,
    rope: parseRope(fields, maxPositions),
    qkNorm: architecture === 'Qwen3ForCausalLM',
    qkvBias: architecture === 'Qwen2ForCausalLM',
    bosTokenId: parseTokenId(fields, 'bos_token_id'),
    eosTokenIds: parseTokenIds(fields, 'eos_token_id'),
    padTokenId: parseTokenId(fields, 'pad_token_id'),
  };
  return { config, unreadKeys: fields.unread().filter((key) => !harmless.has(key)) };
}

function parseArchitecture(fields: Fields): Architecture {
  const listed = fields.value('architectures');
  const modelType = fields.text('model_type');
  const expected = `one of ${architectures.map(show).join(', ')}`;
  if (listed === undefined) {
    const architecture = architectures.find((name) => modelTypes[name] === modelType);
    if (architecture !== undefined) return architecture;
    throw fields.complain('model_type', Object.values(modelTypes).map(show).join(', '), show(modelType));
  }
  const architecture = architectures.find((name) => Array.isArray(listed) && listed.length === 1 && listed[0] === name);
  if (architecture === undefined) throw fields.complain('architectures', expected, show(listed));
  if (modelType !== undefined && modelType !== modelTypes[architecture]) {
    throw fields.complain('model_type', `${show(modelTypes[architecture])} for ${architecture}`, show(modelType));
  }
  return architecture;
}

function refuseUnsupported(fields: Fields, layers: number): void {
  fields.only('hidden_act', 'silu');
  fields.only('attention_bias', false);
  fields.only('mlp_bias', false);
  fields.only('attention_dropout', 0);
  fields.only('partial_rotary_factor', 1);
  fields.only('quantization_config');
  const types = fields.value('layer_types');
  if (types !== undefined) {
    const full = Array.isArray(types) && types.length === layers && types.every((type) => type === 'full_attention');
    if (!full) throw fields.complain('layer_types', `${layers} times "full_attention"`, show(types));
  }
  // transformers slides only the layers from max_window_layers on.
  const slides = fields.boolean('use_sliding_window', false) && fields.value('sliding_window') !== undefined;
  if (slides && types === undefined && fields.integer('max_window_layers', 28, { least: 0 }) < layers) {
    throw fields.complain('use_sliding_window', 'false: sliding windows are not supported', 'true');
  }
}

function parseKvHeads(fields: Fields, architecture: Architecture, heads: number): number {
  const kvHeads = fields.integer('num_key_value_heads', architecture === 'LlamaForCausalLM' ? heads : undefined);
  if (heads % kvHeads === 0) return kvHeads;
  throw fields.complain('num_key_value_heads', `a divisor of num_attention_heads ${heads}`, `${kvHeads}`);
}

function parseHeadDim(fields: Fields, architecture: Architecture, hiddenSize: number, heads: number): number {
  // transformers' Qwen3 uses 128 when the key is absent; the others divide.
  const fallback = architecture === 'Qwen3ForCausalLM' ? 128 : hiddenSize / heads;
  const headDim = fields.integer('head_dim', fallback);
  if (headDim % 2 === 0) return headDim;
  throw fields.complain('head_dim', 'an even number, for the rotary halves', `${headDim}`);
}

function parseTokenId(fields: Fields, key: string): number | null {
  return fields.value(key) === undefined ? null : fields.integer(key, undefined, { least: 0 });
}

/** One id, a list of ids, or none. */
export function parseTokenIds(fields: Fields, key: string): number[] {
  const value = fields.value(key) ?? [];
  const ids = Array.isArray(value) ? value : [value];
  if (ids.every((id): id is number => Number.isSafeInteger(id) && (id as number) >= 0)) return ids;
  throw fields.complain(key, 'a token id or a list of token ids', show(value));
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
