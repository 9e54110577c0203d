/**
 * Turns the arguments of `gq model init` into the contents of a model folder. The tokenizer is one of bytes, or comes from a
 * file: a JSON list is an explicit list of tokens, a JSON object is a tokenizer.json, which a model folder or a fetched model has too.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UserError } from '../../base/index.ts';
import { initialTensors } from '../decoder/initialize.ts';
import { findSnapshot, parseHubName } from '../hub/cache.ts';
import { ModelTokenizer, type TokenizerFiles } from '../text/tokenizer.ts';
import { byteTokenizer, chatMarkupChoices, wordLevelTokenizer } from '../text/tokenizer-builder.ts';
import { type DecoderConfig, parseDecoderConfig } from './config.ts';
import type { ModelFolderContents } from './folder-writer.ts';
import { isObject, type JsonValue, parseJson, readJsonObject, readText } from './json.ts';
import { modelPresets } from './presets.ts';

export async function planModel(configName: string, source: string, seed: number): Promise<ModelFolderContents> {
  const preset = Object.entries(modelPresets).find(([name]) => name === configName)?.[1];
  const shape = preset ?? (await readConfig(configName));
  const { files, chatTemplate } = await planTokenizer(source);
  const tokenizer = new ModelTokenizer(files, source);
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

async function planTokenizer(source: string): Promise<TokenizerPlan> {
  if (source === 'bytes') return { files: byteTokenizer(chatMarkupChoices) };
  const call = `gq model init --tokenizer-from ${source}`;
  const expected = '"bytes", a .json list of tokens, or a tokenizer.json, by its path or that of a model';
  if (!source.endsWith('.json')) {
    const name = existsSync(source) ? null : parseHubName(source);
    const folder = name === null ? source : findSnapshot(name);
    if (existsSync(join(folder, 'tokenizer.json'))) return copyTokenizer(folder, 'tokenizer.json');
    throw new UserError({ call, expected, found: 'none of these' });
  }
  const value = parseJson(await readText(source), source);
  if (isTokenList(value)) return { files: wordLevelTokenizer(value, chatMarkupChoices) };
  if (isObject(value)) return copyTokenizer(dirname(source), basename(source));
  throw new UserError({ call, expected, found: 'other JSON' });
}

function isTokenList(value: JsonValue): value is readonly string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}

/** Copies a tokenizer.json with the config and the chat template beside it. */
async function copyTokenizer(directory: string, name: string): Promise<TokenizerPlan> {
  const configFile = join(directory, 'tokenizer_config.json');
  const templateFile = join(directory, 'chat_template.jinja');
  const files = {
    tokenizer: await readJsonObject(join(directory, name)),
    config: existsSync(configFile) ? await readJsonObject(configFile) : {},
  };
  return existsSync(templateFile) ? { files, chatTemplate: await readText(templateFile) } : { files };
}
