import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from './errors.ts';
import { philox } from './philox.ts';
import { type RandomStream, randomKind, randomStream } from './rng.ts';

const draws = 100_000;

/** Upper 0.1 % points of chi-square (NIST/SEMATECH e-Handbook, 1.3.6.7.4), by degrees of freedom. */
const chiSquareLimit: Record<number, number> = { 23: 49.728, 99: 148.23 };

function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
}

function moments(values: Float32Array): { mean: number; variance: number; skewness: number; kurtosis: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const central = (power: number): number =>
    values.reduce((sum, value) => sum + (value - mean) ** power, 0) / values.length;
  const variance = central(2);
  return { mean, variance, skewness: central(3) / variance ** 1.5, kurtosis: central(4) / variance ** 2 };
}

function correlation(a: Float32Array, b: Float32Array): number {
  const meanA = moments(a).mean;
  const meanB = moments(b).mean;
  const covariance = a.reduce((sum, value, index) => sum + (value - meanA) * (b[index] - meanB), 0) / a.length;
  return covariance / Math.sqrt(moments(a).variance * moments(b).variance);
}

function uniforms(stream: RandomStream): Float32Array {
  const values = new Float32Array(draws);
  stream.fillUniform(values);
  return values;
}

describe('randomStream', () => {
  it('is Philox at (block, row, step, kind) under its key: what a kernel computes from key and counter', () => {
    const stream = randomStream(7, 'sampling', 3, 5);
    expect(stream.key).toEqual(randomStream(7, ['sampling'], 0, 0).key);
    const words = [0, 1].flatMap((block) => [...philox([block, 5, 3, randomKind.word], stream.key)]);
    expect(words.map((_, position) => stream.uint32At(position))).toEqual(words);
    expect(stream.uniformAt(6)).toBe((words[6] >>> 8) / 2 ** 24);
  });

  it('keeps its key derivation: a change would change every recorded run', () => {
    // These values come from a separate implementation of the header of rng.ts in Python integers.
    const stream = randomStream(2 ** 53 - 1, ['adapter', 'layers.0.q', 4], 1, 2);
    expect([...stream.key, stream.uint32At(0), stream.uint32At(5)]).toEqual([
      3268140330, 1621850090, 2433946562, 2714778188,
    ]);
  });

  it('depends on seed, name, step, row, position and kind, each', () => {
    const first = randomStream(1, 'a', 2, 3);
    const others = [
      randomStream(2, 'a', 2, 3),
      randomStream(1 + 2 ** 32, 'a', 2, 3),
      randomStream(1, 'b', 2, 3),
      randomStream(1, ['a', 1], 2, 3),
      randomStream(1, ['a', '1'], 2, 3),
      randomStream(1, 'a1', 2, 3),
      randomStream(1, 'a', 3, 3),
      randomStream(1, 'a', 3, 2),
      randomStream(1, 'a', 2, 4),
    ];
    const words = [first, ...others].map((stream) => stream.uint32At(0));
    expect(new Set([...words, first.uint32At(1), first.uint32At(4)]).size).toBe(words.length + 2);
    expect(first.uint32At(0)).toBe(randomStream(1, 'a', 2, 3).uint32At(0));
    expect(first).toEqual(randomStream(1, 'a', 9, 9).at(2, 3));
  });

  it('gives the same value alone or in a fill, in any order and length', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.nat(40), fc.integer({ min: 1, max: 2 ** 32 }), (seed, length, bound) => {
        const stream = randomStream(seed, 'fill');
        const uniform = new Float32Array(length);
        const normal = new Float32Array(length);
        const integer = new Uint32Array(length);
        stream.fillUniform(uniform, -1, 3);
        stream.fillNormal(normal, 0.5);
        stream.fillIntegers(integer, bound);
        for (let at = length - 1; at >= 0; at -= 1) {
          expect(uniform[at]).toBe(Math.fround(-1 + 4 * stream.uniformAt(at)));
          expect(normal[at]).toBe(Math.fround(0.5 * stream.normalAt(at)));
          expect(integer[at]).toBe(stream.integerAt(at, bound));
          expect(integer[at]).toBeLessThan(bound);
        }
      }),
    );
  });

  it.each([
    ['seed', () => randomStream(-1, 'a')],
    ['seed', () => randomStream(0.5, 'a')],
    ['name', () => randomStream(1, ['a', Number.NaN])],
    ['step', () => randomStream(1, 'a', 2 ** 32)],
    ['row', () => randomStream(1, 'a', 0, Number.NaN)],
    ['position', () => randomStream(1, 'a').uniformAt(-1)],
    ['position', () => randomStream(1, 'a').normalAt(2 ** 34)],
    ['bound', () => randomStream(1, 'a').integerAt(0, 0)],
  ])('refuses a senseless %s', (what, act) => {
    expect(act).toThrow(UserError);
    expect(act).toThrow(what);
  });
});

describe('distributions (fixed seed; limits are the 0.1 % points, about 3.3 standard errors)', () => {
  it('uniform: moments and 100 equal bins', () => {
    const values = uniforms(randomStream(11, 'uniform'));
    const { mean, variance } = moments(values);
    expect(Math.abs(mean - 1 / 2)).toBeLessThan(3.3 * Math.sqrt(1 / 12 / draws));
    expect(Math.abs(variance - 1 / 12)).toBeLessThan(3.3 * Math.sqrt(1 / 180 / draws));
    const counts = new Array<number>(100).fill(0);
    for (const value of values) counts[Math.floor(value * 100)] += 1;
    expect(chiSquare(counts)).toBeLessThan(chiSquareLimit[99]);
  });

  it('normal: moments, and neighbours uncorrelated', () => {
    const values = new Float32Array(draws);
    randomStream(12, 'normal').fillNormal(values);
    const { mean, variance, skewness, kurtosis } = moments(values);
    expect(Math.abs(mean)).toBeLessThan(3.3 * Math.sqrt(1 / draws));
    expect(Math.abs(variance - 1)).toBeLessThan(3.3 * Math.sqrt(2 / draws));
    expect(Math.abs(skewness)).toBeLessThan(3.3 * Math.sqrt(6 / draws));
    expect(Math.abs(kurtosis - 3)).toBeLessThan(3.3 * Math.sqrt(24 / draws));
    expect(Math.abs(correlation(values.subarray(1), values.subarray(0, -1)))).toBeLessThan(3.3 / Math.sqrt(draws));
  });

  it('rows, steps and seeds next to each other are uncorrelated', () => {
    const base = uniforms(randomStream(13, 'a', 1, 1));
    for (const other of [randomStream(13, 'a', 1, 2), randomStream(13, 'a', 2, 1), randomStream(14, 'a', 1, 1)]) {
      expect(Math.abs(correlation(base, uniforms(other)))).toBeLessThan(3.3 / Math.sqrt(draws));
    }
  });

  it('permutation: each of the 24 orders of four equally often', () => {
    const counts = new Map<string, number>();
    for (let row = 0; row < 24_000; row += 1) {
      const order = randomStream(15, 'order', 0, row).permutation(4).join('');
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(24);
    expect(chiSquare([...counts.values()])).toBeLessThan(chiSquareLimit[23]);
  });

  it('permutation holds each index once', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(200), (seed, n) => {
        const sorted = [...randomStream(seed, 'order').permutation(n)].sort((a, b) => a - b);
        expect(sorted).toEqual(Array.from({ length: n }, (_, index) => index));
      }),
    );
  });
});
