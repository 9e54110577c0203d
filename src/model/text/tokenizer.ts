/**
 * The tokenizer of a model folder: `tokenizer.json` (and `tokenizer_config.json` where there is one), read by
 * @huggingface/tokenizers. Decoding is exact: the clean-up of spaces before punctuation that some folders ask for is
 * never applied, as it would change code. A piece of text without a token is an error, never a silent gap.
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { messageOf, UserError } from '../../base/index.ts';
import { existsSync, join, sha256, sha256Json } from '../../base/node/index.ts';
import { type JsonObject, parseJsonObject, readBytes, show } from '../files/json.ts';
import { parseFields } from '../files/schema.ts';
import { withExactWords } from './pre-tokenizer.ts';

/** The contents of `tokenizer.json` and `tokenizer_config.json`. */
export interface TokenizerFiles {
  readonly tokenizer: JsonObject;
  readonly config: JsonObject;
}

export type SpecialTokenKind = 'bos' | 'eos' | 'pad' | 'unk';

/** A token by its text, or as the description that older folders store. */
const specialText = z
  .union([z.string(), z.object({ content: z.string() })], { error: 'a token' })
  .transform((token) => (typeof token === 'string' ? token : token.content))
  .optional();
const specialKeys = z.object({
  bos_token: specialText,
  eos_token: specialText,
  pad_token: specialText,
  unk_token: specialText,
});

const tokenizerFile = z.object({
  // A schema of an object would go through every token of the vocabulary.
  model: z.looseObject({ vocab: z.custom<object>(isTable), unk_token: z.unknown().optional() }),
  added_tokens: z.array(z.unknown()),
});

