/**
 * A file on a web server of which parts are read. Where the server does not answer byte ranges the file is read whole, if it is small,
 * and the page says so.
 */
import { signal } from '@preact/signals';
import type { AsyncBuffer } from 'hyparquet';
import type { ListedLedger } from '../ledger-columns.ts';

/** What is missing on the server that the page came from; empty when nothing is. */
export const serverNotice = signal('');

/** The end of a file, read at once: it has the footer and the index of the pages. */
const tailBytes = 1 << 15;
/** The largest file that is read whole. */
const mostWhole = 1 << 26;

/** What is wrong with the server, not with the file. */
export class ServerError extends Error {}

const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

export class RangeFile implements AsyncBuffer {
  readonly byteLength: number;
  readonly #name: string;
  #tail: Promise<ArrayBuffer> | null = null;
  #whole: ArrayBuffer | null = null;

  constructor({ parquet, bytes }: ListedLedger) {
    this.#name = parquet;
    this.byteLength = bytes;
  }

  async slice(start: number, end = this.byteLength): Promise<ArrayBuffer> {
    if (this.#whole !== null) return this.#whole.slice(start, end);
    const tailStart = Math.max(0, this.byteLength - tailBytes);
    if (start < tailStart) return this.#fetch(start, end);
    this.#tail ??= this.#fetch(tailStart, this.byteLength);
    return (await this.#tail).slice(start - tailStart, end - tailStart);
  }

  async #fetch(start: number, end: number): Promise<ArrayBuffer> {
    const response = await fetch(this.#name, { headers: { Range: `bytes=${start}-${end - 1}` } });
    if (!response.ok) throw new ServerError(`The server has no ${this.#name}: it answered ${response.status}.`);
    if (response.status === 206) return response.arrayBuffer();
    // The rest is not read, if it is too much.
    if (this.byteLength > mostWhole) {
      await response.body?.cancel();
      throw new ServerError(
        `This web server does not answer byte ranges, and ${this.#name} has ${inMegabytes(this.byteLength)}: too much to be read whole. Use a server that does, or open the runs with gq view.`,
      );
    }
    const whole = await response.arrayBuffer();
    if (whole.byteLength !== this.byteLength) {
      throw new ServerError(`${this.#name} has ${whole.byteLength} bytes, and the list says ${this.byteLength}.`);
    }
    this.#whole = whole;
    serverNotice.value = 'This web server does not answer byte ranges: the rollouts of a run are read whole.';
    return whole.slice(start, end);
  }
}
