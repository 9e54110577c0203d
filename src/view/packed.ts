/** Columns of a run in little memory: texts as UTF-8 one after another, numbers as numbers, and what repeats once. */

const decoder = new TextDecoder();
/** Texts that are decoded at once, where most of them are wanted: one long text costs far less than many short ones. */
const decodedTogether = 64;

/** Texts of some rows. A text that the file holds once, as its pages of repeated values do, is held once here too. */
export class PackedTexts {
  readonly bytes: number;
  /** All different texts, one after another; each ends where the next one starts. */
  readonly all: Uint8Array;
  readonly starts: Uint32Array;
  /** Whether a text has a character beyond ASCII. */
  readonly isWide: Uint8Array;
  readonly #codes: Uint32Array;

  constructor(texts: readonly (Uint8Array | null)[]) {
    const { values, codes } = codesOf(texts);
    this.#codes = codes;
    this.starts = new Uint32Array(values.length + 1);
    for (let code = 0; code < values.length; code++) {
      this.starts[code + 1] = this.starts[code] + (values[code]?.length ?? 0);
    }
    // Whole words, so that they can be looked through four bytes at a time.
    const words = new Uint32Array(Math.ceil(this.starts[values.length] / 4));
    this.all = new Uint8Array(words.buffer, 0, this.starts[values.length]);
    for (let code = 0; code < values.length; code++) this.all.set(values[code] ?? [], this.starts[code]);
    this.isWide = wideTexts(words, this.all, this.starts);
    this.bytes = words.byteLength + this.starts.byteLength + this.isWide.byteLength + this.#codes.byteLength;
  }

  /** The place of a row's text among the different ones. */
  code(row: number): number {
    return this.#codes[row];
  }

  at(row: number): string {
    return this.reader(1)(this.#codes[row]);
  }

  /** Gives different texts by their places, which are asked for in their order. `together`: how many of them are decoded at once. */
  reader(together = decodedTogether): (code: number) => string {
    const decode = (from: number, to: number): string =>
      decoder.decode(this.all.subarray(this.starts[from], this.starts[to]));
    let [known, from, to] = ['', 0, 0];
    return (code) => {
      if (this.isWide[code] === 1) return decode(code, code + 1);
      if (code >= to || code < from) {
        const last = Math.min(code + together, this.isWide.length);
        const wide = this.isWide.subarray(code, last).indexOf(1);
        [from, to] = [code, wide < 0 ? last : code + wide];
        known = decode(from, to);
      }
      return known.slice(this.starts[code] - this.starts[from], this.starts[code + 1] - this.starts[from]);
    };
  }
}

/** Of each text whether a byte of it is not ASCII. */
function wideTexts(words: Uint32Array, all: Uint8Array, starts: Uint32Array): Uint8Array {
  const isWide = new Uint8Array(starts.length - 1);
  let text = 0;
  for (let word = 0; word < words.length; word++) {
    if ((words[word] & 0x80808080) === 0) continue;
    for (let at = 4 * word; at < Math.min(4 * word + 4, all.length); at++) {
      if (all[at] < 0x80) continue;
      while (starts[text + 1] <= at) text++;
      isWide[text] = 1;
    }
  }
  return isWide;
}

/** A column whose values repeat: of each row the place of its value among the different ones. */
export interface CodedColumn {
  readonly values: readonly unknown[];
  readonly codes: Uint8Array | Uint16Array | Uint32Array;
}

type PackedColumn = CodedColumn | Float64Array;

/** Numbers of more different values than this are stored as they are. */
const mostCoded = 256;
/** Bytes of a string beside its characters, roughly. */
const stringBytes = 24;

/** Stops at more than so many different values. */
function codesOf<Value>(column: readonly Value[], most = Number.POSITIVE_INFINITY) {
  const values: Value[] = [];
  const known = new Map<Value, number>();
  const codes = new Uint32Array(column.length);
  for (let i = 0; i < column.length && values.length <= most; i++) {
    const value = column[i];
    // Most values are those of the row before.
    const code = i > 0 && value === column[i - 1] ? codes[i - 1] : (known.get(value) ?? values.length);
    if (code === values.length) {
      values.push(value);
      known.set(value, code);
    }
    codes[i] = code;
  }
  return { values, codes };
}

export function packCodes(column: readonly unknown[]): CodedColumn {
  const { values, codes } = codesOf(column);
  const Codes = values.length <= 1 << 8 ? Uint8Array : values.length <= 1 << 16 ? Uint16Array : Uint32Array;
  return { values, codes: Codes.from(codes) };
}

/** An absent number is stored as one that is none, which no file holds. */
function packColumn(column: readonly unknown[]): PackedColumn {
  const { values } = codesOf(column, mostCoded);
  if (values.length <= mostCoded || values.some((value) => value !== null && typeof value !== 'number')) {
    return packCodes(column);
  }
  const numbers = new Float64Array(column.length);
  for (let i = 0; i < column.length; i++) numbers[i] = (column[i] as number | null) ?? Number.NaN;
  return numbers;
}

export function packedBytes(column: PackedColumn): number {
  if (column instanceof Float64Array) return column.byteLength;
  const lengths = column.values.map((value) => (typeof value === 'string' ? stringBytes + value.length : 8));
  return lengths.reduce((sum, length) => sum + length, column.codes.byteLength);
}

export type ColumnsOf<Row> = { readonly [Name in keyof Row]: readonly Row[Name][] };

/** Rows by columns: a row is made when it is asked for. */
export class PackedRows<Row extends object> {
  readonly length: number;
  readonly bytes: number;
  readonly #columns: readonly (readonly [name: keyof Row, column: PackedColumn])[];
  readonly #byName: ReadonlyMap<keyof Row, PackedColumn>;

  constructor(length: number, columns: ColumnsOf<Row>) {
    this.length = length;
    this.#columns = (Object.keys(columns) as (keyof Row)[]).map((name) => [name, packColumn(columns[name])] as const);
    this.#byName = new Map(this.#columns);
    this.bytes = this.#columns.reduce((sum, [, column]) => sum + packedBytes(column), 0);
  }

  /** The values of a column by their places. */
  column<Name extends keyof Row>(name: Name): (place: number) => Row[Name] {
    const column = this.#byName.get(name);
    if (column === undefined) throw new Error(`There is no column ${String(name)}.`);
    return (place) => valueAt(column, place) as Row[Name];
  }

  at(place: number): Row {
    const row: Partial<Row> = {};
    for (const [name, column] of this.#columns) row[name] = valueAt(column, place) as Row[typeof name];
    return row as Row;
  }
}

function valueAt(column: PackedColumn, place: number): unknown {
  if (!(column instanceof Float64Array)) return column.values[column.codes[place]];
  return Number.isNaN(column[place]) ? null : column[place];
}
