/** The difference of two texts by words: what both have, what only one has. Beyond a size, texts count as wholly different. */

export interface DiffPart {
  readonly text: string;
  readonly where: 'both' | 'first' | 'second';
}

/** Products of word counts beyond this would take a page too long. */
const mostCells = 4_000_000;

export function diffWords(first: string, second: string): DiffPart[] {
  const [a, b] = [wordsOf(first), wordsOf(second)];
  if (a.length * b.length > mostCells) {
    return join([
      { text: first, where: 'first' },
      { text: second, where: 'second' },
    ]);
  }
  const width = b.length + 1;
  // common[i * width + j]: words that a from i and b from j have in common, in order.
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1] + 1
          : Math.max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  const parts: DiffPart[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      parts.push({ text: a[i], where: 'both' });
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      parts.push({ text: a[i], where: 'first' });
      i += 1;
    } else {
      parts.push({ text: b[j], where: 'second' });
      j += 1;
    }
  }
  return join(parts);
}

/** Words, white space and single other characters, which joined are the text again. */
function wordsOf(text: string): string[] {
  return text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
}

function join(parts: readonly DiffPart[]): DiffPart[] {
  const joined: DiffPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (last?.where === part.where) joined[joined.length - 1] = { ...last, text: last.text + part.text };
    else if (part.text !== '') joined.push(part);
  }
  return joined;
}
