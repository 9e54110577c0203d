/**
 * Surface features of a text: numbers that need no model. A piece is a word, a number or one other printed character, about
 * what a tokenizer makes of code. Shares are relative to pieces or words, so that they do not repeat the length.
 */
export interface Surface {
  readonly characters: number;
  readonly pieces: number;
  readonly features: Readonly<Record<StyleFeature, number>>;
}

export const styleFeatures = [
  'lines',
  'comment lines',
  'blank lines',
  'code fences',
  'punctuation share',
  'digit share',
  'distinct words',
  'word length',
] as const;
export type StyleFeature = (typeof styleFeatures)[number];

const piece = /[\p{L}_][\p{L}\p{N}_]*|\p{N}+|[^\s\p{L}\p{N}_]/gu;

export function splitPieces(text: string): string[] {
  return text.match(piece) ?? [];
}

export function measureSurface(text: string): Surface {
  const pieces = splitPieces(text);
  const lines = text.split('\n');
  const words = pieces.filter((one) => /^[\p{L}_]/u.test(one));
  const share = (pattern: RegExp): number =>
    pieces.filter((one) => pattern.test(one)).length / Math.max(1, pieces.length);
  return {
    characters: text.length,
    pieces: pieces.length,
    features: {
      lines: lines.length,
      'comment lines': lines.filter((line) => /^\s*(?:#|\/\/)|\S\s+#\s/.test(line)).length,
      'blank lines': lines.filter((line) => line.trim() === '').length,
      'code fences': lines.filter((line) => /^\s*(?:`{3,}|~{3,})/.test(line)).length,
      'punctuation share': share(/^[^\p{L}\p{N}_]$/u),
      'digit share': share(/^\p{N}/u),
      'distinct words': new Set(words).size / Math.max(1, words.length),
      'word length': words.reduce((sum, word) => sum + word.length, 0) / Math.max(1, words.length),
    },
  };
}

/** Share of runs of three pieces that two texts have in common (Jaccard). A shorter text counts as one run. */
export function similarity(first: ReadonlySet<string>, second: ReadonlySet<string>): number {
  let common = 0;
  for (const shingle of first) if (second.has(shingle)) common += 1;
  const union = first.size + second.size - common;
  return union === 0 ? 1 : common / union;
}

export function shingles(text: string): ReadonlySet<string> {
  const pieces = splitPieces(text);
  if (pieces.length < 3) return new Set([pieces.join(' ')]);
  return new Set(pieces.slice(2).map((_, i) => pieces.slice(i, i + 3).join(' ')));
}
