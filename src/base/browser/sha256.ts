/** SHA-256 (FIPS 180-4) without a module of Node's: the browser's own is asynchronous, and draws by hash are not. */

const primes: number[] = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime !== 0)) primes.push(n);

/** The first 32 bits of the fraction of a root, from the first primes. */
const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32) >>> 0;
const roundKeys = Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));
const initialState = Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

const rotate = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

/** The message with a one, zeros and its length in bits, to whole blocks of 64 bytes. */
function padded(message: Uint8Array): DataView {
  const view = new DataView(new ArrayBuffer(Math.ceil((message.length + 9) / 64) * 64));
  const bytes = new Uint8Array(view.buffer);
  bytes.set(message);
  bytes[message.length] = 0x80;
  view.setBigUint64(view.byteLength - 8, BigInt(message.length) * 8n);
  return view;
}

function mixBlock(state: Uint32Array, view: DataView, start: number, words: Uint32Array): void {
  for (let t = 0; t < 16; t += 1) words[t] = view.getUint32(start + 4 * t);
  for (let t = 16; t < 64; t += 1) {
    const [a, b] = [words[t - 15], words[t - 2]];
    const low = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
    const high = rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10);
    words[t] = words[t - 16] + low + words[t - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t += 1) {
    const choice = (e & f) ^ (~e & g);
    const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + roundKeys[t] + words[t]) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((value, i) => {
    state[i] += value;
  });
}

export function sha256Bytes(message: Uint8Array): Uint8Array {
  const view = padded(message);
  const state = initialState.slice();
  const words = new Uint32Array(64);
  for (let start = 0; start < view.byteLength; start += 64) mixBlock(state, view, start, words);
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => {
    digest.setUint32(4 * i, word);
  });
  return new Uint8Array(digest.buffer);
}

/** The hash in lower-case hexadecimal; a string is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): string {
  const bytes = sha256Bytes(typeof data === 'string' ? new TextEncoder().encode(data) : data);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
