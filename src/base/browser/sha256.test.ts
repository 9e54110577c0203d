import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256, sha256Bytes } from './sha256.ts';

test('the hash is that of Node, for every length around a block and for text beyond ASCII', () => {
  const texts = [...Array.from({ length: 200 }, (_, length) => 'a'.repeat(length)), 'ä🙂'.repeat(77)];
  for (const text of texts) expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256);
  expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
});

test('hashing leaves hardly anything to collect: a page hashes its adapter twice in every update', () => {
  const bytes = new Uint8Array(2 ** 14);
  const grown = (): number => {
    const before = process.memoryUsage().heapUsed;
    sha256Bytes(bytes);
    return process.memoryUsage().heapUsed - before;
  };
  // Until it is compiled, every large number is an object.
  for (let i = 0; i < 300; i += 1) sha256Bytes(bytes);
  const all = Array.from({ length: 21 }, grown).sort((a, b) => a - b);
  expect(all[10]).toBeLessThan(bytes.length);
});
