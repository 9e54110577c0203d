import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PhiloxCounter, type PhiloxKey, philox } from './philox.ts';

const ones = 0xffffffff;

/** Random123 v1.14, tests/kat_vectors, lines "philox4x32 10". */
const published: { counter: PhiloxCounter; key: PhiloxKey; words: number[] }[] = [
  { counter: [0, 0, 0, 0], key: [0, 0], words: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8] },
  {
    counter: [ones, ones, ones, ones],
    key: [ones, ones],
    words: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
  },
  {
    counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
    key: [0xa4093822, 0x299f31d0],
    words: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  },
];

/** The paper's definition over big integers: slow, and free of the 16-bit arithmetic under test. */
function philoxByBigInt(counter: PhiloxCounter, key: PhiloxKey): number[] {
  const mask = 0xffffffffn;
  let [c0, c1, c2, c3] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  for (let round = 0; round < 10; round += 1) {
    const product0 = c0 * 0xd2511f53n;
    const product1 = c2 * 0xcd9e8d57n;
    [c0, c1, c2, c3] = [(product1 >> 32n) ^ c1 ^ k0, product1 & mask, (product0 >> 32n) ^ c3 ^ k1, product0 & mask];
    k0 = (k0 + 0x9e3779b9n) & mask;
    k1 = (k1 + 0xbb67ae85n) & mask;
  }
  return [c0, c1, c2, c3].map(Number);
}

describe('philox', () => {
  it.each(published)('gives the published answer for counter $counter', ({ counter, key, words }) => {
    expect([...philox(counter, key)]).toEqual(words);
  });

  it('equals the definition over big integers for any counter and key', () => {
    const word = fc.integer({ min: 0, max: ones });
    fc.assert(
      fc.property(fc.tuple(word, word, word, word), fc.tuple(word, word), (counter, key) => {
        expect([...philox(counter, key)]).toEqual(philoxByBigInt(counter, key));
      }),
    );
  });
});
