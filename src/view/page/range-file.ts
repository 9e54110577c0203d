/** A file on a web server, read in byte ranges, or whole if it is small and the server answers none. */
import { signal } from '@preact/signals';
import type { AsyncBuffer } from 'hyparquet';
import { UserError } from '../../base/index.ts';
import type { RunFile } from '../api.ts';

export const serverNotice = signal('');

/** The end of a file, read at once: it has the footer and the index of the pages. */
const tailBytes = 1 << 15;
const mostWhole = 1 << 26;

const inMegabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

type Fetch = (name: string, options: { readonly headers: Readonly<Record<string, string>> }) => Promise<Response>;

export class RangeFile implements AsyncBuffer {
  readonly byteLength: number;
  readonly #name: string;
  readonly #get: Fetch;
  readonly #tailStart: number;
  #tail: Promise<ArrayBuffer> | null = null;
  #whole: ArrayBuffer | null = null;

  constructor({ name, bytes }: RunFile, isSealed: boolean, get: Fetch = (path, options) => fetch(path, options)) {
    this.#name = name;
    this.#tailStart = isSealed ? Math.max(0, bytes - tailBytes) : bytes;
    this.#get = get;
    this.byteLength = bytes;
  }

  async slice(start: number, end = this.byteLength): Promise<ArrayBuffer> {
    if (this.#whole !== null) return this.#whole.slice(start, end);
    if (start < this.#tailStart) return this.#fetch(start, end);
    this.#tail ??= this.#fetch(this.#tailStart, this.byteLength);
    return (await this.#tail).slice(start - this.#tailStart, end - this.#tailStart);
  }

  async #fetch(start: number, end: number): Promise<ArrayBuffer> {
    const response = await this.#get(this.#name, { headers: { Range: `bytes=${start}-${end - 1}` } });
    if (!response.ok) throw this.#complaint('a file of the server', `the answer ${response.status}`);
    if (response.status === 206) return response.arrayBuffer();
    // The rest is not read, if it is too much.
    if (this.byteLength > mostWhole) {
      await response.body?.cancel();
      throw this.#complaint(
        'a web server that answers byte ranges',
        `one that does not, and ${inMegabytes(this.byteLength)}: too much to be read whole`,
        'Use a server that does, or open the runs with gq view.',
      );
    }
    const whole = await response.arrayBuffer();
    if (whole.byteLength < this.byteLength) {
      throw this.#complaint(`${this.byteLength} bytes`, `${whole.byteLength}`, 'Copy the file again.');
    }
    this.#whole = whole;
    serverNotice.value = 'This web server does not answer byte ranges: the rollouts of a run are read whole.';
    return whole.slice(start, end);
  }

  #complaint(expected: string, found: string, fix = 'Look again, or copy the bundle again.'): UserError {
    return new UserError({ call: `read ${this.#name}`, expected, found, fix });
  }
}
