/**
 * What a model folder is and what it needs, from its headers alone. P parameters (a tied head once), M of them in
 * matrices that are multiplied (every projection and the head). Weights in memory:
 *   reference: 4 P;  wasm: 4 P + 4 M, as it keeps a packed copy of each matrix (8 M in training: one for each
 *   direction);  cuda: 2 P, in bfloat16.
 * Each token in a key/value cache takes 2 · layers · kvHeads · headDim numbers, of 4 bytes, on cuda of 2.
 */

import type { ModelTokenizer } from '../text/tokenizer.ts';
import type { Architecture, DecoderConfig } from './config.ts';
import type { ModelFolder } from './folder.ts';
import { countElements, countParameters, expectedTensors } from './weights.ts';

export type DeviceName = 'reference' | 'wasm' | 'cuda';

export interface MemoryEstimate {
  readonly device: DeviceName;
  readonly formula: string;
  readonly weightBytes: number;
  readonly cacheBytesPerToken: number;
}

export interface ModelDescription {
  readonly directory: string;
  readonly architecture: Architecture;
  readonly parameters: number;
  readonly config: DecoderConfig;
  /** Stored dtypes with their number of tensors. */
  readonly dtypes: Readonly<Record<string, number>>;
  readonly tensors: number;
  readonly files: number;
  readonly diskBytes: number;
  readonly tokenizerSize: number | null;
  /** All that the model can read and write, where it is little; empty where a list would say nothing. */
  readonly words: readonly string[];
  readonly chatTemplate: boolean;
  readonly stopTokenIds: readonly number[];
  readonly unreadKeys: readonly string[];
  readonly memory: readonly MemoryEstimate[];
}

function countMultiplied(config: DecoderConfig): number {
  let total = 0;
  for (const [name, shape] of expectedTensors(config)) {
    const onlyLookedUp = name === 'model.embed_tokens.weight' && !config.tieEmbeddings;
    if (shape.length === 2 && !onlyLookedUp) total += countElements(shape);
  }
  return total;
}

export function estimateMemory(config: DecoderConfig): MemoryEstimate[] {
  const parameters = countParameters(config);
  const multiplied = countMultiplied(config);
  const perToken = 2 * config.layers * config.kvHeads * config.headDim;
  return [
    { device: 'reference', formula: '4 P', weightBytes: 4 * parameters, cacheBytesPerToken: 4 * perToken },
    {
      device: 'wasm',
      formula: '4 P + 4 M; training 4 P + 8 M',
      weightBytes: 4 * (parameters + multiplied),
      cacheBytesPerToken: 4 * perToken,
    },
    { device: 'cuda', formula: '2 P', weightBytes: 2 * parameters, cacheBytesPerToken: 2 * perToken },
  ];
}

/** A tokenizer with more tokens than these has no list that anybody reads. */
const mostWords = 200;

function wordsOf(tokenizer: ModelTokenizer): string[] {
  if (tokenizer.size > mostWords) return [];
  const ids = Array.from({ length: tokenizer.size }, (_, id) => id).filter((id) => !tokenizer.specialIds.has(id));
  return ids.flatMap((id) => tokenizer.token(id) ?? []);
}

export function describeModel(folder: ModelFolder): ModelDescription {
  const { config, weights } = folder;
  const dtypes: Record<string, number> = {};
  for (const { dtype } of weights.entries.values()) dtypes[dtype] = (dtypes[dtype] ?? 0) + 1;
  return {
    directory: folder.directory,
    architecture: config.architecture,
    parameters: countParameters(config),
    config,
    dtypes,
    tensors: weights.entries.size,
    files: weights.files.length,
    diskBytes: weights.files.reduce((sum, { bytes }) => sum + bytes, 0),
    tokenizerSize: folder.hasTokenizer ? folder.tokenizer.size : null,
    words: folder.hasTokenizer ? wordsOf(folder.tokenizer) : [],
    chatTemplate: folder.hasChat,
    stopTokenIds: folder.stopTokenIds,
    unreadKeys: folder.unreadKeys,
    memory: estimateMemory(config),
  };
}
