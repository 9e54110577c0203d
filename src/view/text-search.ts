/**
 * Finds texts that are packed as UTF-8. What a search says is what its regular expression says of the decoded texts (`query.ts`); but bytes that
 * every text it finds must have are looked for first, so that few texts are decoded, or none.
 */
import type { PackedTexts } from './packed.ts';
import { expressionOf, type RolloutQuery } from './query.ts';

/** Of each different text, as 1 or 0, whether it is found. */
export type TextSearch = (texts: PackedTexts) => Uint8Array;

/** Null: every text is found. */
export function textSearch(query: Pick<RolloutQuery, 'text' | 'isPattern'>): TextSearch | null {
  const expression = expressionOf(query);
  if (expression === null) return null;
  const { text, isPattern } = query;
  const needed = isPattern ? neededText(text) : longest(text.split(/[^\0-\x7f]+/));
  // Regardless of case, only an ASCII character is equal to one (the test goes through all others).
  if (!isPattern && needed === text) return (texts) => withBytes(texts, needed);
  return (texts) => {
    const found = needed === '' ? new Uint8Array(texts.isWide.length).fill(1) : withBytes(texts, needed);
    // A text with a character beyond ASCII is found in no text without one.
    if (!isPattern) for (let code = 0; code < found.length; code++) found[code] &= texts.isWide[code];
    const wanted = found.reduce((sum, one) => sum + one, 0);
    const read = texts.reader(8 * wanted > found.length ? undefined : 1);
    for (let code = 0; code < found.length; code++) {
      if (found[code] === 1) found[code] = Number(expression.test(read(code)));
    }
    return found;
  };
}

const longest = (texts: readonly string[]): string =>
  texts.reduce((best, text) => (text.length > best.length ? text : best), '');

/** An escape that stands for one kind of character or of place, and has no more to it than its letter. */
const shortEscape = /[dDwWsSbBnrtfv]/;

/**
 * The longest ASCII text that whatever the expression finds has in it, regardless of case; empty where that is not seen at once. Groups are
 * passed over, and an expression with a choice or a long escape outside of them has none.
 */
export function neededText(source: string): string {
  const parts = [''];
  const cut = (): unknown => parts.push('');
  for (let at = 0; at < source.length; at++) {
    const character = source[at];
    if (character === '|') return '';
    if (character === '[' || character === '(') {
      at = endOf(source, at);
      cut();
    } else if (character === '*' || character === '?' || character === '{') {
      const times = /^(?:[*?]|\{\d+(?:,\d*)?\})/.exec(source.slice(at));
      // A brace of the text itself, which may have anything behind it.
      if (times === null) return '';
      at += times[0].length - 1;
      parts.push((parts.pop() ?? '').slice(0, -1));
      cut();
    } else if (character === '+' || character === '.' || character === '^' || character === '$') cut();
    else if (character === '\\') {
      at += 1;
      if (shortEscape.test(source[at])) cut();
      else if (/[^\w]/.test(source[at]) && source[at] <= '\x7f') parts.push((parts.pop() ?? '') + source[at]);
      else return '';
    } else if (character > '\x7f') cut();
    else parts.push((parts.pop() ?? '') + character);
  }
  return longest(parts);
}

/** The place of the bracket that closes the one at `start`. */
function endOf(source: string, start: number): number {
  let depth = 0;
  let isInClass = false;
  for (let at = start; at < source.length; at++) {
    const character = source[at];
    if (character === '\\') at += 1;
    else if (isInClass) isInClass = character !== ']';
    else if (character === '[') isInClass = true;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    if (depth === 0 && !isInClass) return at;
  }
  return source.length;
}

const lower = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);
const upper = (byte: number): number => (byte >= 0x61 && byte <= 0x7a ? byte - 0x20 : byte);

/** Texts that have an ASCII text in them, regardless of case: it is looked for in all of them at once. */
function withBytes({ all, starts }: PackedTexts, needle: string): Uint8Array {
  const wanted = Uint8Array.from(needle, (character) => lower(character.charCodeAt(0)));
  const next = rareByte(all, wanted) ?? byLastByte(all, wanted);
  const found = new Uint8Array(starts.length - 1);
  let text = 0;
  for (let at = next(0); at >= 0; ) {
    while (starts[text + 1] <= at) text++;
    const isWithin = at + wanted.length <= starts[text + 1];
    if (isWithin) found[text] = 1;
    // The rest of a text that is found says nothing new.
    at = next(isWithin ? starts[text + 1] : at + 1);
  }
  return found;
}

/** The first place from `start` on where the bytes are; below 0: none. */
type Next = (start: number) => number;

const isAt = (all: Uint8Array, wanted: Uint8Array, at: number): boolean => {
  for (let i = wanted.length - 1; i >= 0; i--) if (lower(all[at + i]) !== wanted[i]) return false;
  return true;
};

/** Looked at to see which bytes are rare, and how seldom a byte must be there for the engine's own search of one byte to be the quickest. */
const sampleBytes = 1 << 14;
const rare = 1 / 128;

/** By a byte of the wanted that has no case and is seldom in the texts; null where there is none. */
function rareByte(all: Uint8Array, wanted: Uint8Array): Next | null {
  const counts = new Uint32Array(256);
  const sample = all.subarray(0, sampleBytes);
  for (const byte of sample) counts[byte] += 1;
  const places = [...wanted.keys()].filter((i) => upper(wanted[i]) === wanted[i]);
  const place = places.reduce((best, i) => (counts[wanted[i]] < counts[wanted[best]] ? i : best), places[0] ?? -1);
  if (place < 0 || counts[wanted[place]] > rare * sample.length) return null;
  return (start) => {
    for (let at = start + place; ; at += 1) {
      at = all.indexOf(wanted[place], at);
      if (at < 0 || isAt(all, wanted, at - place)) return at < 0 ? at : at - place;
    }
  };
}

/** By Horspool: the byte at the end of the wanted says how far it can move on. */
function byLastByte(all: Uint8Array, wanted: Uint8Array): Next {
  const last = wanted.length - 1;
  const steps = new Int32Array(256).fill(wanted.length);
  wanted.subarray(0, last).forEach((byte, i) => {
    steps[byte] = last - i;
    steps[upper(byte)] = last - i;
  });
  const afterLast = steps[wanted[last]];
  steps[wanted[last]] = 0;
  steps[upper(wanted[last])] = 0;
  return (start) => {
    for (let end = start + last; end < all.length; ) {
      const step = steps[all[end]];
      if (step === 0 && isAt(all, wanted, end - last)) return end - last;
      end += step === 0 ? afterLast : step;
    }
    return -1;
  };
}
