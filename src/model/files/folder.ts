/**
 * A model folder in Hugging Face's layout, opened as one thing: config, weights (headers checked, data unread),
 * tokenizer, chat template and sampling defaults. Folders without a tokenizer can be opened; asking them for text is an
 * error. Everything that can be wrong with the folder without reading its weights is found here.
 */
import { UserError } from '../../base/index.ts';
import { existsSync, join, stat } from '../../base/node/index.ts';
import { ChatTemplate } from '../text/chat.ts';
import { ModelTokenizer } from '../text/tokenizer.ts';
import { type DecoderConfig, parseDecoderConfig } from './config.ts';
import { type GenerationConfig, openGenerationConfig } from './generation-config.ts';
import { readJsonObject } from './json.ts';
import { WeightFiles } from './weight-files.ts';
import { checkWeights } from './weights.ts';

export class ModelFolder implements AsyncDisposable {
  readonly directory: string;
  readonly config: DecoderConfig;
  /** Keys of `config.json` and `generation_config.json` that had no effect. */
  readonly unreadKeys: readonly string[];
  readonly weights: WeightFiles;
  readonly generation: GenerationConfig;
  readonly #tokenizer: ModelTokenizer | null;
  readonly #chat: ChatTemplate | null;

  private constructor(directory: string, weights: WeightFiles, parts: FolderParts) {
    this.directory = directory;
    this.weights = weights;
    this.config = parts.config;
    this.unreadKeys = parts.unreadKeys;
    this.generation = parts.generation;
    this.#tokenizer = parts.tokenizer;
    this.#chat = parts.chat;
  }

  static async open(directory: string): Promise<ModelFolder> {
    const found = await stat(directory).catch(() => null);
    if (!found?.isDirectory()) {
      const what = found === null ? 'no such folder' : 'a file';
      throw new UserError({ call: `open the model ${directory}`, expected: 'a model folder', found: what });
    }
    const parts = await openParts(directory);
    const weights = await WeightFiles.open(directory);
    try {
      checkWeights(weights, parts.config);
      return new ModelFolder(directory, weights, parts);
    } catch (error) {
      await weights[Symbol.asyncDispose]();
      throw error;
    }
  }

  get hasTokenizer(): boolean {
    return this.#tokenizer !== null;
  }

  get hasChat(): boolean {
    return this.#chat !== null;
  }

  get tokenizer(): ModelTokenizer {
    return this.#tokenizer ?? this.#lacks('tokenizer.json');
  }

  get chat(): ChatTemplate {
    return this.#chat ?? this.#lacks('chat_template.jinja, or chat_template in tokenizer_config.json');
  }

  /**
   * Tokens that end a generated text: those of `generation_config.json`, else of `config.json`. The tokenizer's own end token stands for
   * them where there are none, and where all are words, as in folders whose config kept a default (2) that their vocabulary has a word for.
   */
  get stopTokenIds(): readonly number[] {
    const { eosTokenIds } = this.generation.eosTokenIds.length > 0 ? this.generation : this.config;
    const own = this.#tokenizer?.specialTokenId('eos') ?? null;
    if (own === null || eosTokenIds.includes(own)) return eosTokenIds;
    return eosTokenIds.some((id) => this.#tokenizer?.specialIds.has(id)) ? eosTokenIds : [own];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.weights[Symbol.asyncDispose]();
  }

  #lacks(file: string): never {
    throw new UserError({ call: `use the text of ${this.directory}`, expected: file, found: 'none in the folder' });
  }
}

interface FolderParts {
  readonly config: DecoderConfig;
  readonly unreadKeys: readonly string[];
  readonly generation: GenerationConfig;
  readonly tokenizer: ModelTokenizer | null;
  readonly chat: ChatTemplate | null;
}

/** The config of a model's folder, without its other files. */
export async function readDecoderConfig(directory: string): Promise<ReturnType<typeof parseDecoderConfig>> {
  const file = join(directory, 'config.json');
  return parseDecoderConfig(await readJsonObject(file), file);
}

async function openParts(directory: string): Promise<FolderParts> {
  const { config, unreadKeys } = await readDecoderConfig(directory);
  const generation = await openGenerationConfig(directory);
  const tokenizer = existsSync(join(directory, 'tokenizer.json')) ? await ModelTokenizer.open(directory) : null;
  if (tokenizer !== null && tokenizer.size > config.vocabSize) {
    throw new UserError({
      call: `open the model ${directory}`,
      expected: `a tokenizer of at most ${config.vocabSize} tokens, the vocab_size of config.json`,
      found: `ids up to ${tokenizer.size - 1} in tokenizer.json`,
    });
  }
  const chat = tokenizer === null ? null : await ChatTemplate.open(directory, tokenizer);
  return { config, unreadKeys: [...unreadKeys, ...generation.unreadKeys], generation, tokenizer, chat };
}
