/**
 * From the arguments of `gq model init` to the contents of a model folder. The kind of each tokenizer source follows
 * from its content: a JSON list is an explicit list of tokens, a JSON object a tokenizer.json, anything else text.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../base/index.ts';
import {
  chatMarkupChoices,
  type DecoderConfig,
  initialTensors,
  isObject,
  type JsonValue,
  type ModelFolderContents,
  ModelTokenizer,
  modelPresets,
  parseDecoderConfig,
  parseJson,
  readJsonObject,
  readText,
  type TokenizerFiles,
  trainByteLevelTokenizer,
  wordLevelTokenizer,
} from '../../model/index.ts';

export async function planModel(
  configName: string,
  sources: readonly string[],
  seed: number,
): Promise<ModelFolderContents> {
  const preset = Object.entries(modelPresets).find(([name]) => name === configName)?.[1];
  const shape = preset ?? (await readConfig(configName));
  const { files, chatTemplate } = await planTokenizer(sources, shape.vocabSize);
  const tokenizer = new ModelTokenizer(files, sources.join(', '));
  if (preset === undefined && tokenizer.size > shape.vocabSize) {
    const expected = `at most ${shape.vocabSize} tokens, the vocab_size of ${configName}`;
    throw new UserError({ call: 'gq model init --tokenizer-from', expected, found: `${tokenizer.size}` });
  }
  const eos = tokenizer.specialTokenId('eos');
  const config: DecoderConfig = {
    ...shape,
    vocabSize: preset === undefined ? shape.vocabSize : tokenizer.size,
    bosTokenId: tokenizer.specialTokenId('bos'),
    eosTokenIds: eos === null ? [] : [eos],
    padTokenId: tokenizer.specialTokenId('pad'),
  };
  return {
    config,
    tensors: initialTensors(config, seed),
    tokenizer: files,
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
    metadata: { seed: `${seed}` },
  };
}

async function readConfig(file: string): Promise<DecoderConfig> {
  if (existsSync(file)) return parseDecoderConfig(await readJsonObject(file), file).config;
  const expected = `a config.json, or a preset: ${Object.keys(modelPresets).join(', ')}`;
  throw new UserError({ call: 'gq model init --config', expected, found: `${file}, which does not exist` });
}

interface TokenizerPlan {
  readonly files: TokenizerFiles;
  readonly chatTemplate?: string;
}

async function planTokenizer(sources: readonly string[], vocabSize: number): Promise<TokenizerPlan> {
  const [first] = sources;
  if (sources.length === 1 && first.endsWith('.json')) {
    const value = parseJson(await readText(first), first);
    if (isTokenList(value)) return { files: wordLevelTokenizer(value, chatMarkupChoices) };
    if (isObject(value)) return copyTokenizer(dirname(first), basename(first));
    const expected = 'a list of tokens or a tokenizer.json';
    throw new UserError({ call: `gq model init --tokenizer-from ${first}`, expected, found: 'other JSON' });
  }
  const texts = await Promise.all(sources.map(readText));
  return { files: trainByteLevelTokenizer(texts, vocabSize, chatMarkupChoices) };
}

function isTokenList(value: JsonValue): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}

/** With the config and the chat template that lie beside it. */
async function copyTokenizer(directory: string, name: string): Promise<TokenizerPlan> {
  const configFile = join(directory, 'tokenizer_config.json');
  const templateFile = join(directory, 'chat_template.jinja');
  const files = {
    tokenizer: await readJsonObject(join(directory, name)),
    config: existsSync(configFile) ? await readJsonObject(configFile) : {},
  };
  return existsSync(templateFile) ? { files, chatTemplate: await readText(templateFile) } : { files };
}
