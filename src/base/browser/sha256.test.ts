import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { sha256 } from './sha256.ts';

test('the hash is that of Node, for every length around a block and for text beyond ASCII', () => {
  const texts = [...Array.from({ length: 200 }, (_, length) => 'a'.repeat(length)), 'ä🙂'.repeat(77)];
  for (const text of texts) expect(sha256(text)).toBe(createHash('sha256').update(text).digest('hex'));
  const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * 7919) % 256);
  expect(sha256(bytes)).toBe(createHash('sha256').update(bytes).digest('hex'));
});
