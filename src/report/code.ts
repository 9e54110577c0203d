/**
 * How a text is shown: split into chat turns, and cut at the tokens of its programs, at names that are marked and at what another text lacks. Pieces are
 * texts with names of looks, never markup, and together they are the text.
 */
import python from 'highlight.js/lib/languages/python';
import { createLowlight } from 'lowlight';

export interface Piece {
  readonly text: string;
  /** The kind of token, as a class of the highlighter; empty outside of programs. */
  readonly token: string;
  readonly isMarked: boolean;
  readonly isOwn: boolean;
}

export interface Looks {
  readonly marked?: readonly string[];
  /** A text that this one is compared with. */
  readonly other?: string | null;
}

/** Texts in order with a label each; together they are the whole text. */
type Layer = readonly (readonly [text: string, label: string])[];

const highlighter = createLowlight({ python });
/** Longer programs are shown plainly. */
const longestProgram = 20_000;

export function textPieces(content: string, { marked = [], other = null }: Looks): Piece[] {
  const layers = [tokensOf(content), marksOf(content, marked), ownOf(content, other)].map((layer) => ends(layer));
  const cuts = [...new Set(layers.flatMap((layer) => layer.map(({ end }) => end)))].sort((a, b) => a - b);
  const at = layers.map(() => 0);
  return cuts.map((end, i) => {
    const [token, mark, own] = layers.map((layer, l) => {
      while (layer[at[l]].end < end) at[l] += 1;
      return layer[at[l]].label;
    });
    return { text: content.slice(cuts[i - 1] ?? 0, end), token, isMarked: mark !== '', isOwn: own !== '' };
  });
}

function ends(layer: Layer): { readonly end: number; readonly label: string }[] {
  let end = 0;
  return layer.flatMap(([text, label]) => {
    end += text.length;
    return text === '' ? [] : [{ end, label }];
  });
}

/** Programs stand between fences; a text without any is one where a line begins as in a program. */
function tokensOf(content: string): Layer {
  const parts = content.split(/^(```[^\n]*\n?)/m);
  if (parts.length === 1) return /^ *(?:def|class|import|return) /m.test(content) ? program(content) : [[content, '']];
  return parts.flatMap((part, i) =>
    i % 2 === 1 ? [[part, 'fence'] as const] : i % 4 === 2 ? program(part) : [[part, ''] as const],
  );
}

function program(text: string): Layer {
  if (text.length > longestProgram) return [[text, '']];
  const leaves: [text: string, label: string][] = [];
  // Not by recursion: texts within texts can be as deep as a program is long.
  const waiting = [{ nodes: highlighter.highlight('python', text).children, at: 0, label: '' }];
  for (let last = waiting.at(-1); last !== undefined; last = waiting.at(-1)) {
    const node = last.nodes[last.at++];
    if (node === undefined) waiting.pop();
    else if (node.type === 'text') leaves.push([node.value, last.label]);
    else if (node.type === 'element') {
      const { className } = node.properties;
      waiting.push({ nodes: node.children, at: 0, label: Array.isArray(className) ? className.join(' ') : '' });
    }
  }
  return leaves;
}

function marksOf(content: string, marked: readonly string[]): Layer {
  const names = marked.filter((name) => name !== '').map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (names.length === 0) return [[content, '']];
  return content.split(new RegExp(`(${names.join('|')})`, 'i')).map((part, i) => [part, i % 2 === 1 ? 'mark' : '']);
}

function ownOf(content: string, other: string | null): Layer {
  if (other === null) return [[content, '']];
  return diffWords(content, other).flatMap(({ text, where }) =>
    where === 'second' ? [] : [[text, where === 'first' ? 'own' : ''] as const],
  );
}

type DiffPart = { readonly text: string; readonly where: 'both' | 'first' | 'second' };

/** Products of word counts beyond this would take a page too long. */
const mostCells = 4_000_000;

/** The difference of two texts by words: what both have, what only one has. Beyond a size, texts count as wholly different. */
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

/** The names that a prompt's hint discloses, in backticks: where they stand in a completion, the exploit is. */
export function disclosedNames(prompt: string): string[] {
  const quoted = [...prompt.matchAll(/`([^`\n]{2,60})`/g)].map(([, name]) => name.replace(/\(\)$/, ''));
  return [...new Set(quoted)];
}
