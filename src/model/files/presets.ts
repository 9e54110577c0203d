/**
 * Shapes for fresh models. `micro` is the laptop-sized decoder of the micro lab, `nano` a tenth of it for quick trials.
 * `vocabSize` stands for that of the tokenizer, whose size a model made from a preset takes.
 */
import type { DecoderConfig } from './config.ts';

const shared = {
  architecture: 'Qwen3ForCausalLM',
  rmsNormEpsilon: 1e-6,
  tieEmbeddings: true,
  maxPositions: 1024,
  rope: { theta: 10_000, scaling: { kind: 'none' } },
  qkNorm: true,
  qkvBias: false,
  bosTokenId: null,
  eosTokenIds: [],
  padTokenId: null,
} as const;

export const modelPresets = {
  nano: {
    ...shared,
    // Room for the longest prompt that recipes allow: it tries what is meant for larger models.
    maxPositions: 2048,
    vocabSize: 512,
    hiddenSize: 64,
    layers: 2,
    heads: 4,
    kvHeads: 2,
    headDim: 16,
    intermediateSize: 192,
  },
  micro: {
    ...shared,
    vocabSize: 512,
    hiddenSize: 192,
    layers: 4,
    heads: 6,
    kvHeads: 6,
    headDim: 32,
    intermediateSize: 576,
  },
} as const satisfies Record<string, DecoderConfig>;
