/**
 * Random numbers as a pure function of (seed, name, step, row, position); nothing is drawn "next", so order, batch
 * split and thread count cannot change a result, and a kernel that gets the key and the counter agrees with the host.
 *   key (k0, k1) = the first two words of Philox(counter (seed low, seed high, h, h'), key (0, 0)), where h and h' are
 *     murmur3 with seeds 0 and 0x9e3779b9 of the name as a JSON list of its parts, '["sampling"]';
 *   words of block b = Philox(counter (b, row, step, kind), key (k0, k1)), kind separating words, normals and integers.
 *   word p = lane p mod 4 of block ⌊p/4⌋, kind 0; uniform p = ⌊word p / 2⁸⌋ · 2⁻²⁴: 24 bits, in [0, 1), exact in f32;
 *   normals 2p and 2p+1 = r cos θ and r sin θ of words 2p and 2p+1 of kind 1, r = √(−2 ln((w + 1)/2³²)), θ = 2π w'/2³²;
 *   integer p in [0, n) = ⌊n u⌋, u 53 bits of words 2p (upper 32) and 2p+1 (lower 21) of kind 2.
 */
import { UserError } from './errors.ts';
import { murmur3 } from './murmur3.ts';
import { type PhiloxKey, philox, philoxInto } from './philox.ts';

/** Last word of the counter: draws of different kinds never share bits, even at the same position. */
export const randomKind = { word: 0, normal: 1, integer: 2 } as const;
type RandomKind = (typeof randomKind)[keyof typeof randomKind];

export type RandomName = string | readonly (string | number)[];

const wordRange = 2 ** 32;
const positionRange = 2 ** 34;

function requireWhole(call: string, value: number, limit: number): void {
  if (Number.isSafeInteger(value) && value >= 0 && value < limit) return;
  throw new UserError({ call, expected: `a whole number from 0 to ${limit - 1}`, found: `${value}` });
}

function deriveKey(seed: number, name: RandomName): PhiloxKey {
  requireWhole('randomStream seed', seed, Number.MAX_SAFE_INTEGER + 1);
  const parts = typeof name === 'string' ? [name] : name;
  for (const part of parts) if (typeof part === 'number') requireWhole('randomStream name', part, wordRange);
  const text = JSON.stringify(parts);
  const [k0, k1] = philox(
    [seed % wordRange, Math.floor(seed / wordRange), murmur3(text), murmur3(text, 0x9e3779b9)],
    [0, 0],
  );
  return [k0, k1];
}

function normalPair(radiusWord: number, angleWord: number): [number, number] {
  const radius = Math.sqrt(-2 * Math.log((radiusWord + 1) / wordRange));
  const angle = (2 * Math.PI * angleWord) / wordRange;
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

export class RandomStream {
  readonly key: PhiloxKey;
  readonly step: number;
  readonly row: number;

  constructor(key: PhiloxKey, step: number, row: number) {
    this.key = key;
    this.step = step;
    this.row = row;
  }

  /** The same seed and name at another step and row, without deriving the key again. */
  at(step: number, row: number): RandomStream {
    requireWhole('random stream step', step, wordRange);
    requireWhole('random stream row', row, wordRange);
    return new RandomStream(this.key, step, row);
  }

  #block(block: number, kind: RandomKind): Uint32Array {
    return philox([block, this.row, this.step, kind], this.key);
  }

  /** Calls `visit` with the words of the blocks that hold `count` words; the array is reused between calls. */
  #eachBlock(count: number, kind: RandomKind, visit: (words: Uint32Array, start: number) => void): void {
    requireWhole('random fill length', count, positionRange);
    const words = new Uint32Array(4);
    for (let start = 0; start < count; start += 4) {
      philoxInto(words, 0, [start / 4, this.row, this.step, kind], this.key);
      visit(words, start);
    }
  }

  uint32At(position: number): number {
    requireWhole('uint32At position', position, positionRange);
    return this.#block(Math.floor(position / 4), randomKind.word)[position % 4];
  }

  uniformAt(position: number): number {
    return (this.uint32At(position) >>> 8) * 2 ** -24;
  }

  normalAt(position: number): number {
    requireWhole('normalAt position', position, positionRange);
    const words = this.#block(Math.floor(position / 4), randomKind.normal);
    const even = position % 4 < 2 ? 0 : 2;
    return normalPair(words[even], words[even + 1])[position % 2];
  }

  /** A whole number in [0, bound), bound at most 2³². */
  integerAt(position: number, bound: number): number {
    requireWhole('integerAt position', position, positionRange / 2);
    requireWhole('integerAt bound − 1', bound - 1, wordRange);
    const words = this.#block(Math.floor(position / 2), randomKind.integer);
    return integerFrom(words, position % 2 === 0 ? 0 : 2, bound);
  }

  /** out[p] = low + (high − low) · uniform p. */
  fillUniform(out: Float32Array, low = 0, high = 1): void {
    this.#eachBlock(out.length, randomKind.word, (words, start) => {
      const end = Math.min(4, out.length - start);
      for (let lane = 0; lane < end; lane += 1) out[start + lane] = low + (high - low) * (words[lane] >>> 8) * 2 ** -24;
    });
  }

  /** out[p] = scale · normal p. */
  fillNormal(out: Float32Array, scale = 1): void {
    this.#eachBlock(out.length, randomKind.normal, (words, start) => {
      const [first, second] = normalPair(words[0], words[1]);
      const [third, fourth] = normalPair(words[2], words[3]);
      // Writes past the end of a typed array are dropped.
      out[start] = scale * first;
      out[start + 1] = scale * second;
      out[start + 2] = scale * third;
      out[start + 3] = scale * fourth;
    });
  }

  /** out[p] = integer p in [0, bound). */
  fillIntegers(out: Uint32Array | Int32Array, bound: number): void {
    requireWhole('fillIntegers bound − 1', bound - 1, wordRange);
    this.#eachBlock(out.length * 2, randomKind.integer, (words, start) => {
      out[start / 2] = integerFrom(words, 0, bound);
      out[start / 2 + 1] = integerFrom(words, 2, bound);
    });
  }

  /** 0 … n − 1 in random order (Fisher–Yates: place i swaps with integer i in [0, i]). */
  permutation(n: number): Int32Array {
    requireWhole('permutation length', n, 2 ** 31);
    const order = Int32Array.from({ length: n }, (_, index) => index);
    for (let i = n - 1; i > 0; i -= 1) {
      const j = this.integerAt(i, i + 1);
      const swapped = order[i];
      order[i] = order[j];
      order[j] = swapped;
    }
    return order;
  }
}

function integerFrom(words: Uint32Array, lane: number, bound: number): number {
  return Math.floor((words[lane] * 2 ** 21 + (words[lane + 1] >>> 11)) * 2 ** -53 * bound);
}

/** The name 'a' is the list ['a'] of one part; lists keep ['a', 1] and ['a', '1'] and 'a1' apart. */
export function randomStream(seed: number, name: RandomName, step = 0, row = 0): RandomStream {
  return new RandomStream(deriveKey(seed, name), 0, 0).at(step, row);
}
