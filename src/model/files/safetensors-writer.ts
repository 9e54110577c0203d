/**
 * Writing a safetensors file: tensors in a fixed order (wider dtypes first, then by name, as the reference writer does,
 * so every tensor is aligned), the header padded with spaces to 8 bytes, data produced one tensor at a time and written
 * as it comes. The file appears under its name only when it is complete. It can be hashed while it is written, by a thread if it is large.
 */
import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { UserError } from '../../base/index.ts';
import { HashingThread, replaceFile } from '../../base/node/index.ts';
import type { SafetensorsArray } from './safetensors.ts';
import { lengthBytes, type SafetensorsDType, safetensorsBytes } from './safetensors-header.ts';

export interface TensorToWrite {
  readonly name: string;
  readonly dtype: SafetensorsDType;
  readonly shape: readonly number[];
  /** Gives the tensor's values. Called once, in file order; the array may be reused once the next tensor is asked for. */
  readonly data: () => SafetensorsArray | Promise<SafetensorsArray>;
}

const mostBytesPerWrite = 8 * 1024 * 1024;
/** Smaller files are hashed sooner than a thread starts. */
const fewBytes = 16 * 1024 * 1024;
const arrayOf = { F32: Float32Array, F16: Uint16Array, BF16: Uint16Array, I32: Int32Array, I64: BigInt64Array };

export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>> = {},
): Promise<void> {
  await writePieces(path, tensors, metadata, async (file, pieces) => {
    for await (const bytes of pieces) await writeAll(file, bytes);
  });
}

/**
 * The same; returns the SHA-256 of the file in hexadecimal, without reading it again. The tensors of a large file are handed to a thread
 * with their memory, and are empty afterwards.
 */
export async function writeHashedSafetensors(path: string, tensors: readonly TensorToWrite[]): Promise<string> {
  const isLarge = tensors.reduce((sum, tensor) => sum + bytesOf(tensor), 0) >= fewBytes;
  let digest = '';
  await writePieces(path, tensors, {}, async (file, pieces) => {
    if (isLarge) {
      await using thread = new HashingThread(file.fd);
      for await (const bytes of pieces) thread.write(bytes);
      digest = await thread.digest();
    } else {
      const hash = createHash('sha256');
      for await (const bytes of pieces) await writeAll(file, bytes, hash);
      digest = hash.digest('hex');
    }
  });
  return digest;
}

/** Makes a file, which `write` fills with the header and the tensors. */
async function writePieces(
  path: string,
  tensors: readonly TensorToWrite[],
  metadata: Readonly<Record<string, string>>,
  write: (file: FileHandle, pieces: AsyncIterable<Uint8Array>) => Promise<void>,
): Promise<void> {
  const ordered = orderTensors(tensors, path);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield headerOf(ordered, metadata);
    for (const tensor of ordered) yield await dataOf(tensor, path);
  }
  try {
    await replaceFile(path, (file) => write(file, pieces()));
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    const expected = 'a folder that can be written, with room for the file';
    throw new UserError({ call: `write ${path}`, expected, found: cause.message }, { cause });
  }
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function orderTensors(tensors: readonly TensorToWrite[], path: string): TensorToWrite[] {
  const names = new Set<string>();
  for (const { name } of tensors) {
    if (names.has(name) || name === '__metadata__') {
      throw new UserError({ call: `write ${path}`, expected: 'distinct tensor names', found: `a second ${name}` });
    }
    names.add(name);
  }
  return [...tensors].sort(
    (a, b) => safetensorsBytes[b.dtype] - safetensorsBytes[a.dtype] || compareText(a.name, b.name),
  );
}

function bytesOf({ dtype, shape }: TensorToWrite): number {
  return shape.reduce((product, axis) => product * axis, safetensorsBytes[dtype]);
}

function headerOf(tensors: readonly TensorToWrite[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const sorted = Object.entries(metadata).sort(([a], [b]) => compareText(a, b));
  const entries: [string, unknown][] = sorted.length === 0 ? [] : [['__metadata__', Object.fromEntries(sorted)]];
  let start = 0;
  for (const tensor of tensors) {
    const end = start + bytesOf(tensor);
    entries.push([tensor.name, { dtype: tensor.dtype, shape: tensor.shape, data_offsets: [start, end] }]);
    start = end;
  }
  // The header is written pair by pair: an object would move names that look like numbers to the front.
  const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
  const json = new TextEncoder().encode(text);
  const padded = Math.ceil(json.length / 8) * 8;
  const bytes = new Uint8Array(lengthBytes + padded).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(json, lengthBytes);
  return bytes;
}

async function dataOf(tensor: TensorToWrite, path: string): Promise<Uint8Array> {
  const data = await tensor.data();
  const expectedBytes = bytesOf(tensor);
  if (!(data instanceof arrayOf[tensor.dtype]) || data.byteLength !== expectedBytes) {
    throw new UserError({
      call: `write ${path}, tensor ${tensor.name}`,
      expected: `${expectedBytes} bytes for ${tensor.dtype}[${tensor.shape.join(',')}]`,
      found: `${data.constructor.name} of ${data.byteLength} bytes`,
    });
  }
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, hash?: Hash): Promise<void> {
  let done = 0;
  let hashed = 0;
  while (done < bytes.length) {
    const end = Math.min(done + mostBytesPerWrite, bytes.length);
    const writing = handle.write(bytes, done, end - done);
    // What a short write leaves is written again and not hashed again.
    if (end > hashed) hash?.update(bytes.subarray(hashed, end));
    hashed = Math.max(hashed, end);
    done += (await writing).bytesWritten;
  }
}
