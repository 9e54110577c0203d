import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../base/errors.ts';
import { ModelTokenizer } from './tokenizer.ts';
import { byteTokenizer, chatMarkupChoices, wordLevelTokenizer } from './tokenizer-builder.ts';

const choices = { special: ['<pad>', '<end>'], eos: '<end>', pad: '<pad>' };
/** Opens the tokenizer through JSON text, as a folder would hold it. */
const open = (files: ReturnType<typeof wordLevelTokenizer>) =>
  new ModelTokenizer(JSON.parse(JSON.stringify(files)), 'tokenizer.json');

describe('word level', () => {
  const program = 'class Solution:\n    def f(self, n):\n        return (n + 12) * 3\n\n\n';
  const tokens = [
    'class',
    'Solution',
    'def',
    'f',
    'self',
    'n',
    'return',
    '    ',
    ' ',
    '\n',
    '(',
    ')',
    ':',
    ',',
    '+',
    '*',
    '1',
    '2',
    '3',
  ];
  const tokenizer = open(wordLevelTokenizer(tokens, choices));

  test('keeps white space and new lines exactly, longest token first', () => {
    const ids = tokenizer.encode(program);
    expect(tokenizer.decode(ids)).toBe(program);
    expect(Array.from(ids.slice(0, 6), (id) => tokenizer.token(id))).toEqual([
      'class',
      ' ',
      'Solution',
      ':',
      '\n',
      '    ',
    ]);
  });

  test('special tokens take the first ids and are skipped on request', () => {
    expect(tokenizer.size).toBe(tokens.length + 2);
    expect([...tokenizer.encode('<pad>n<end>')]).toEqual([0, tokenizer.tokenId('n'), 1]);
    expect(tokenizer.decode([0, tokenizer.tokenId('n') ?? -1, 1], { skipSpecialTokens: true })).toBe('n');
    expect([tokenizer.specialTokenId('eos'), tokenizer.specialTokenId('pad'), tokenizer.specialTokenId('bos')]).toEqual(
      [1, 0, null],
    );
  });

  test('text outside the vocabulary is an error that shows it', () => {
    expect(() => tokenizer.encode('def g')).toThrow(UserError);
    expect(() => tokenizer.encode('def g')).toThrow('"g"');
  });

  test('names the longest stretch that has no token, after words that begin one, and how that goes on', () => {
    const words = wordLevelTokenizer(['will be read by `', 'will be run', ' ', 'ok', 'word', '`'], choices);
    const encode = (text: string) => () => new ModelTokenizer(words, 'words').encode(text);
    expect(encode('x word will be read by looking at the word `ok`')).toThrow(
      'found "looking at the" after "will be read by " in "x word will be read by looking at the word `ok`". Known after "will be read by ": "`". Where',
    );
    expect(encode('ok q')).toThrow('found "q" in "ok q". Where');
  });

  test('any list that has its own characters encodes any text of them and gives it back', () => {
    const alphabet = [
      'a',
      'b',
      '.',
      '*',
      '(',
      '\\',
      '\n',
      ' ',
      '\t',
      '|',
      '^',
      '$',
      '-',
      '#',
      '/',
      'é',
      '😀',
      '1',
      '{',
      ']',
      '&',
      '~',
      "'",
    ];
    const character = fc.constantFrom(...alphabet);
    const word = fc.array(character, { minLength: 2, maxLength: 5 }).map((parts) => parts.join(''));
    const text = fc.array(character, { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.uniqueArray(word, { maxLength: 12 }), fc.array(text, { maxLength: 4 }), (words, texts) => {
        const own = open(wordLevelTokenizer([...words, ...alphabet], choices));
        for (const each of [...texts, ...words]) expect(own.decode(own.encode(each))).toBe(each);
        for (const each of words) expect([...own.encode(each)]).toEqual([own.tokenId(each)]);
      }),
      { numRuns: 100 },
    );
  });

  test('a token twice, an empty one, or an end token that is not special are refused', () => {
    expect(() => wordLevelTokenizer(['a', 'a'], choices)).toThrow('"a" twice');
    expect(() => wordLevelTokenizer(['<pad>'], choices)).toThrow('"<pad>" twice');
    expect(() => wordLevelTokenizer([''], choices)).toThrow(UserError);
    expect(() => wordLevelTokenizer(['a'], { ...choices, eos: '<other>' })).toThrow(
      '"<other>" among the special tokens',
    );
  });
});

test('bytes: any text comes back, a token for each of its bytes', () => {
  const tokenizer = open(byteTokenizer(chatMarkupChoices));
  expect(tokenizer.size).toBe(256 + chatMarkupChoices.special.length);
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
  const wellFormed = text.filter((each) => !/\p{Surrogate}/u.test(each));
  fc.assert(
    fc.property(wellFormed, (each) => {
      const ids = tokenizer.encode(each);
      expect(ids.length).toBe(Buffer.byteLength(each));
      expect(tokenizer.decode(ids)).toBe(each);
    }),
    { numRuns: 500 },
  );
  expect([...tokenizer.encode('<|im_end|>')]).toEqual([2]);
});
