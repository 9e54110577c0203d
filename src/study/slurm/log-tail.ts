/** Reads the complete lines that were added to a log since the last look. A log that does not exist yet has none. */
import { closeSync, fstatSync, readSync } from 'node:fs';
import { openToRead } from '../../base/node/index.ts';

const mostBytes = 1 << 20;

export class LogTail {
  readonly #path: string;
  #offset: number;
  #rest = Buffer.alloc(0);

  constructor(path: string, lastBytes: number | null = null) {
    this.#path = path;
    this.#offset = lastBytes === null ? 0 : -lastBytes;
  }

  read(): string[] {
    let file: number;
    try {
      file = openToRead(this.#path);
    } catch {
      return [];
    }
    try {
      const { size } = fstatSync(file);
      if (this.#offset < 0) this.#offset = Math.max(0, size + this.#offset);
      if (size < this.#offset) [this.#offset, this.#rest] = [0, Buffer.alloc(0)];
      const buffer = Buffer.alloc(Math.min(mostBytes, size - this.#offset));
      const count = readSync(file, buffer, 0, buffer.length, this.#offset);
      this.#offset += count;
      const bytes = Buffer.concat([this.#rest, buffer.subarray(0, count)]);
      const end = bytes.lastIndexOf(0x0a) + 1;
      this.#rest = bytes.subarray(end);
      return bytes.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
    } finally {
      closeSync(file);
    }
  }
}

export function lastLine(path: string): string | null {
  const lines = new LogTail(path, 16_384).read().filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? null;
}
