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
import { headerOf, orderTensors, sizeOfTensor, type TensorShape } from './safetensors-header.ts';

export interface TensorToWrite extends TensorShape {
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
  const isLarge = tensors.reduce((sum, tensor) => sum + sizeOfTensor(tensor), 0) >= fewBytes;
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
  await replaceFile(path, (file) => write(file, pieces()));
}

async function dataOf(tensor: TensorToWrite, path: string): Promise<Uint8Array> {
  const data = await tensor.data();
  const expectedBytes = sizeOfTensor(tensor);
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
