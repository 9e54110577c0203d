/** Cases of attention over packed rows, shared prompts, prefill in chunks and single-query decoding. */
import { attention, type Segment, Segments } from '../../src/engine/index.ts';
import { learn, type OpCase } from './case.ts';

interface Layout {
  readonly name: string;
  readonly segments: readonly Segment[];
  readonly queries: number;
  readonly keys: number;
}

function packed(lengths: readonly number[]): Layout {
  let start = 0;
  const segments = lengths.map((length): Segment => {
    const segment = {
      queryStart: start,
      queryEnd: start + length,
      prefixStart: 0,
      prefixEnd: 0,
      keyStart: start,
      keyEnd: start + length,
    };
    start += length;
    return segment;
  });
  return {
    name: `packed ${lengths.length > 6 ? `${lengths.length} rows` : lengths.join('+')}`,
    segments,
    queries: start,
    keys: start,
  };
}

/** One prompt, then completions that all see it. */
function shared(prompt: number, completions: readonly number[]): Layout {
  const { segments: rows, queries, keys } = packed([prompt, ...completions]);
  const segments = rows.map((row, i) => (i === 0 ? row : { ...row, prefixStart: 0, prefixEnd: prompt }));
  return { name: `prompt ${prompt} shared by ${completions.join('+')}`, segments, queries, keys };
}

/** One query per row over a cache with room to spare; the first two rows share a prompt kept at the cache's end. */
function decode(filled: readonly number[], room: number, prompt: number): Layout {
  const keys = filled.length * room + prompt;
  const segments = filled.map(
    (length, row): Segment => ({
      queryStart: row,
      queryEnd: row + 1,
      prefixStart: row < 2 ? keys - prompt : 0,
      prefixEnd: row < 2 ? keys : 0,
      keyStart: row * room,
      keyEnd: row * room + length,
    }),
  );
  return { name: `decode ${filled.length} rows`, segments, queries: filled.length, keys };
}

/** A layout in which the last 3 of 8 positions are queries. */
const chunk: Layout = {
  name: 'second chunk of a prefill',
  segments: [{ queryStart: 0, queryEnd: 3, prefixStart: 0, prefixEnd: 0, keyStart: 0, keyEnd: 8 }],
  queries: 3,
  keys: 8,
};

export function attentionCases(): OpCase[] {
  const settings: readonly [Layout, number, number, number][] = [
    [packed([1]), 1, 1, 2],
    [packed([5, 3, 1, 7]), 4, 2, 6],
    [packed([0, 4, 0]), 2, 2, 4],
    [packed([]), 2, 1, 4],
    [packed([70, 33, 129]), 6, 2, 32],
    [packed([40, 90]), 2, 1, 128],
    [packed(Array.from({ length: 20 }, (_, i) => 1 + ((i * 7) % 13))), 3, 3, 10],
    [shared(6, [4, 1, 5]), 4, 2, 8],
    [shared(50, [20, 64, 3, 17]), 6, 3, 32],
    [shared(70, [65, 20, 130]), 4, 2, 128],
    [shared(140, [3, 64]), 2, 2, 64],
    [decode([1, 5, 3], 6, 4), 4, 2, 8],
    [
      decode(
        Array.from({ length: 33 }, (_, i) => 1 + ((i * 11) % 60)),
        60,
        70,
      ),
      6,
      2,
      64,
    ],
    [chunk, 2, 1, 6],
  ];
  return settings.map(
    ([{ name, segments, queries, keys }, heads, keyHeads, size]): OpCase => ({
      name: `attention ${name}, ${heads}/${keyHeads} heads of ${size}`,
      inputs: {
        q: learn('q', [queries, heads, size]),
        k: learn('k', [keys, keyHeads, size]),
        v: learn('v', [keys, keyHeads, size]),
      },
      differences: queries * size < 300,
      run: (tape, { q, k, v }, scope) => attention(tape, q, k, v, new Segments(scope, segments, queries, keys)),
    }),
  );
}
