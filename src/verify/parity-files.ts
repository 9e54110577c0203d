/** The stored tensors of a parity case, which remembers what was read, so that the rest can be listed. */
import { basename, join } from 'node:path';
import { UserError } from '../base/index.ts';
import { SafetensorsFile } from '../model/index.ts';

export class StoredCase implements AsyncDisposable {
  readonly #file: SafetensorsFile;
  readonly #read = new Set<string>();

  private constructor(file: SafetensorsFile) {
    this.#file = file;
  }

  static async open(directory: string, name: string): Promise<StoredCase> {
    return new StoredCase(await SafetensorsFile.open(join(directory, name)));
  }

  get names(): string[] {
    return [...this.#file.entries.keys()];
  }

  has(name: string): boolean {
    return this.#file.entries.has(name);
  }

  shape(name: string): readonly number[] {
    return this.#file.entry(name).shape;
  }

  async floats(name: string): Promise<Float32Array> {
    this.#read.add(name);
    return this.#file.readFloat32(name);
  }

  async integers(name: string): Promise<Int32Array> {
    this.#read.add(name);
    const { dtype } = this.#file.entry(name);
    if (dtype !== 'I32' && dtype !== 'I64') {
      throw new UserError({ call: `read ${this.#file.path}, tensor ${name}`, expected: 'I32 or I64', found: dtype });
    }
    return Int32Array.from(await this.#file.read(name), Number);
  }

  /** The first `lengths[row]` integers of each row of a tensor [rows, width]. */
  async integerRows(name: string, lengths: Int32Array): Promise<Int32Array[]> {
    const data = await this.integers(name);
    return sliceRows(data, this.#width(name, lengths), lengths);
  }

  async floatRows(name: string, lengths: Int32Array): Promise<Float32Array[]> {
    const data = await this.floats(name);
    return sliceRows(data, this.#width(name, lengths), lengths);
  }

  /** Marks tensors that belong to the layout but are compared with nothing. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  unread(): string[] {
    return this.names.filter((name) => !this.#read.has(name)).map((name) => `${basename(this.#file.path)}: ${name}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }

  #width(name: string, lengths: Int32Array): number {
    const [rows, width, ...rest] = this.shape(name);
    const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
    if (rows === lengths.length && width >= longest && rest.length === 0) return width;
    throw new UserError({
      call: `read ${this.#file.path}, tensor ${name}`,
      expected: `[${lengths.length}, ${longest} or more]`,
      found: `[${this.shape(name).join(',')}]`,
    });
  }
}

function sliceRows<T extends Int32Array | Float32Array>(data: T, width: number, lengths: Int32Array): T[] {
  return Array.from(lengths, (length, row) => data.slice(row * width, row * width + length) as T);
}

export function joinRows(rows: readonly Float32Array[]): Float32Array {
  return Float32Array.from(rows.flatMap((row) => [...row]));
}
