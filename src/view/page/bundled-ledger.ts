/** The rollouts of one run in a bundle, read in parts: short columns for lists, texts for a search, a few whole rows for a page. */
import { type FileMetaData, parquetMetadataAsync, parquetRead } from 'hyparquet';
import type { LedgerRow, SearchRow } from '../api.ts';
import { type ListedLedger, ledgerColumns } from '../ledger-columns.ts';
import type { RunLedger } from './ledgers.ts';
import { RangeFile, ServerError } from './range-file.ts';

type Columns = Readonly<Record<string, readonly unknown[]>>;

const names = Object.keys(ledgerColumns);
const texts: readonly string[] = ['prompt', 'completion'];
const short = names.slice(0, names.indexOf('prompt'));

export class BundledLedger implements RunLedger {
  readonly run: string;
  readonly #listed: ListedLedger;
  #file: RangeFile;
  #metadata: Promise<FileMetaData> | null = null;
  #short: Promise<readonly SearchRow[]> | null = null;
  #searched: Promise<readonly SearchRow[]> | null = null;

  constructor(run: string, listed: ListedLedger) {
    this.run = run;
    this.#listed = listed;
    this.#file = new RangeFile(listed);
  }

  shortRows(): Promise<readonly SearchRow[]> {
    this.#short ??= this.#rows(short).then((rows) =>
      rows.map((row) => ({ ...row, prompt: '', completion: '' }) as unknown as SearchRow),
    );
    return this.#short;
  }

  searchedRows(): Promise<readonly SearchRow[]> {
    this.#searched ??= Promise.all([this.shortRows(), this.#rows(texts)]).then(([rows, own]) =>
      rows.map((row, i) => ({ ...row, ...own[i] })),
    );
    return this.#searched;
  }

  async textRows(ids: ReadonlySet<string>): Promise<readonly SearchRow[]> {
    const rows = await this.shortRows();
    const wanted = rows.flatMap(({ id }, i) => (ids.has(id) ? [i] : []));
    const found = await Promise.all(
      rangesOf(wanted).map(async ([from, to]) => {
        const own = await this.#rows(texts, from, to);
        return own.map((text, i) => ({ ...rows[from + i], ...text }));
      }),
    );
    return found.flat();
  }

  async group(id: string): Promise<readonly LedgerRow[] | null> {
    const places = (await this.#rows(['id', 'update', 'group'])) as Pick<LedgerRow, 'id' | 'update' | 'group'>[];
    const found = places.find((place) => place.id === id);
    if (found === undefined) return null;
    const isOfGroup = ({ update, group }: Pick<LedgerRow, 'update' | 'group'>) =>
      update === found.update && group === found.group;
    const rows = await this.#rows(names, places.findIndex(isOfGroup), places.findLastIndex(isOfGroup) + 1);
    return (rows as unknown as LedgerRow[]).filter(isOfGroup);
  }

  async #rows(columns: readonly string[], from = 0, to?: number): Promise<Record<string, unknown>[]> {
    const own = await this.#columns(columns, from, to);
    const count = own[columns[0]].length;
    return Array.from({ length: count }, (_, i) => {
      const row: Record<string, unknown> = { run: this.run };
      for (const name of columns) row[name] = own[name][i];
      return row;
    });
  }

  async #columns(columns: readonly string[], rowStart: number, to?: number): Promise<Columns> {
    this.#metadata ??= parquetMetadataAsync(this.#file, { initialFetchSize: 1 << 14 });
    const reading = this.#metadata;
    const metadata = await this.#whole(() => reading);
    const rowEnd = to ?? Number(metadata.num_rows);
    const found: Record<string, unknown[]> = Object.fromEntries(
      columns.map((name) => [name, new Array<unknown>(rowEnd - rowStart).fill(null)]),
    );
    await this.#whole(() =>
      parquetRead({
        file: this.#file,
        metadata,
        columns: [...columns],
        rowStart,
        rowEnd,
        useOffsetIndex: true,
        onChunk: ({ columnName, columnData, rowStart: start }) => {
          for (let i = 0; i < columnData.length; i++) {
            const at = start + i - rowStart;
            if (at >= 0 && at < rowEnd - rowStart) found[columnName][at] = columnData[i] ?? null;
          }
        },
      }),
    );
    return found;
  }

  /** What a damaged file gives is the complaint of whoever was reading it; the name of the file says more. */
  async #whole<Value>(read: () => Promise<Value>): Promise<Value> {
    try {
      return await read();
    } catch (error) {
      // Asked again, it is read again: what came may have been cut off on the way.
      this.#file = new RangeFile(this.#listed);
      this.#metadata = null;
      this.#short = null;
      this.#searched = null;
      if (error instanceof ServerError) throw error;
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(
        `${this.#listed.parquet} of this bundle cannot be read (${why}): copy it again, or make it again with gq view --to.`,
      );
    }
  }
}

/** Rows that are fewer than this apart are read together. */
const near = 16;

/** Ascending numbers as ranges [from, to). */
function rangesOf(indices: readonly number[]): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const index of indices) {
    const last = ranges.at(-1);
    if (last !== undefined && index - last[1] < near) last[1] = index + 1;
    else ranges.push([index, index + 1]);
  }
  return ranges;
}
