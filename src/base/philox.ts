/**
 * Philox4x32-10, a counter-based generator: 128 random bits as a pure function of a 128-bit counter and a 64-bit key.
 * Ten rounds of (c0, c1, c2, c3) → (hi(M1·c2) ^ c1 ^ k0, lo(M1·c2), hi(M0·c0) ^ c3 ^ k1, lo(M0·c0)), the key growing
 * by the Weyl constants after each. Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
 */
const multiplier0 = 0xd2511f53;
const multiplier1 = 0xcd9e8d57;
const weyl0 = 0x9e3779b9;
const weyl1 = 0xbb67ae85;
const rounds = 10;

export type PhiloxCounter = readonly [number, number, number, number];
export type PhiloxKey = readonly [number, number];

/** The upper 32 bits of a · b, by 16-bit halves: a double cannot hold the 64-bit product. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0;
  const carry = (Math.imul(aLow, bHigh) + (middle & 0xffff)) | 0;
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (carry >>> 16)) | 0;
}

/** Writes one block of four words to out[at .. at + 3]. */
export function philoxInto(out: Uint32Array, at: number, counter: PhiloxCounter, key: PhiloxKey): void {
  let c0 = counter[0] | 0;
  let c1 = counter[1] | 0;
  let c2 = counter[2] | 0;
  let c3 = counter[3] | 0;
  let k0 = key[0] | 0;
  let k1 = key[1] | 0;
  for (let round = 0; round < rounds; round += 1) {
    const high0 = multiplyHigh(c0, multiplier0);
    const low0 = Math.imul(c0, multiplier0);
    const high1 = multiplyHigh(c2, multiplier1);
    const low1 = Math.imul(c2, multiplier1);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + weyl0) | 0;
    k1 = (k1 + weyl1) | 0;
  }
  out[at] = c0;
  out[at + 1] = c1;
  out[at + 2] = c2;
  out[at + 3] = c3;
}

/** One block of four unsigned words. */
export function philox(counter: PhiloxCounter, key: PhiloxKey): Uint32Array {
  const out = new Uint32Array(4);
  philoxInto(out, 0, counter, key);
  return out;
}
