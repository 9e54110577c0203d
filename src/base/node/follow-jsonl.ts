/**
 * Follows a file of lines that somebody else writes, JSON unless it is told otherwise: each look reads the complete lines added since the last one. Lines are cut as
 * bytes and decoded whole, so no character is cut in two. A file that was cut back (a run that was resumed) or replaced is read from
 * its beginning again, and the reader is told. A file that does not exist (yet, or any more) counts as unchanged.
 */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseLine } from './jsonl.ts';
import { openToRead } from './regular-file.ts';

const newline = 0x0a;
const chunkBytes = 1 << 20;
/** Number of bytes before the reading position that must be unchanged; otherwise the file was replaced. */
const markBytes = 64;

/** What one look found. */
export interface JsonlGrowth {
  readonly values: readonly unknown[];
  /** The file was cut back or replaced: what was read before no longer counts, and `values` begin at its first line. */
  readonly restarted: boolean;
}

export class JsonlFollower {
  readonly path: string;
  readonly #parse: (line: Buffer, path: string, number: number) => unknown;
  readonly #lastBytes: number;
  /** Bytes of the lines read so far; null before the first look. */
  #offset: number | null = null;
  #lines = 0;
  #mark = Buffer.alloc(0);

  /** `lastBytes`: how much of what is there at the first look is read, from its end; default: all. */
  constructor(path: string, parse: typeof parseLine = parseLine, lastBytes: number = Number.POSITIVE_INFINITY) {
    this.path = path;
    this.#parse = parse;
    this.#lastBytes = lastBytes;
  }

  /** The values of the lines that were completed since the last look. */
  read(): JsonlGrowth {
    const file = openIfThere(this.path);
    if (file === null) return { values: [], restarted: false };
    try {
      this.#offset ??= Math.max(0, fstatSync(file).size - this.#lastBytes);
      const restarted = !this.#continues(file, this.#offset);
      if (restarted) {
        this.#offset = 0;
        this.#lines = 0;
        this.#mark = Buffer.alloc(0);
      }
      return { values: [...this.#newValues(file)], restarted };
    } finally {
      closeSync(file);
    }
  }

  /** Looks every `everyMs` milliseconds and yields what is new; the signal ends it without an error. */
  async *watch(signal: AbortSignal, everyMs = 200): AsyncGenerator<JsonlGrowth, void, void> {
    while (!signal.aborted) {
      const growth = this.read();
      if (growth.restarted || growth.values.length > 0) yield growth;
      else await wait(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #continues(file: number, offset: number): boolean {
    if (fstatSync(file).size < offset) return false;
    const found = Buffer.alloc(this.#mark.length);
    readFully(file, found, offset - found.length);
    return found.equals(this.#mark);
  }

  *#newValues(file: number): Generator<unknown> {
    const chunk = Buffer.alloc(chunkBytes);
    let torn = Buffer.alloc(0);
    let at = this.#offset ?? 0;
    for (let read = readFully(file, chunk, at); read > 0; read = readFully(file, chunk, at)) {
      at += read;
      const bytes = Buffer.concat([torn, chunk.subarray(0, read)]);
      let start = 0;
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
        yield this.#take(bytes.subarray(start, end + 1));
        start = end + 1;
      }
      torn = bytes.subarray(start);
    }
  }

  #take(line: Buffer): unknown {
    const value = this.#parse(line.subarray(0, -1), this.path, this.#lines + 1);
    this.#lines += 1;
    this.#offset = (this.#offset ?? 0) + line.length;
    this.#mark = Buffer.concat([this.#mark, line.subarray(-markBytes)]).subarray(-markBytes);
    return value;
  }
}

export function followJsonl(path: string): JsonlFollower {
  return new JsonlFollower(path);
}

function openIfThere(path: string): number | null {
  try {
    return openToRead(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Reads until the buffer is full or the file ends; returns the number of bytes. */
function readFully(file: number, into: Buffer, position: number): number {
  let done = 0;
  for (let read = 1; read > 0 && done < into.length; done += read) {
    read = readSync(file, into, done, into.length - done, position + done);
  }
  return done;
}
