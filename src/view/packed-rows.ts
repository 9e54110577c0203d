/**
 * Rollouts by columns, their completions as one long text: little more memory than the text itself, and quick to search. Values that
 * repeat are stored once. The page imports it.
 */
import { rolloutDetails, type SearchRow } from './api.ts';
import { facetValues } from './facets.ts';
import { ledgerColumns } from './ledger-columns.ts';

type Codes = Uint8Array | Uint16Array | Uint32Array;

/** A column whose values repeat: the place of each row's value among the different ones. */
export interface CodedColumn {
  readonly values: readonly unknown[];
  readonly codes: Codes;
}

type PackedColumn = CodedColumn | Float64Array;

const details: ReadonlySet<string> = new Set([...rolloutDetails, 'completion']);
const packedNames = (['run', ...Object.keys(ledgerColumns)] as (keyof SearchRow)[]).filter(
  (name) => !details.has(name),
);

/** Numbers of more different values than this are stored as they are. */
const mostNumbers = 256;

export class PackedRows {
  readonly length: number;
  readonly facets: Readonly<Record<string, CodedColumn>>;
  readonly prompts: CodedColumn;
  /** Roughly how much memory they take. */
  readonly bytes: number;
  readonly #columns: Readonly<Record<string, PackedColumn>>;
  readonly #texts: PackedTexts;

  /** `store` puts a long text where it shall stay. */
  constructor(rows: readonly SearchRow[], store: (text: string) => string = (text) => text) {
    this.length = rows.length;
    const facets = Object.entries(facetValues).map(([name, read]) => [name, code(rows, read)] as const);
    const columns = packedNames.map((name) => [name, packColumn(rows, name)] as const);
    this.facets = Object.fromEntries(facets);
    this.#columns = Object.fromEntries(columns);
    this.prompts = this.#columns['prompt'] as CodedColumn;
    this.#texts = new PackedTexts(rows, store);
    this.bytes = [...facets, ...columns].reduce((sum, [, column]) => sum + bytesOf(column), this.#texts.bytes);
  }

  /** A value of a row that is not its completion. */
  value<Name extends Exclude<keyof SearchRow, 'completion'>>(name: Name, place: number): SearchRow[Name] {
    const column = this.#columns[name];
    if (column instanceof Float64Array) return (Number.isNaN(column[place]) ? null : column[place]) as SearchRow[Name];
    return column.values[column.codes[place]] as SearchRow[Name];
  }

  completion(place: number): string {
    return this.#texts.at(place);
  }

  /** A row as it was; undefined beyond the last. */
  at(place: number): SearchRow | undefined {
    if (place >= this.length) return undefined;
    const row = Object.fromEntries(packedNames.map((name) => [name, this.value(name as 'id', place)]));
    return { ...(row as unknown as SearchRow), completion: this.completion(place) };
  }
}

/** The places of the rows' values among the different ones, in the smallest numbers that hold them. */
function code(
  rows: readonly SearchRow[],
  read: (row: SearchRow) => unknown,
  most = Number.POSITIVE_INFINITY,
): CodedColumn {
  const known = new Map<unknown, number>();
  const codes = new Uint32Array(rows.length);
  let [last, at]: [unknown, number] = [undefined, 0];
  for (let i = 0; i < rows.length && known.size <= most; i++) {
    const value = read(rows[i]);
    if (value !== last || i === 0) {
      at = known.get(value) ?? known.size;
      if (at === known.size) known.set(value, at);
      last = value;
    }
    codes[i] = at;
  }
  const Type = known.size <= 1 << 8 ? Uint8Array : known.size <= 1 << 16 ? Uint16Array : Uint32Array;
  return { values: [...known.keys()], codes: Type.from(codes) };
}

function packColumn(rows: readonly SearchRow[], name: keyof SearchRow): PackedColumn {
  const isNumber = ledgerColumns[name as 'update'] === 'INT32' || ledgerColumns[name as 'update'] === 'DOUBLE';
  const coded = code(rows, (row) => row[name], isNumber ? mostNumbers : Number.POSITIVE_INFINITY);
  if (!isNumber || coded.values.length <= mostNumbers) return coded;
  return Float64Array.from(rows, (row) => (row[name] as number | null) ?? Number.NaN);
}

/** Bytes of a string beside its characters, roughly. */
const stringBytes = 24;

function bytesOf(column: PackedColumn): number {
  if (column instanceof Float64Array) return column.byteLength;
  const values = column.values.reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? stringBytes + value.length : 8),
    0,
  );
  return values + column.codes.byteLength;
}

/** Completions one after another. Those with characters of two bytes are kept apart: one of them would double the length of all. */
class PackedTexts {
  readonly bytes: number;
  readonly #joined: string;
  readonly #starts: Uint32Array;
  readonly #wide = new Map<number, string>();

  constructor(rows: readonly SearchRow[], store: (text: string) => string) {
    this.#starts = new Uint32Array(rows.length + 1);
    const narrow: string[] = [];
    let at = 0;
    let bytes = 0;
    rows.forEach(({ completion }, i) => {
      if (/[^\0-\xff]/.test(completion)) {
        this.#wide.set(i, completion);
        bytes += stringBytes + 2 * completion.length;
      } else {
        narrow.push(completion);
        at += completion.length;
      }
      this.#starts[i + 1] = at;
    });
    this.#joined = store(narrow.join(''));
    this.bytes = bytes + at + this.#starts.byteLength;
  }

  at(place: number): string {
    return this.#wide.get(place) ?? this.#joined.slice(this.#starts[place], this.#starts[place + 1]);
  }
}
