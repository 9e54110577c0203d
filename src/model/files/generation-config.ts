/**
 * `generation_config.json`: how the makers of a model sample from it. null means the file does not say; a caller's own
 * settings always come first. Settings we do not have (penalties, beams) are listed, so that nobody thinks they apply.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseTokenIds } from './config.ts';
import { Fields, type JsonObject, readJsonObject } from './json.ts';

export interface GenerationConfig {
  /** False: greedy. */
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

export function parseGenerationConfig(json: JsonObject, file: string): GenerationConfig {
  const fields = new Fields(json, file);
  const given = <T>(key: string, read: () => T): T | null => (fields.value(key) === undefined ? null : read());
  const share = (key: string) => given(key, () => fields.number(key, undefined, { least: 0, most: 1 }));
  return {
    doSample: given('do_sample', () => fields.boolean('do_sample', false)),
    temperature: given('temperature', () => fields.number('temperature', undefined, { least: 0 })),
    // 0 is transformers' way to say "no top-k".
    topK: given('top_k', () => fields.integer('top_k', undefined, { least: 0 })),
    topP: share('top_p'),
    minP: share('min_p'),
    maxNewTokens: given('max_new_tokens', () => fields.integer('max_new_tokens')),
    eosTokenIds: parseTokenIds(fields, 'eos_token_id'),
    unreadKeys: fields.unread().filter((key) => !harmless.has(key)),
  };
}

/** A folder without the file says nothing about sampling. */
export async function openGenerationConfig(directory: string): Promise<GenerationConfig> {
  const file = join(directory, 'generation_config.json');
  return parseGenerationConfig(existsSync(file) ? await readJsonObject(file) : {}, file);
}
