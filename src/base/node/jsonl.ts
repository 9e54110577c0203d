/**
 * Append-only JSON lines: one value a line, and a line counts only when its newline is written. A crash can therefore
 * tear no more than the last line: opening for append cuts it off at the last newline (by byte offset), reading skips
 * it. Anything else that is not JSON is an error that names file and line. A file has one writer: one that changed
 * behind the writer's back is an error too.
 */
import { closeSync, fstatSync, fsyncSync, ftruncateSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { messageOf, UserError } from '../errors.ts';
import { syncDirectory } from './atomic-file.ts';
import { openToWrite, streamRegular } from './regular-file.ts';
import { namePath, systemComplaint } from './system-error.ts';

const newline = 0x0a;
const chunkBytes = 65_536;

/** Length of the file up to and including its last newline. */
function completeLength(file: number): number {
  const chunk = Buffer.alloc(chunkBytes);
  let end = fstatSync(file).size;
  while (end > 0) {
    const start = Math.max(0, end - chunkBytes);
    const read = readSync(file, chunk, 0, end - start, start);
    const at = chunk.subarray(0, read).lastIndexOf(newline);
    if (at >= 0) return start + at + 1;
    end = start;
  }
  return 0;
}

function toLine(value: unknown, path: string): string {
  const text = JSON.stringify(value, (key, member: unknown) => {
    if (typeof member !== 'number' || Number.isFinite(member)) return member;
    // JSON.stringify would write null, and the reader could not tell it from an absent value.
    throw new UserError({ call: `append to ${path}`, expected: 'finite numbers', found: `${member} at key "${key}"` });
  });
  if (text !== undefined) return `${text}\n`;
  throw new UserError({ call: `append to ${path}`, expected: 'a JSON value', found: typeof value });
}

export interface JsonlWriterOptions {
  /** Whether each append is flushed to disk: it then survives a power cut, not only the end of the process. */
  readonly fsync?: boolean;
}

export class JsonlWriter implements Disposable {
  readonly path: string;
  /** Bytes of a torn last line that opening cut off; 0 when the file was whole. */
  readonly cutBytes: number;
  readonly #fsync: boolean;
  #file: number | undefined;
  #length: number;

  /** Creates the file when it is missing. */
  constructor(path: string, { fsync = false }: JsonlWriterOptions = {}) {
    this.path = path;
    this.#fsync = fsync;
    this.#file = openToWrite(path, 'append');
    if (fsync) syncDirectory(dirname(path));
    this.#length = completeLength(this.#file);
    this.cutBytes = fstatSync(this.#file).size - this.#length;
    if (this.cutBytes > 0) ftruncateSync(this.#file, this.#length);
  }

  /** Several values become one write and one flush. All of them are checked before the first byte is written. */
  append(...values: readonly unknown[]): void {
    const file = this.#openFile();
    const bytes = Buffer.from(values.map((value) => toLine(value, this.path)).join(''));
    const found = fstatSync(file).size;
    if (found !== this.#length) {
      throw new UserError({
        call: `append to ${this.path}`,
        expected: `${this.#length} bytes, as this writer left it`,
        found: `${found} bytes`,
        fix: 'Another process writes the same file, or an earlier append failed half way. Stop it and open again.',
      });
    }
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      if (this.#fsync) fsyncSync(file);
    } catch (error) {
      throw namePath(error, this.path);
    }
    this.#length += bytes.length;
  }

  close(): void {
    closeSync(this.#openFile());
    this.#file = undefined;
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) this.close();
  }

  #openFile(): number {
    if (this.#file !== undefined) return this.#file;
    throw new UserError({ call: `append to ${this.path}`, expected: 'an open writer', found: 'a closed one' });
  }
}

function complain(path: string, expected: string, cause: unknown): never {
  const system = systemComplaint(namePath(cause, path));
  if (system !== null) throw new UserError({ ...system, call: `read ${path}` }, { cause });
  throw new UserError({ call: `read ${path}`, expected, found: messageOf(cause) }, { cause });
}

async function* readLines(path: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = [];
  try {
    const file = streamRegular(path);
    // An error of either stream reaches the loop below; the callback has nothing left to do.
    const source = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => undefined) : file;
    for await (const chunk of source as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
        pieces = [];
        start = end + 1;
      }
      if (start < chunk.length) pieces.push(chunk.subarray(start));
    }
  } catch (cause) {
    complain(path, 'a readable file', cause);
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** The value of one line without its newline. */
export function parseLine(bytes: Buffer, path: string, line: number): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (cause) {
    return complain(path, `JSON on line ${line}`, cause);
  }
}

/** The values of all complete lines, in order; `.gz` is unpacked. The caller checks their shape. */
export async function* readJsonl(path: string): AsyncGenerator<unknown> {
  let line = 0;
  for await (const bytes of readLines(path)) {
    line += 1;
    yield parseLine(bytes, path, line);
  }
}
