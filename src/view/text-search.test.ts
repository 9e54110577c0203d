/** A search of packed texts finds what its expression finds in the same texts as they are shown. */
import { expect, it } from 'vitest';
import { randomStream } from '../base/rng.ts';
import { PackedRows, PackedTexts } from './packed.ts';
import { expressionOf } from './query.ts';
import { neededText, textSearch } from './text-search.ts';

const draws = randomStream(5, 'texts that are searched');
let drawn = 0;
const below = (bound: number): number => draws.integerAt(drawn++, bound);
const oneOf = <Value>(values: readonly Value[]): Value => values[below(values.length)];
const several = (most: number, make: () => string): string => Array.from({ length: below(most + 1) }, make).join('');

/** Few characters, so that texts and what is looked for meet; among them those whose case has two bytes, three, or changes their number. */
const characters = [
  ...'aAbBkKsSiI01 .+=*"\n',
  ...'üÜßẞſKİıσςΣµμǆǅé',
  '😀',
  '\ud83d',
  '\ufeff',
  '\ufffd',
  'e\u0301',
] as const;
const ascii = characters.filter((character) => character <= '\x7f');
const character = (): string => oneOf(below(4) === 0 ? characters : ascii);

const quantifiers = ['', '', '', '*', '+', '?', '{2}', '{0,1}', '{,2}', '+?', '*?'];
const special = [
  '.',
  '\\w',
  '\\s',
  '\\b',
  '^',
  '$',
  '[^ab]',
  '[]',
  '[\\]a(]',
  '\\.',
  '\\*',
  '\\u0061',
  '\\x41',
  '\\1',
  '|',
];
const grouped = (): string => `(${oneOf(['', '?:', '?=', '?!', '?<=', '?<!'])}${several(3, piece)})`;
function piece(): string {
  const kind = below(8);
  if (kind === 0) return grouped() + oneOf(quantifiers);
  if (kind <= 2) return oneOf(special) + oneOf(quantifiers);
  return character().replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') + oneOf(quantifiers);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

it('random texts and expressions: every search finds what its expression does', () => {
  const met = { found: 0, notFound: 0, needed: 0 };
  for (let round = 0; round < 3000; round++) {
    const kept = Array.from({ length: 1 + below(6) }, () => encoder.encode(several(12, character)));
    // As a file has them that holds repeated values once: the same bytes in several rows, and a row without any.
    const rows = Array.from({ length: below(20) }, () => (below(12) === 0 ? null : oneOf(kept)));
    const texts = rows.map((bytes) => decoder.decode(bytes ?? undefined));
    const isPattern = below(2) === 0;
    const query = { text: several(5, isPattern ? piece : character), isPattern };
    let expression: RegExp | null = null;
    try {
      expression = expressionOf(query);
    } catch {
      continue;
    }
    if (expression === null) continue;
    const packed = new PackedTexts(rows);
    expect(rows.map((_, row) => packed.at(row))).toEqual(texts);
    const found = textSearch(query)?.(packed);
    const expected = texts.map((text) => expression.test(text));
    expect(
      rows.map((_, row) => found?.[packed.code(row)] === 1),
      `${expression} in ${JSON.stringify(texts)}`,
    ).toEqual(expected);
    for (const isFound of expected) met[isFound ? 'found' : 'notFound'] += 1;
    if (isPattern && neededText(query.text) !== '') met.needed += 1;
  }
  // Both answers were asked for often, and so was the shorter way.
  expect(Math.min(...Object.values(met))).toBeGreaterThan(300);
});

it('in long texts too, by a rare byte and by the last one, over their borders', () => {
  const long = Array.from({ length: 300 }, () => several(400, () => oneOf([...'abcdefghij \n'])));
  // Beside one that ends with it, a text begins with it.
  const ends = [(text: string, i: number) => `${text}n += ${i}é`, (text: string) => `+= ${text}`];
  const texts = long.map((text, i) => ends[i % 7]?.(text, i) ?? `${text}Needle`.slice(i % 3));
  const packed = new PackedTexts(texts.map((text) => encoder.encode(text)));
  for (const text of ['n += 14', '+= 1', 'NEEDLE', 'needlea', 'e\n', 'j', '+', 'é', '= 7É', 'abc', 'zz']) {
    const found = textSearch({ text, isPattern: false })?.(packed) ?? [];
    expect([...found], text).toEqual(texts.map((own) => Number(own.toLowerCase().includes(text.toLowerCase()))));
  }
});

it('no ASCII character is equal to one beyond ASCII, regardless of case', () => {
  const others = String.fromCharCode(...Array.from({ length: 0x10000 - 0x80 }, (_, i) => 0x80 + i));
  const equal = Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)).filter((text) =>
    expressionOf({ text, isPattern: false })?.test(others),
  );
  expect(equal).toEqual([]);
});

it.each([
  ['n .= 6[0-9]9\\b', '= 6'],
  ['def (run|check)_\\w+\\(', 'def '],
  ['\\(self\\)', '(self)'],
  ['ab+c', 'ab'],
  ['abc?d', 'ab'],
  ['abc{0,2}d', 'ab'],
  ['(?:never)?[ly]x', 'x'],
  ['one|another', ''],
  ['f{x|y}', ''],
  ['\\x41bc', ''],
  ['[a-z]*', ''],
  ['überall', 'berall'],
])('%s needs "%s"', (source, needed) => {
  expect(neededText(source)).toBe(needed);
});

it('rows are given back as they were', () => {
  const rows = Array.from({ length: 1000 }, (_, i) => ({
    id: `${i}`,
    many: i % 5 === 0 ? null : Math.sin(i),
    few: i % 7 === 0 ? null : i % 3,
    word: oneOf(['a', 'b', null]),
    is: i % 2 === 0,
  }));
  const column = <Name extends keyof (typeof rows)[number]>(name: Name) => rows.map((row) => row[name]);
  const packed = new PackedRows<(typeof rows)[number]>(rows.length, {
    ...{ id: column('id'), many: column('many'), few: column('few'), word: column('word'), is: column('is') },
  });
  expect(rows.map((_, place) => packed.at(place))).toEqual(rows);
  // Eight bytes of a number of many, one of what repeats, and the strings of the ids.
  expect(packed.bytes).toBeLessThan(1000 * (8 + 3 + 2 + 24 + 4));
});
