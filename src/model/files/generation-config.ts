/**
 * `generation_config.json`: how the makers of a model sample from it. null means the file does not say; a caller's own
 * settings always come first. Settings this project lacks (penalties, beams) are listed, so that nobody thinks they apply.
 */
import { z } from 'zod';
import { existsSync, join } from '../../base/node/index.ts';
import { type JsonObject, readJsonObject } from './json.ts';
import { parseFields, realNumber, tokenIdList, wholeNumber, yesOrNo } from './schema.ts';

export interface GenerationConfig {
  /** Whether to sample; false means greedy decoding. */
  readonly doSample: boolean | null;
  readonly temperature: number | null;
  readonly topK: number | null;
  readonly topP: number | null;
  readonly minP: number | null;
  readonly maxNewTokens: number | null;
  readonly eosTokenIds: readonly number[];
  readonly unreadKeys: readonly string[];
}

const harmless = new Set(['bos_token_id', 'pad_token_id', 'transformers_version', '_from_model_config', 'max_length']);

const share = realNumber({ least: 0, most: 1 });

const generationFile = z.object({
  do_sample: yesOrNo.optional(),
  temperature: realNumber({ least: 0 }).optional(),
  /** 0 is transformers' way to say "no top-k". */
  top_k: wholeNumber({ least: 0 }).optional(),
  top_p: share.optional(),
  min_p: share.optional(),
  max_new_tokens: wholeNumber().optional(),
  eos_token_id: tokenIdList,
});

export function parseGenerationConfig(json: JsonObject, file: string): GenerationConfig {
  const read = parseFields(generationFile, json, file);
  return {
    doSample: read.do_sample ?? null,
    temperature: read.temperature ?? null,
    topK: read.top_k ?? null,
    topP: read.top_p ?? null,
    minP: read.min_p ?? null,
    maxNewTokens: read.max_new_tokens ?? null,
    eosTokenIds: read.eos_token_id,
    unreadKeys: Object.keys(json).filter((key) => !Object.hasOwn(generationFile.shape, key) && !harmless.has(key)),
  };
}

/** A folder without the file says nothing about sampling. */
export async function openGenerationConfig(directory: string): Promise<GenerationConfig> {
  const file = join(directory, 'generation_config.json');
  return parseGenerationConfig(existsSync(file) ? await readJsonObject(file) : {}, file);
}
