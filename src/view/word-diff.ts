/** The difference of two texts by words: what both have, what only one has. Beyond a size, texts count as wholly different. */

type DiffPart = { readonly text: string; readonly where: 'both' | 'first' | 'second' };

/** Products of word counts beyond this would take a page too long. */
const mostCells = 4_000_000;

export function diffWords(first: string, second: string): DiffPart[] {
  const parts: DiffPart[] = [];
  const add = (text: string, where: DiffPart['where']): void => {
    const last = parts.at(-1);
    if (last?.where === where) parts[parts.length - 1] = { where, text: last.text + text };
    else if (text !== '') parts.push({ text, where });
  };
  const [a, b] = [wordsOf(first), wordsOf(second)];
  if (a.length * b.length > mostCells) {
    add(first, 'first');
    add(second, 'second');
    return parts;
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
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add(a[i++], 'both');
      j += 1;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      add(a[i++], 'first');
    } else {
      add(b[j++], 'second');
    }
  }
  return parts;
}

const wordsOf = (text: string): string[] => text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
