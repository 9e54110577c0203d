/**
 * A safetensors file open for reading: the header is checked on opening, tensors are read one at a time by byte range,
 * so memory holds what the caller keeps and nothing else. bfloat16 and float16 travel as their raw 16 bits;
 * `toFloat32` widens them exactly.
 */
import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { mapPool, UserError, widenHalves } from '../../base/index.ts';
import { openHandle, stat } from '../../base/node/index.ts';
import { missingFile } from './json.ts';
import {
  lengthBytes,
  parseHeader,
  parseHeaderLength,
  type SafetensorsDType,
  type SafetensorsEntry,
  type SafetensorsHeader,
  safetensorsBytes,
} from './safetensors-header.ts';

export type SafetensorsArray = Float32Array | Uint16Array | Int32Array | BigInt64Array;

/** Larger tensors are read in pieces, some of them at once: the system copies a piece in a thread of its own. */
const mostBytesPerRead = 16 * 1024 * 1024;
const readsTogether = 4;

export class SafetensorsFile implements AsyncDisposable {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The tensors in the order of their bytes in the file. */
  readonly entries: ReadonlyMap<string, SafetensorsEntry>;
  readonly bytes: number;
  readonly #handle: FileHandle;
  readonly #stamp: string;

  private constructor(path: string, handle: FileHandle, header: SafetensorsHeader, stats: Stats) {
    this.path = path;
    this.metadata = header.metadata;
    this.entries = header.entries;
    this.bytes = stats.size;
    this.#handle = handle;
    this.#stamp = stampOf(stats);
  }

  static async open(path: string): Promise<SafetensorsFile> {
    const handle = await openHandle(path).catch((cause: unknown) => {
      throw missingFile(path, cause);
    });
    try {
      const stats = await handle.stat();
      const { size } = stats;
      const prefix = await readRange(handle, 0, Math.min(lengthBytes, size), path);
      const length = parseHeaderLength(prefix, size, path);
      const header = await readRange(handle, lengthBytes, lengthBytes + length, path);
      return new SafetensorsFile(path, handle, parseHeader(header, size, path), stats);
    } catch (cause) {
      await handle.close();
      throw cause instanceof UserError ? cause : missingFile(path, cause);
    }
  }

  entry(name: string): SafetensorsEntry {
    const entry = this.entries.get(name);
    if (entry !== undefined) return entry;
    const found = `${this.entries.size} others`;
    throw new UserError({ call: `read ${this.path}`, expected: `a tensor ${name}`, found });
  }

