/** A tokenizer of the kind that small models of stories have: lower case, words and their pieces (WordPiece), no chat template. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const letters = [...'abcdefghijklmnopqrstuvwxyz'];
const signs = [...'!".,\'?'];
const words = [
  ...'this is a story about that says one day found in the by on at near under behind of and was it'.split(' '),
  ...'garden river tree hill beach forest cave market lake school tower castle library field kitchen attic'.split(' '),
  ...'key map stone book box coin ring letter kite shell feather basket lantern clock mirror ball'.split(' '),
  ...'mia leo kim alex sam rita lily alice maria jose jean lena ben peter tim rose she he home took'.split(' '),
  ...'silver purple wooden gentle golden orange frozen hollow'.split(' '),
];
/** Its end has the second token; the third is a sign, which the config of such a folder may name in its place. */
const pieces = [...new Set(['[UNK]', '[EOS]', ...signs, ...letters, ...letters.map((each) => `##${each}`), ...words])];
const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };

export const wordPieces = {
  size: pieces.length,
  tokenizer: {
    version: '1.0',
    added_tokens: ['[UNK]', '[EOS]'].map((content, id) => ({ id, content, ...special })),
    normalizer: {
      type: 'Sequence',
      normalizers: [{ type: 'Lowercase' }, { type: 'Replace', pattern: { String: '``' }, content: '"' }],
    },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Whitespace' },
        { type: 'Punctuation', behavior: 'Isolated' },
        { type: 'Digits', individual_digits: true },
      ],
    },
    post_processor: {
      type: 'TemplateProcessing',
      single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: '[EOS]', type_id: 0 } }],
      pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
      special_tokens: { '[EOS]': { id: '[EOS]', ids: [1], tokens: ['[EOS]'] } },
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
    },
  },
  config: { eos_token: '[EOS]', unk_token: '[UNK]', tokenizer_class: 'PreTrainedTokenizerFast' },
};

export function writeWordPieces(folder: string): void {
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(wordPieces.tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(wordPieces.config));
}