function isTable(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The tokenizer that was opened last, by the hash of its files: the runs of an experiment share it, and a large one takes a second. */
let lastOpened: { readonly hash: string; readonly tokenizer: ModelTokenizer } | null = null;

export class ModelTokenizer {
  readonly file: string;
  readonly files: TokenizerFiles;
  /** One more than the greatest id: a model needs at least this vocabulary. */
  readonly size: number;
  /** Ids of the tokens that are control, not text (as `skipSpecialTokens` understands it). */
  readonly specialIds: ReadonlySet<number>;
  /** Texts of the tokens that are found in a text before anything else is: control tokens, and others that were added. */
  readonly addedTexts: readonly string[];
  readonly #tokenizer: Tokenizer;
  readonly #special: z.output<typeof specialKeys>;

  constructor(files: TokenizerFiles, file: string) {
    this.file = file;
    this.files = files;
    this.#tokenizer = build(files, file);
    this.#special = parseFields(specialKeys, files.config, `the tokenizer_config.json of ${file}`);
    const added = [...this.#tokenizer.get_added_tokens_decoder()];
    this.specialIds = new Set(added.flatMap(([id, token]) => (token.special ? [id] : [])));
    this.addedTexts = added.map(([, token]) => token.content);
    let size = 0;
    for (const id of this.#tokenizer.get_vocab().values()) size = Math.max(size, id + 1);
    this.size = size;
  }

  /** Opens the tokenizer of a folder that has a `tokenizer.json`. */
  static async open(directory: string): Promise<ModelTokenizer> {
    const file = join(directory, 'tokenizer.json');
    const configFile = join(directory, 'tokenizer_config.json');
    const bytes = await readBytes(file);
    const configBytes = existsSync(configFile) ? await readBytes(configFile) : new TextEncoder().encode('{}');
    const hash = sha256Json([file, sha256(bytes), sha256(configBytes)]);
    if (lastOpened?.hash === hash) return lastOpened.tokenizer;
    const files = { tokenizer: parseJsonObject(bytes, file), config: parseJsonObject(configBytes, configFile) };
    const tokenizer = new ModelTokenizer(files, file);
    lastOpened = { hash, tokenizer };
    return tokenizer;
  }

  /** Special tokens written in the text become their ids; `addSpecialTokens` also adds what the folder adds around a text. */
  encode(text: string, { addSpecialTokens = false }: { readonly addSpecialTokens?: boolean } = {}): Int32Array {
    const { ids, tokens } = this.#tokenizer.encode(text, { add_special_tokens: addSpecialTokens });
    const isKnown = (ids as readonly (number | undefined)[]).map((id) => id !== undefined);
    if (!isKnown.includes(false)) return Int32Array.from(ids);
    const stretch = longestUnknown(tokens, isKnown);
    const { begun, alike } = this.#tokensLike(stretch);
    const known = alike.length === 0 ? '' : `Known after ${show(begun)}: ${alike.map(show).join(', ')}. `;
    throw new UserError({
      call: `encode with ${this.file}`,
      expected: 'text made of tokens of the vocabulary',
      found: `${show(stretch.slice(begun.length))}${begun === '' ? '' : ` after ${show(begun)}`} in ${show(text)}`,
      fix: `${known}Where tokens are few, gq model inspect lists them.`,
    });
  }

  /** The words with which a text begins as tokens do, and how these tokens go on. */
  #tokensLike(text: string): { readonly begun: string; readonly alike: readonly string[] } {
    let begun = '';
    for (const token of this.#tokenizer.get_vocab().keys()) {
      let length = 0;
      while (length < token.length && token[length] === text[length]) length += 1;
      const words = text.slice(0, text.lastIndexOf(' ', length - 1) + 1);
      if (words.length > begun.length) begun = words;
    }
    if (begun.trim() === '') return { begun: '', alike: [] };
    const tokens = [...this.#tokenizer.get_vocab().keys()].filter((token) => token.startsWith(begun));
    return { begun, alike: tokens.slice(0, mostAlike).map((token) => token.slice(begun.length)) };
  }

  /** The text of the ids. As in the reference implementation, an id without a token (padding of the vocabulary) is no text. */
  decode(ids: ArrayLike<number>, { skipSpecialTokens = false }: { readonly skipSpecialTokens?: boolean } = {}): string {
    const known = Array.from(ids).filter((id) => {
      if (!Number.isSafeInteger(id) || id < 0) {
        throw new UserError({ call: `decode with ${this.file}`, expected: 'token ids', found: `${id}` });
      }
      return this.token(id) !== null && !(skipSpecialTokens && this.specialIds.has(id));
    });
    return known.length === 0 ? '' : this.#tokenizer.decode(known, { clean_up_tokenization_spaces: false });
  }

  token(id: number): string | null {
    return this.#tokenizer.id_to_token(id) ?? null;
  }

  tokenId(token: string): number | null {
    return this.#tokenizer.token_to_id(token) ?? null;
  }

  /** The text of `bos_token`, `eos_token`, `pad_token` or `unk_token` in `tokenizer_config.json`. */
  specialToken(kind: SpecialTokenKind): string | null {
    return this.#special[`${kind}_token`] ?? null;
  }

  specialTokenId(kind: SpecialTokenKind): number | null {
    const token = this.specialToken(kind);
    return token === null ? null : this.tokenId(token);
  }
}

const mostAlike = 3;
/** A known token that is shorter may stand inside a word that is not known. */
const shortest = 3;

/** The longest stretch of text without tokens; what is found inside its words, and the spaces between them, belong to it. */
function longestUnknown(tokens: readonly string[], isKnown: readonly boolean[]): string {
  let [longest, stretch, since] = ['', '', ''];
  for (const [i, token] of tokens.entries()) {
    if (isKnown[i] && token.length >= shortest) [stretch, since] = ['', ''];
    else if (isKnown[i]) since += token;
    else [stretch, since] = [stretch === '' ? token : stretch + since + token, ''];
    if (stretch.length > longest.length) longest = stretch;
  }
  return longest;
}

function build({ tokenizer, config }: TokenizerFiles, file: string): Tokenizer {
  const checked = tokenizerFile.safeParse(tokenizer);
  if (!checked.success) {
    const found = show(Object.keys(tokenizer));
    throw new UserError({ call: `read ${file}`, expected: 'a tokenizer with model.vocab and added_tokens', found });
  }
  try {
    // A word-level model keeps its unknown token in its own file; the library looks for it in the config.
    return new Tokenizer(withExactWords(tokenizer), { unk_token: checked.data.model.unk_token, ...config });
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError({ call: `read ${file}`, expected: 'a tokenizer this version can run', found }, { cause });
  }
}