  /**
   * The tensor as stored: F32 → Float32Array, BF16 and F16 → Uint16Array of raw bits, I32 → Int32Array, I64 → BigInt64Array. It lies
   * at the start of `room`, where given; default: in memory of its own.
   */
  async read(name: string, room?: ArrayBuffer): Promise<SafetensorsArray> {
    const { dtype, start, end } = this.entry(name);
    return viewAs(dtype, await readRange(this.#handle, start, end, this.path, room));
  }

  /** An F32, F16 or BF16 tensor as float32. */
  async readFloat32(name: string): Promise<Float32Array> {
    const { dtype } = this.entry(name);
    if (dtype === 'I32' || dtype === 'I64') {
      throw new UserError({ call: `read ${this.path}, tensor ${name}`, expected: 'F32, F16 or BF16', found: dtype });
    }
    return toFloat32(await this.read(name), dtype);
  }

  /** The raw bytes of a tensor, a piece at a time. */
  async *readPieces(name: string): AsyncGenerator<Uint8Array> {
    const { start, end } = this.entry(name);
    for (let at = start; at < end; at += mostBytesPerRead) {
      yield readRange(this.#handle, at, Math.min(end, at + mostBytesPerRead), this.path);
    }
  }

  /** Refuses a file that was written to since it was opened, or has another in its place: what was read is not what is there now. */
  async expectUnchanged(): Promise<void> {
    const now = await stat(this.path).catch((cause: unknown) => {
      throw missingFile(this.path, cause);
    });
    if (stampOf(now) === this.#stamp) return;
    throw new UserError({
      call: `read ${this.path}`,
      expected: 'the file as it was opened',
      found: 'a file that was changed or replaced meanwhile',
      fix: 'Start again once nothing writes to it.',
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

/** Two files with one stamp are one file with one content. */
function stampOf({ dev, ino, size, mtimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs].join();
}

async function readRange(
  handle: FileHandle,
  start: number,
  end: number,
  path: string,
  room = new ArrayBuffer(end - start),
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(room, 0, end - start);
  const pieces = Array.from({ length: Math.ceil(bytes.length / mostBytesPerRead) }, (_, i) => i * mostBytesPerRead);
  await mapPool(pieces, readsTogether, async (first) => {
    const last = Math.min(bytes.length, first + mostBytesPerRead);
    for (let done = first; done < last; ) {
      const { bytesRead } = await handle.read(bytes, done, last - done, start + done);
      if (bytesRead === 0) {
        const found = `the file ends at byte ${start + done}: it was cut while being read`;
        throw new UserError({ call: `read ${path}`, expected: `bytes ${start} to ${end}`, found });
      }
      done += bytesRead;
    }
  });
  return bytes;
}

function viewAs(dtype: SafetensorsDType, { buffer, length }: Uint8Array<ArrayBuffer>): SafetensorsArray {
  const size = length / safetensorsBytes[dtype];
  switch (dtype) {
    case 'F32':
      return new Float32Array(buffer, 0, size);
    case 'F16':
    case 'BF16':
      return new Uint16Array(buffer, 0, size);
    case 'I32':
      return new Int32Array(buffer, 0, size);
    case 'I64':
      return new BigInt64Array(buffer, 0, size);
  }
}

/** The conversion is exact: every bfloat16 and float16 is a float32. NaN payloads of bfloat16 survive. */
export function toFloat32(data: SafetensorsArray, dtype: SafetensorsDType): Float32Array {
  if (data instanceof Float32Array) return data;
  if (!(data instanceof Uint16Array)) {
    throw new UserError({ call: 'toFloat32', expected: 'F32, F16 or BF16', found: dtype });
  }
  return widenHalves(data, dtype === 'BF16' ? 'bf16' : 'f16');
}

/** For 32 bits, which are one float or two halves: those of the exponents, the last place of each, and the signs. */
const exponentBits = {
  F32: [0x7f800000, 0x00800000, 0x80000000],
  BF16: [0x7f807f80, 0x00800080, 0x80008000],
  F16: [0x7c007c00, 0x04000400, 0x80008000],
} as const;
/** Words that are looked at together before an element is looked for among them. */
const blockWords = 2 ** 13;

/** Index of the first NaN or infinite element, or -1. Works on the bits, without widening. */
export function findNonFinite(data: SafetensorsArray, dtype: SafetensorsDType): number {
  if (!(data instanceof Float32Array || data instanceof Uint16Array) || dtype === 'I32' || dtype === 'I64') return -1;
  const { buffer, byteOffset, byteLength, length } = data;
  const bits = data instanceof Float32Array ? new Uint32Array(buffer, byteOffset, length) : data;
  const [exponents, ones, signs] = exponentBits[dtype];
  const exponent = bits instanceof Uint32Array ? exponents : exponents & 0xffff;
  const words = byteOffset % 4 === 0 ? new Uint32Array(buffer, byteOffset, Math.floor(byteLength / 4)) : null;
  let start = 0;
  if (words !== null) {
    const perWord = 4 / bits.BYTES_PER_ELEMENT;
    let word = 0;
    for (; word + blockWords <= words.length; word += blockWords) {
      if ((overflow(words, word, word + blockWords, exponents, ones) & signs) !== 0) break;
    }
    start = word * perWord;
  }
  for (let i = start; i < length; i += 1) if ((bits[i] & exponent) === exponent) return i;
  return -1;
}

/** One is added to every exponent: a full one, that of NaN and the infinities, flows over into its sign. */
function overflow(words: Uint32Array, start: number, end: number, exponents: number, ones: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = start; i < end; i += 4) {
    a |= (words[i] & exponents) + ones;
    b |= (words[i + 1] & exponents) + ones;
    c |= (words[i + 2] & exponents) + ones;
    d |= (words[i + 3] & exponents) + ones;
  }
  return a | b | c | d;
}
