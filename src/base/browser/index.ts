/**
 * What stands in the place of base/node in a browser (package.json, `browser`): files are those that the page has fetched, hashes need no
 * module of Node's, and nothing waits for another thread. Whatever it lacks, no file of the trainer asks for.
 */
import { canonicalJson } from '../canonical-json.ts';
import type { RandomStream } from '../rng.ts';
import { sha256, sha256Bytes } from './sha256.ts';

export { decodeText } from '../node/text-file.ts';
export { sha256 } from './sha256.ts';

export function sha256Json(value: unknown): string {
  return sha256(canonicalJson(value));
}

export async function digestNumbers(values: Float32Array): Promise<Uint8Array> {
  return sha256Bytes(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
}

/** The files there are, by their paths. */
const files = new Map<string, Uint8Array>();

/** Gives the trainer a file under a path, as `folder/name`. */
export function provideFile(path: string, bytes: Uint8Array): void {
  files.set(path, bytes);
}

/** Takes back the files of a folder. */
export function withdrawFolder(folder: string): void {
  for (const path of [...files.keys()]) if (path.startsWith(`${folder}/`)) files.delete(path);
}

const isFolder = (path: string): boolean => [...files.keys()].some((file) => file.startsWith(`${path}/`));

export function existsSync(path: string): boolean {
  return files.has(path) || isFolder(path);
}

export function readRegular(path: string): Uint8Array {
  const bytes = files.get(path);
  if (bytes === undefined) throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' });
  return bytes;
}

const statsOf = (path: string) => ({
  ...{ dev: 0, ino: 0, mtimeMs: 0, size: files.has(path) ? readRegular(path).length : 0 },
  isDirectory: () => isFolder(path),
});

export async function stat(path: string): Promise<ReturnType<typeof statsOf>> {
  if (!isFolder(path)) readRegular(path);
  return statsOf(path);
}

/** An open file, with the few methods of Node's that the trainer calls. */
export async function openHandle(path: string) {
  const bytes = readRegular(path);
  return {
    stat: async () => statsOf(path),
    close: async () => undefined,
    async read(into: Uint8Array, offset: number, length: number, position: number) {
      const piece = bytes.subarray(position, position + length);
      into.set(piece, offset);
      return { bytesRead: piece.length };
    },
  };
}

export function join(...parts: readonly string[]): string {
  return parts.join('/');
}

export function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Nothing here comes from a system of files. */
export function systemComplaint(): null {
  return null;
}

export function availableParallelism(): number {
  return 1;
}

/** A page does not learn what else its machine does. */
export function loadAverage(): number {
  return 0;
}

export function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

/** A page can end by itself what computes for ever: here nothing is watched. */
export function withinLimit<Value>(work: () => Value): { readonly value: Value } {
  return { value: work() };
}

export async function drawHere(stream: RandomStream, length: number, scale: number): Promise<Float32Array> {
  const numbers = new Float32Array(length);
  stream.fillNormal(numbers, scale);
  return numbers;
}

export class NormalThreads implements AsyncDisposable {
  draw(stream: RandomStream, length: number, scale: number): Promise<Float32Array> {
    return drawHere(stream, length, scale);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

const others = 'a page has no other ranks';

export function serialize(): never {
  throw new RangeError(others);
}

export function deserialize(): never {
  throw new RangeError(others);
}
