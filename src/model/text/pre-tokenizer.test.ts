import { expect, test } from 'vitest';
import type { JsonObject } from '../files/json.ts';
import { withExactWords } from './pre-tokenizer.ts';
import { ModelTokenizer } from './tokenizer.ts';

const vocabulary = ['[UNK]', 'a', 'key', '##s', '"', '.', ',', '!', '$', 'na', 've', '1', '2'];

function pieces(steps: JsonObject[], text: string): string[] {
  const tokenizer = {
    added_tokens: [],
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    post_processor: null,
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: steps },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(vocabulary.map((piece, id) => [piece, id])),
    },
  };
  const opened = new ModelTokenizer({ tokenizer, config: {} }, 'tokenizer.json');
  return [...opened.encode(text)].map((id) => opened.token(id) ?? '');
}

const whitespace: JsonObject = { type: 'Whitespace' };
const digits: JsonObject = { type: 'Digits', individual_digits: true };
const punctuation: JsonObject = { type: 'Punctuation', behavior: 'Isolated' };

test('signs that stand together are tokens of their own, a word with an accent is one word, as in the reference implementation', () => {
  const steps = [whitespace, punctuation, digits];
  expect(pieces(steps, 'A "key". Keys,!  $12')).toEqual(['a', '"', 'key', '"', '.', 'key', '##s', ',', '!', '$', '1', '2']); // biome-ignore format: one line
  expect(pieces(steps, 'naïve')).toEqual(['[UNK]']);
  // Isolated is what Punctuation does where nothing is said.
  expect(pieces([whitespace, { type: 'Punctuation' }], '".')).toEqual(['"', '.']);
});

test('every other way of splitting is left as it is', () => {
  const steps: JsonObject[] = [{ type: 'Punctuation', behavior: 'Contiguous' }, digits, { type: 'ByteLevel' }];
  const file = { pre_tokenizer: { type: 'Sequence', pretokenizers: steps } };
  expect(withExactWords(file)).toEqual(file);
  expect(withExactWords({ pre_tokenizer: null })).toEqual({ pre_tokenizer: null });
  expect(withExactWords({ model: 1 })).toEqual({ model: 1 });
});
