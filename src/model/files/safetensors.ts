/**
 * A safetensors file open for reading: the header is checked on opening, tensors are read one at a time by byte range,
 * so memory holds what the caller keeps and nothing else. bfloat16 and float16 travel as their raw 16 bits;
 * `toFloat32` widens them exactly.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { UserError, widenHalves } from '../../base/index.ts';
import { missingFile } from './json.ts';
import {
  lengthBytes,
  parseHeader,
  parseHeaderLength,
  type SafetensorsDType,
  type SafetensorsEntry,
  type SafetensorsHeader,
} from './safetensors-header.ts';

export type SafetensorsArray = Float32Array | Uint16Array | Int32Array | BigInt64Array;

/** One read may not exceed 2 GiB, and a tensor may. */
const mostBytesPerRead = 64 * 1024 * 1024;

export class SafetensorsFile implements AsyncDisposable {
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** The tensors in the order of their bytes in the file. */
  readonly entries: ReadonlyMap<string, SafetensorsEntry>;
  readonly bytes: number;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle, header: SafetensorsHeader, bytes: number) {
    this.path = path;
    this.metadata = header.metadata;
    this.entries = header.entries;
    this.bytes = bytes;
    this.#handle = handle;
  }

  static async open(path: string): Promise<SafetensorsFile> {
    const handle = await open(path, 'r').catch((cause: unknown) => {
      throw missingFile(path, cause);
    });
    try {
      const { size } = await handle.stat();
      const prefix = await readRange(handle, 0, Math.min(lengthBytes, size), path);
      const length = parseHeaderLength(prefix, size, path);
      const header = await readRange(handle, lengthBytes, lengthBytes + length, path);
      return new SafetensorsFile(path, handle, parseHeader(header, size, path), size);
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

  /** The tensor as stored: F32 → Float32Array, BF16 and F16 → Uint16Array of raw bits, I32 → Int32Array, I64 → BigInt64Array. */
  async read(name: string): Promise<SafetensorsArray> {
    const { dtype, start, end } = this.entry(name);
    const { buffer } = await readRange(this.#handle, start, end, this.path);
    return viewAs(dtype, buffer);
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
  }
}

async function readRange(
  handle: FileHandle,
  start: number,
  end: number,
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(new ArrayBuffer(end - start));
  let done = 0;
  while (done < bytes.length) {
    const length = Math.min(mostBytesPerRead, bytes.length - done);
    const { bytesRead } = await handle.read(bytes, done, length, start + done);
    if (bytesRead === 0) {
      const found = `the file ends at byte ${start + done}: it was cut while being read`;
      throw new UserError({ call: `read ${path}`, expected: `bytes ${start} to ${end}`, found });
    }
    done += bytesRead;
  }
  return bytes;
}

function viewAs(dtype: SafetensorsDType, buffer: ArrayBuffer): SafetensorsArray {
  switch (dtype) {
    case 'F32':
      return new Float32Array(buffer);
    case 'F16':
    case 'BF16':
      return new Uint16Array(buffer);
    case 'I32':
      return new Int32Array(buffer);
    case 'I64':
      return new BigInt64Array(buffer);
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

/** Index of the first NaN or infinite element, or -1. Works on the bits, without widening. */
export function findNonFinite(data: SafetensorsArray, dtype: SafetensorsDType): number {
  if (!(data instanceof Float32Array || data instanceof Uint16Array)) return -1;
  const bits = data instanceof Float32Array ? new Uint32Array(data.buffer, data.byteOffset, data.length) : data;
  const exponent = dtype === 'F32' ? 0x7f800000 : dtype === 'BF16' ? 0x7f80 : 0x7c00;
  for (let i = 0; i < bits.length; i += 1) if ((bits[i] & exponent) === exponent) return i;
  return -1;
}
