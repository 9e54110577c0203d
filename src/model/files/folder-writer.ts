/**
 * Writing a model folder that transformers and this project read: config, weights, tokenizer, sampling defaults. The
 * folder is filled under another name and renamed when complete; one that exists is never touched.
 */
import { join } from 'node:path';
import { createFolder, writeFileAtomic } from '../../base/node/index.ts';
import type { TokenizerFiles } from '../text/tokenizer.ts';
import { configJson, type DecoderConfig } from './config.ts';
import type { JsonObject } from './json.ts';
import { type TensorToWrite, writeSafetensors } from './safetensors-writer.ts';

export interface ModelFolderContents {
  readonly config: DecoderConfig;
  readonly tensors: readonly TensorToWrite[];
  readonly tokenizer: TokenizerFiles | null;
  /** Text of `chat_template.jinja`, for a template that is not in the tokenizer's config. */
  readonly chatTemplate?: string;
  /** `generation_config.json`; by default the token ids of the config. */
  readonly generation?: JsonObject;
  readonly metadata?: Readonly<Record<string, string>>;
}

function jsonText(value: JsonObject): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export async function writeModelFolder(directory: string, contents: ModelFolderContents): Promise<void> {
  await createFolder(directory, (temporary) => fill(temporary, contents));
}

async function fill(directory: string, contents: ModelFolderContents): Promise<void> {
  const config = configJson(contents.config);
  const { bos_token_id, eos_token_id, pad_token_id } = config;
  const texts: Record<string, string | undefined> = {
    'config.json': jsonText(config),
    'generation_config.json': jsonText(contents.generation ?? { bos_token_id, eos_token_id, pad_token_id }),
    'tokenizer.json': contents.tokenizer === null ? undefined : jsonText(contents.tokenizer.tokenizer),
    'tokenizer_config.json': contents.tokenizer === null ? undefined : jsonText(contents.tokenizer.config),
    'chat_template.jinja': contents.chatTemplate,
  };
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) await writeFileAtomic(join(directory, name), text);
  }
  await writeSafetensors(join(directory, 'model.safetensors'), contents.tensors, {
    format: 'pt',
    ...contents.metadata,
  });
}
