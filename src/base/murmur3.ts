/**
 * MurmurHash3_x86_32 (Austin Appleby, public domain) of a string's UTF-8 bytes: a fast, seeded, non-cryptographic
 * 32-bit hash. For identity and integrity use SHA-256 (hash.ts).
 */
function scramble(block: number): number {
  const product = Math.imul(block, 0xcc9e2d51);
  return Math.imul((product << 15) | (product >>> 17), 0x1b873593);
}

export function murmur3(text: string, seed = 0): number {
  const bytes = new TextEncoder().encode(text);
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length - (bytes.length % 4);
  let hash = seed | 0;
  for (let at = 0; at < whole; at += 4) {
    hash ^= scramble(words.getInt32(at, true));
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let at = bytes.length - 1; at >= whole; at -= 1) tail = (tail << 8) | bytes[at];
  hash ^= scramble(tail);
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
