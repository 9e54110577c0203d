/**
 * Shapes too large for the reference device, at which kernels take paths of their own: many tiles, long strips, heads together. The
 * bf16 device is compared with the float32 one, which is compared with the reference at smaller shapes.
 */
import {
  attention,
  logProb,
  matmul,
  normRotary,
  rmsNorm,
  rotaryTable,
  type Segment,
  Segments,
} from '../../src/engine/index.ts';
import { frozen, ints, learn, type OpCase } from '../device/case.ts';
import { sharedInputCase, unrecordedCase } from '../device/cases-adapter.ts';

/** Prompts, each followed by the completions that see it; the first completion of a prompt lies right behind it. */
function groups(prompts: number, prompt: number, completions: readonly number[]): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (let i = 0; i < prompts; i++) {
    const [prefixStart, prefixEnd] = [at, at + prompt];
    for (const length of [prompt, ...completions]) {
      const first = at === prefixStart;
      const own = { queryStart: at, queryEnd: at + length, keyStart: at, keyEnd: at + length };
      segments.push({ ...own, prefixStart: first ? 0 : prefixStart, prefixEnd: first ? 0 : prefixEnd });
      at += length;
    }
  }
  return segments;
}

/** One query per row; `sizes` says how many rows share each prompt of at least `least` keys, and every row has another number of own keys. */
function decoding(sizes: readonly number[], room: number, least = 0): Segment[] {
  let prompts = 0;
  const prefixes = sizes.flatMap((size, i) => {
    const prefix = { prefixStart: prompts, prefixEnd: prompts + least + ((i * 37) % 90) };
    prompts = prefix.prefixEnd;
    return Array.from({ length: size }, () => prefix);
  });
  return prefixes.map((prefix, row) => {
    const keyStart = prompts + row * room;
    return { queryStart: row, queryEnd: row + 1, ...prefix, keyStart, keyEnd: keyStart + 1 + ((row * 29) % room) };
  });
}

function attentionCase(
  name: string,
  segments: readonly Segment[],
  heads: number,
  keyHeads: number,
  size: number,
): OpCase {
  const tokens = segments.at(-1)?.queryEnd ?? 0;
  const keys = Math.max(...segments.map(({ keyEnd }) => keyEnd));
  return {
    name: `attention ${name}, ${heads}/${keyHeads} heads of ${size}`,
    inputs: {
      q: learn('q', [tokens, heads, size]),
      k: learn('k', [keys, keyHeads, size]),
      v: learn('v', [keys, keyHeads, size]),
    },
    differences: false,
    run: (tape, { q, k, v }, scope) => attention(tape, q, k, v, new Segments(scope, segments, tokens, keys)),
  };
}

function turnCase(tokens: number, heads: number, size: number): OpCase {
  const positions = ints(Array.from({ length: tokens }, (_, t) => (t * 3) % 40));
  const frequencies = Float64Array.from({ length: size / 2 }, (_, i) => 100 ** ((-2 * i) / size));
  return {
    name: `normRotary ${tokens}×${heads}×${size}`,
    inputs: { x: learn('x', [tokens, heads, size]), weight: frozen('gain', [size]), positions },
    differences: false,
    run: (tape, { x, weight, positions: at }, scope) =>
      normRotary(tape, x, weight, 1e-5, at, rotaryTable(scope, 40, frequencies)),
  };
}

/** Log-probabilities under a frozen head, whose gradient is computed with the logits. */
function headCase(count: number, channels: number, vocabulary: number): OpCase {
  const ids = ints(Array.from({ length: count }, (_, i) => (i * 7919 * 13) % vocabulary));
  return {
    name: `logProb ${count}×${channels}→${vocabulary} of a frozen head`,
    inputs: { hidden: learn('hidden', [count, channels]), head: frozen('head', [vocabulary, channels]), ids },
    differences: false,
    run: (tape, { hidden, head, ids: targets }) => logProb(tape, hidden, head, targets),
  };
}

export function largeCases(): OpCase[] {
  return [
    attentionCase('packed 3 of 700', groups(3, 1, [699]), 8, 2, 128),
    attentionCase('packed 2 of 1023 behind a token', groups(2, 1, [1023]), 4, 2, 128),
    attentionCase('one of 2200, too long to store gradients of scores', groups(1, 1, [2199]), 8, 1, 128),
    attentionCase('one of 2600, gradients of scores stored by parts', groups(1, 1, [2599]), 8, 4, 64),
    attentionCase('groups of 2', groups(2, 150, [300, 77]), 4, 1, 64),
    attentionCase('groups of 3', groups(3, 70, [130, 64, 65]), 3, 3, 128),
    attentionCase('groups of 2', groups(2, 150, [300, 77]), 4, 2, 96),
    attentionCase('decoding in groups', decoding([1, 4, 3, 70, 2, 6], 70), 8, 2, 128),
    attentionCase(
      'decoding in groups',
      decoding(
        Array.from({ length: 120 }, () => 4),
        40,
      ),
      8,
      2,
      64,
    ),
    attentionCase('decoding in whole groups', decoding([4, 8, 4, 4], 40, 9), 8, 2, 128),
    attentionCase('decoding in groups', decoding([20, 3, 1], 30), 6, 2, 32),
    attentionCase('decoding in groups', decoding([20, 3, 1], 30), 3, 3, 64),
    headCase(37, 16, 151_936),
    headCase(5, 32, 40_004),
    headCase(3, 16, 163_840),
    turnCase(4200, 4, 16),
    turnCase(700, 24, 128),
    turnCase(2800, 6, 64),
    {
      name: 'rmsNorm 1100×2560',
      inputs: { x: learn('x', [1100, 2560]), weight: learn('gain', [2560]) },
      differences: false,
      run: (tape, { x, weight }) => rmsNorm(tape, x, weight, 1e-5),
    },
    {
      name: 'matmul 1100×20×1000',
      inputs: { a: learn('a', [1100, 20]), b: learn('b', [20, 1000]) },
      differences: false,
      run: (tape, { a, b }) => matmul(tape, a, b),
    },
    sharedInputCase(1100, 320, 4096, 32),
    sharedInputCase(200, 4096, 264, 32),
    ...[0, 1, 2].map((which) => unrecordedCase(which, { tokens: 256, outputs: [4096, 1024, 1024], rank: 32 })),
    ...[0, 1].map((which) => unrecordedCase(which, { tokens: 160, outputs: [9728, 9728], rank: 32 })),
    ...[0, 2].map((which) => unrecordedCase(which, { tokens: 1100, outputs: [512, 128, 128], rank: 32 })),
    unrecordedCase(2, { tokens: 256, outputs: [512, 128, 128], rank: 32, factors: 2 }),
    unrecordedCase(1, { tokens: 1, outputs: [512, 512], rank: 64 }),
    unrecordedCase(0, { tokens: 256, channels: 1024, outputs: [2560], rank: 32, onto: true }),
    unrecordedCase(0, { tokens: 160, outputs: [2560], rank: 32, factors: 2, onto: true }),
  ];
}
