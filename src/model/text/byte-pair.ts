/**
 * Learning byte-pair merges: count the pairs of neighbouring symbols inside words, join the most frequent pair
 * everywhere, repeat. Symbols are strings of the 256 printable characters that stand for bytes in byte-level
 * tokenizers (GPT-2's table). Ties go to the pair that sorts first, so the result depends on the texts alone.
 */
export type Merge = readonly [left: string, right: string];

/** Character of each byte: printable Latin-1 stands for itself, the rest is moved up from U+0100. */
export const byteCharacters: readonly string[] = (() => {
  const printable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte < 256 && byte !== 173);
  let moved = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : moved++));
})();

interface Word {
  symbols: string[];
  readonly count: number;
}

interface PairUse {
  count: number;
  readonly words: Set<Word>;
}

/** Byte characters are never spaces, so a space separates. */
type Pair = `${string} ${string}`;

function countWords(texts: Iterable<string>, pattern: RegExp): Word[] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [word] of text.matchAll(pattern)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const encoder = new TextEncoder();
  return [...counts].map(([word, count]) => ({
    symbols: Array.from(encoder.encode(word), (byte) => byteCharacters[byte]),
    count,
  }));
}

function addPairs(pairs: Map<Pair, PairUse>, word: Word, sign: 1 | -1): void {
  for (let i = 1; i < word.symbols.length; i += 1) {
    const pair: Pair = `${word.symbols[i - 1]} ${word.symbols[i]}`;
    let use = pairs.get(pair);
    if (use === undefined) {
      use = { count: 0, words: new Set() };
      pairs.set(pair, use);
    }
    use.count += sign * word.count;
    use.words.add(word);
    if (use.count === 0) pairs.delete(pair);
  }
}

function join(symbols: readonly string[], left: string, right: string): string[] {
  const joined: string[] = [];
  for (let i = 0; i < symbols.length; i += 1) {
    if (symbols[i] === left && symbols[i + 1] === right) {
      joined.push(left + right);
      i += 1;
    } else joined.push(symbols[i]);
  }
  return joined;
}

function mostFrequent(pairs: ReadonlyMap<Pair, PairUse>): Pair | undefined {
  let best: Pair | undefined;
  let bestCount = 1;
  for (const [pair, { count }] of pairs) {
    if (count > bestCount || (count === bestCount && best !== undefined && pair < best)) {
      best = pair;
      bestCount = count;
    }
  }
  return best;
}

/** Merges in the order in which they apply, making at most `mostTokens` new tokens; stops when no pair occurs twice. */
export function learnMerges(texts: Iterable<string>, pattern: RegExp, mostTokens: number): Merge[] {
  const pairs = new Map<Pair, PairUse>();
  for (const word of countWords(texts, pattern)) addPairs(pairs, word, 1);
  const merges: Merge[] = [];
  // Two pairs can make the same token: a + bc and ab + c.
  const tokens = new Set<string>();
  while (tokens.size < mostTokens) {
    const pair = mostFrequent(pairs);
    if (pair === undefined) break;
    const [left, right] = pair.split(' ') as [string, string];
    for (const word of [...(pairs.get(pair)?.words ?? [])]) {
      addPairs(pairs, word, -1);
      word.symbols = join(word.symbols, left, right);
      addPairs(pairs, word, 1);
    }
    merges.push([left, right]);
    tokens.add(left + right);
  }
  return merges;
}
