/**
 * New tokenizers, as the `tokenizer.json` and `tokenizer_config.json` that Hugging Face's libraries load. Word level:
 * an explicit list of tokens, matched longest first, white space kept, so that decode(encode(text)) = text wherever the
 * text is made of tokens. Bytes: a token for each of the 256 bytes of UTF-8, so that any text round-trips.
 */
import { UserError } from '../../base/index.ts';
import { type JsonObject, show } from '../files/json.ts';
import type { TokenizerFiles } from './tokenizer.ts';

export interface TokenizerChoices {
  /** Control tokens; they take the first ids, in this order, and include `eos` and `pad`. */
  readonly special: readonly string[];
  readonly eos: string;
  readonly pad: string;
  readonly bos?: string;
  /** The chat template, as Jinja text. */
  readonly chatTemplate?: string;
}

/** The turn markers of ChatML, and a template that reads system, user and assistant turns. */
export const chatMarkupChoices: TokenizerChoices = {
  special: ['<|endoftext|>', '<|im_start|>', '<|im_end|>'],
  eos: '<|im_end|>',
  pad: '<|endoftext|>',
  chatTemplate: [
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}",
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  ].join(''),
};

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function wordLevelTokenizer(tokens: readonly string[], choices: TokenizerChoices): TokenizerFiles {
  const vocab = numberTokens([...choices.special, ...tokens]);
  const longestFirst = [...tokens].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const pattern = { Regex: longestFirst.map(escapePattern).join('|') };
  return tokenizerFiles(choices, {
    pre_tokenizer: { type: 'Split', pattern, behavior: 'Isolated', invert: false },
    decoder: { type: 'Fuse' },
    // The format needs the name of an unknown token; it is no token of the vocabulary, so unknown text is an error.
    model: { type: 'WordLevel', vocab, unk_token: '<unk>' },
  });
}

/** Character of each byte in GPT-2's table: printable Latin-1 stands for itself, the rest is moved up from U+0100. */
const byteCharacters: readonly string[] = (() => {
  const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
  let moved = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : moved++));
})();

/** A byte-pair encoding without merges: one token for each byte. */
export function byteTokenizer(choices: TokenizerChoices): TokenizerFiles {
  const bytes = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return tokenizerFiles(choices, {
    pre_tokenizer: bytes,
    decoder: bytes,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: numberTokens([...choices.special, ...byteCharacters]),
      merges: [],
    },
  });
}

function numberTokens(tokens: readonly string[]): Record<string, number> {
  const vocab = new Map<string, number>();
  for (const token of tokens) {
    if (token === '' || vocab.has(token) || /\p{Surrogate}/u.test(token)) {
      const expected = 'distinct tokens of at least one character';
      throw new UserError({
        call: 'build a tokenizer',
        expected,
        found: `${show(token)} ${vocab.has(token) ? 'twice' : ''}`,
      });
    }
    vocab.set(token, vocab.size);
  }
  return Object.fromEntries(vocab);
}

function tokenizerFiles(choices: TokenizerChoices, parts: JsonObject): TokenizerFiles {
  const { special, eos, pad, bos = null, chatTemplate } = choices;
  for (const token of [eos, pad, ...(bos === null ? [] : [bos])]) {
    if (special.includes(token)) continue;
    throw new UserError({
      call: 'build a tokenizer',
      expected: `${show(token)} among the special tokens`,
      found: show(special),
    });
  }
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: special.map((content, id) => ({ id, content, ...flags })),
      normalizer: null,
      post_processor: null,
      ...parts,
    },
    config: {
      bos_token: bos,
      eos_token: eos,
      pad_token: pad,
      unk_token: null,
      clean_up_tokenization_spaces: false,
      tokenizer_class: 'PreTrainedTokenizerFast',
      ...(chatTemplate === undefined ? {} : { chat_template: chatTemplate }),
    },
  };
}
