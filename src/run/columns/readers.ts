/** Readers of a table by columns, Parquet or JSON lines. Where the bytes are is not their business. */
import type { AsyncBuffer, FileMetaData, ParquetParsers } from 'hyparquet';
import { messageOf, UserError } from '../../base/index.ts';

/** Some rows of a table, as columns. A value that is absent is null, and so is a column that an earlier version did not write. */
export interface ColumnBlock<Row> {
  readonly start: number;
  readonly rows: number;
  readonly values: { readonly [Name in keyof Row]: readonly Row[Name][] };
}

export type RowRange = { readonly from: number; readonly to: number };

export interface TableReader<Row> {
  readonly grows: boolean;
  blocks<Name extends keyof Row & string>(
    names: readonly Name[],
    range?: RowRange,
  ): AsyncGenerator<ColumnBlock<Pick<Row, Name>>>;
  /** Columns of strings as UTF-8, for who looks through more than can be held as strings. What a file holds once for several rows is one array. */
  utf8<Name extends keyof Row & string>(names: readonly Name[]): AsyncGenerator<Utf8Block<Name>>;
}

export type Utf8Block<Name extends string> = ColumnBlock<Readonly<Record<Name, Uint8Array | null>>>;

const allRows: RowRange = { from: 0, to: Number.POSITIVE_INFINITY };

type Explain = (cause: unknown) => { readonly found: string; readonly fix?: string } | null;

/** How much of the end of a file is read at first: few footers are longer. */
const footerBytes = 1 << 14;

export class ParquetTable<Row> implements TableReader<Row> {
  readonly grows = false;
  readonly #name: string;
  readonly #open: () => Promise<AsyncBuffer>;
  readonly #explain: Explain;
  #opened: Promise<{ readonly file: AsyncBuffer; readonly metadata: FileMetaData }> | null = null;

  constructor(name: string, open: () => Promise<AsyncBuffer>, explain: Explain = () => null) {
    this.#name = name;
    this.#open = open;
    this.#explain = explain;
  }

  blocks<Name extends keyof Row & string>(names: readonly Name[], range: RowRange = allRows) {
    return this.#read<ColumnBlock<Pick<Row, Name>>>(names, range);
  }

  utf8<Name extends keyof Row & string>(names: readonly Name[]) {
    return this.#read<Utf8Block<Name>>(names, allRows, { stringFromBytes: (bytes) => bytes });
  }

  async *#read<Block>(
    names: readonly string[],
    range: RowRange,
    parsers: Partial<ParquetParsers> = {},
  ): AsyncGenerator<Block> {
    const { parquetRead } = await import('hyparquet');
    this.#opened ??= this.#whole(() => this.#openFile());
    const { file, metadata } = await this.#opened;
    const stored = metadata.schema.slice(1).map(({ name }) => name);
    const columns = names.filter((name) => stored.includes(name));
    let groupStart = 0;
    for (const group of metadata.row_groups) {
      const groupEnd = groupStart + Number(group.num_rows);
      const rowStart = Math.max(groupStart, range.from);
      const rowEnd = Math.min(groupEnd, range.to);
      groupStart = groupEnd;
      if (rowStart >= rowEnd) continue;
      const rows = rowEnd - rowStart;
      const values = emptyColumns(names, rows);
      await this.#whole(() =>
        parquetRead({
          file,
          metadata,
          columns,
          rowStart,
          rowEnd,
          useOffsetIndex: true,
          parsers,
          onChunk: ({ columnName, columnData, rowStart: first }) => {
            const column = values[columnName];
            for (let i = 0; i < columnData.length; i++) {
              const at = first - rowStart + i;
              // A page may have rows beside those that were asked for.
              if (at >= 0 && at < rows) column[at] = columnData[i] ?? null;
            }
          },
        }),
      );
      yield { start: rowStart, rows, values } as unknown as Block;
    }
  }

  async #openFile() {
    const { parquetMetadataAsync } = await import('hyparquet');
    const file = await this.#open();
    return { file, metadata: await parquetMetadataAsync(file, { initialFetchSize: footerBytes }) };
  }

  /** What the Parquet reader throws at damaged bytes names no file: errors of ranges, of types, of the system. */
  async #whole<Value>(read: () => Promise<Value>): Promise<Value> {
    try {
      return await read();
    } catch (cause) {
      // Asked again, it is read again: what came may have been cut off on the way.
      this.#opened = null;
      if (cause instanceof UserError) throw cause;
      const { found, fix } = this.#explain(cause) ?? {
        found: messageOf(cause),
        fix: 'The file is damaged: restore it from a copy, or make the run again.',
      };
      throw new UserError({ call: `read ${this.#name}`, expected: 'a whole Parquet file', found, fix }, { cause });
    }
  }
}

/** The lines that were added since the last look; `restarted`: those that were read before no longer count. */
export type LineGrowth = { readonly values: readonly unknown[]; readonly restarted: boolean };

type ReadGrowth = () => LineGrowth | Promise<LineGrowth>;

export class LinesTable<Row> implements TableReader<Row> {
  readonly grows = true;
  readonly #follow: () => ReadGrowth;
  readonly #rows: Row[] = [];
  #read: ReadGrowth | null = null;
  #looking: Promise<void> = Promise.resolve();

  constructor(follow: () => ReadGrowth) {
    this.#follow = follow;
  }

  async *blocks<Name extends keyof Row & string>(
    names: readonly Name[],
    { from, to }: RowRange = allRows,
  ): AsyncGenerator<ColumnBlock<Pick<Row, Name>>> {
    await this.#catchUp();
    const rows = this.#rows.slice(from, to);
    const values: Record<string, unknown[]> = {};
    for (const name of names) values[name] = rows.map((row) => row[name] ?? null);
    yield { start: from, rows: rows.length, values } as unknown as ColumnBlock<Pick<Row, Name>>;
  }

  async *utf8<Name extends keyof Row & string>(names: readonly Name[]): AsyncGenerator<Utf8Block<Name>> {
    const encoder = new TextEncoder();
    const encode = (text: unknown): Uint8Array | null => (typeof text === 'string' ? encoder.encode(text) : null);
    for await (const { values, ...block } of this.blocks(names)) {
      const encoded = names.map((name) => [name, values[name].map(encode)]);
      yield { ...block, values: Object.fromEntries(encoded) } as unknown as Utf8Block<Name>;
    }
  }

  /** One look after another: two at once would read the same lines. */
  #catchUp(): Promise<void> {
    this.#looking = this.#looking.catch(() => undefined).then(() => this.#look());
    return this.#looking;
  }

  async #look(): Promise<void> {
    try {
      this.#read ??= this.#follow();
      const { values, restarted } = await this.#read();
      if (restarted) this.#rows.length = 0;
      for (const row of values) this.#rows.push(row as Row);
    } catch (error) {
      // A file that cannot be read is read from its beginning the next time.
      this.#read = null;
      this.#rows.length = 0;
      throw error;
    }
  }
}

const emptyColumns = (names: readonly string[], length: number): Record<string, unknown[]> =>
  Object.fromEntries(names.map((name) => [name, new Array<unknown>(length).fill(null)]));

/** The rows of a block, all of one shape: what reads them is then several times as fast. */
export function blockRows<Row extends object>({ rows, values }: ColumnBlock<Row>): Row[] {
  const made = Array.from({ length: rows }, (): Partial<Row> => ({}));
  for (const name of Object.keys(values) as (keyof Row)[]) {
    const column = values[name];
    for (let i = 0; i < rows; i++) made[i][name] = column[i];
  }
  return made as Row[];
}
