/** SHA-256 (FIPS 180-4) without a module of Node's: the browser's own is asynchronous, and draws by hash are not. */

const primes: number[] = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);

/** The first 32 bits of the fraction of a root, from the first primes. */
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
const roundKeys = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const initialState = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

const rotate = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

const blockBytes = 64;

/** Mixes one block into the state. It makes no object: those of a megabyte's rounds would be some hundred megabytes, and their collections would keep alive for long what is being hashed. */
function mixBlock(state: Uint32Array, bytes: Uint8Array, start: number, words: Uint32Array): void {
  for (let t = 0; t < 16; t += 1) {
    const at = start + 4 * t;
    words[t] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
  }
  for (let t = 16; t < 64; t += 1) {
    const x = words[t - 15];
    const y = words[t - 2];
    const low = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const high = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    words[t] = words[t - 16] + low + words[t - 7] + high;
  }
  let a = state[0] | 0;
  let b = state[1] | 0;
  let c = state[2] | 0;
  let d = state[3] | 0;
  let e = state[4] | 0;
  let f = state[5] | 0;
  let g = state[6] | 0;
  let h = state[7] | 0;
  for (let t = 0; t < 64; t += 1) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + roundKeys[t] + words[t]) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** Of the hash under way: hashes are many, and arrays that each made for itself would be memory outside of the heap, which is collected late. */
const state = new Uint32Array(8);
const words = new Uint32Array(64);
const lastBlocks = new Uint8Array(2 * blockBytes);

/** Mixes in what of the message fills no block, with a one, zeros and the message's length in bits: one block or two. */
function mixEnd(message: Uint8Array): void {
  const rest = message.length % blockBytes;
  const bytes = rest + 9 > blockBytes ? 2 * blockBytes : blockBytes;
  lastBlocks.fill(0);
  for (let i = 0; i < rest; i += 1) lastBlocks[i] = message[message.length - rest + i];
  lastBlocks[rest] = 0x80;
  new DataView(lastBlocks.buffer).setBigUint64(bytes - 8, BigInt(message.length) * 8n);
  for (let start = 0; start < bytes; start += blockBytes) mixBlock(state, lastBlocks, start, words);
}

/** The message is read where it is, not copied. */
export function sha256Bytes(message: Uint8Array): Uint8Array {
  state.set(initialState);
  for (let start = 0; start + blockBytes <= message.length; start += blockBytes) mixBlock(state, message, start, words);
  mixEnd(message);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

const hexadecimal = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** The hash in lower-case hexadecimal; a string is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): string {
  const bytes = sha256Bytes(typeof data === 'string' ? new TextEncoder().encode(data) : data);
  let text = '';
  for (const byte of bytes) text += hexadecimal[byte];
  return text;
}
