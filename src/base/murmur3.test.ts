import { describe, expect, it } from 'vitest';
import { murmur3 } from './murmur3.ts';

/** MurmurHash on Wikipedia ("Tests" table of Murmur3_32). */
const published: [string, number, number][] = [
  ['', 0x00000000, 0x00000000],
  ['', 0x00000001, 0x514e28b7],
  ['', 0xffffffff, 0x81f16f39],
  ['test', 0x00000000, 0xba6bd213],
  ['test', 0x9747b28c, 0x704b81dc],
  ['Hello, world!', 0x00000000, 0xc0363e43],
  ['Hello, world!', 0x9747b28c, 0x24884cba],
  ['The quick brown fox jumps over the lazy dog', 0x00000000, 0x2e4ff723],
  ['The quick brown fox jumps over the lazy dog', 0x9747b28c, 0x2fa826cd],
];

describe('murmur3', () => {
  it.each(published)('of %j with seed %i', (text, seed, hash) => {
    expect(murmur3(text, seed)).toBe(hash);
  });

  it('reads UTF-8 bytes: the published answer for "ππππππππ"', () => {
    // MurmurHash3 test vectors, https://stackoverflow.com/a/31929528: 16 bytes.
    expect(murmur3('ππππππππ', 0x9747b28c)).toBe(0xd58063c1);
  });
});
