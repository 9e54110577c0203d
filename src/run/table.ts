/**
 * Tables of rows, as JSON lines while they grow and as Parquet once they are sealed; readers take either form. Columns of
 * type JSON hold arrays and objects. The Parquet packages are loaded where one is read or written: most commands do neither.
 */
import { closeSync, existsSync, fsyncSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ColumnData } from 'hyparquet';
import type { BasicType } from 'hyparquet-writer';
import { UserError } from '../base/index.ts';
import { openToRead, openToWrite, readJsonl, syncDirectory, systemComplaint } from '../base/node/index.ts';
import { damagedFile } from './checksums.ts';
import { expectSealed } from './seal.ts';

export type TableColumns<Row> = { readonly [Name in keyof Row]-?: BasicType };

const rowsPerRead = 4096;

/** Writes `path`.parquet from `path`.jsonl, whole or not at all. The lines stay. */
export async function sealTable<Row>(path: string, columns: TableColumns<Row>, format: number): Promise<void> {
  const { fileWriter, parquetWriteRows } = await import('hyparquet-writer');
  const temporary = `${path}.parquet.tmp`;
  // The writer opens this name itself, and would follow a link.
  await rm(temporary, { force: true });
  await parquetWriteRows({
    writer: fileWriter(temporary),
    rows: readJsonl(`${path}.jsonl`) as AsyncIterable<Record<string, unknown>>,
    columns: Object.entries(columns).map(([name, type]) => ({ name, type: type as BasicType, nullable: true })),
    rowGroupSize: rowsPerRead,
    kvMetadata: [{ key: 'gradient-quarantine.format', value: `${format}` }],
  });
  const file = openToWrite(temporary, 'change');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  await rename(temporary, `${path}.parquet`);
  syncDirectory(dirname(path));
}

/** Deletes the lines if their Parquet form is on disk. */
export async function dropLines(path: string): Promise<void> {
  if (existsSync(`${path}.parquet`)) await rm(`${path}.jsonl`, { force: true });
}

/** What the Parquet reader throws at damaged bytes names no file: errors of ranges, of types, of the system. */
async function readWhole<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const { found, fix } = systemComplaint(cause) ?? {
      found: cause instanceof Error ? cause.message : String(cause),
      fix: 'The file is damaged: restore it from a copy, or make the run again.',
    };
    const complaint = {
      call: `read ${path}`,
      expected: 'a whole Parquet file',
      found,
      ...(fix === undefined ? {} : { fix }),
    };
    throw new UserError(complaint, { cause });
  }
}

/** Rows of `path`.parquet, whose bytes must be those that were sealed, or of `path`.jsonl, in order. */
export async function* readTable<Row>(path: string): AsyncGenerator<Row> {
  if (!hasParquet(path)) {
    for await (const row of readJsonl(`${path}.jsonl`)) yield row as Row;
    return;
  }
  for await (const { rows, values } of readParquet(`${path}.parquet`)) {
    const columns = Object.entries(values);
    for (let i = 0; i < rows; i++) yield Object.fromEntries(columns.map(([name, own]) => [name, own[i]])) as Row;
  }
}

/** Some rows of a table, as columns. */
export interface ColumnBlock<Row> {
  readonly rows: number;
  readonly values: { readonly [Name in keyof Row]: readonly Row[Name][] };
}

/** The named columns of a sealed table, in blocks: the quick way to a few values of many rows. */
export async function* readColumns<Row extends object>(
  path: string,
  names: readonly (keyof Row & string)[],
): AsyncGenerator<ColumnBlock<Row>> {
  expectSealed(`${path}.parquet`);
  yield* readParquet(`${path}.parquet`, names) as AsyncGenerator<ColumnBlock<Row>>;
}

/** Whether the table is sealed. Refuses one that is missing, or that was changed. */
function hasParquet(path: string): boolean {
  if (expectSealed(`${path}.parquet`)) return true;
  if (existsSync(`${path}.jsonl`)) return false;
  if (!existsSync(`${path}.parquet`)) throw damagedFile(path, 'a .parquet or a .jsonl file', 'neither');
  throw damagedFile(`${path}.parquet`, 'a seal.json beside it that has its hash', 'none');
}

type AnyBlock = ColumnBlock<Record<string, unknown>>;

async function* readParquet(path: string, names?: readonly string[]): AsyncGenerator<AnyBlock> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetRead } = await import('hyparquet');
  const { file, metadata } = await readWhole(path, async () => {
    // The reader opens this name itself, and would wait for a pipe.
    closeSync(openToRead(path));
    const opened = await asyncBufferFromFile(path);
    return { file: opened, metadata: await parquetMetadataAsync(opened) };
  });
  const stored = metadata.schema.slice(1).map(({ name }) => name);
  const columns = names === undefined ? stored : stored.filter((name) => names.includes(name));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const start = rowStart;
    const rows = Number(group.num_rows);
    // What the reader does not tell of is null: a value that is absent, a column that an earlier version did not write.
    const values = emptyColumns(names ?? stored, rows);
    const onChunk = ({ columnName, columnData, rowStart: first }: ColumnData): void => {
      const own = values[columnName];
      for (let i = 0; i < columnData.length; i++) own[first - start + i] = columnData[i] ?? null;
    };
    await readWhole(path, () =>
      parquetRead({ file, metadata, columns, rowStart: start, rowEnd: start + rows, onChunk }),
    );
    yield { rows, values };
    rowStart += rows;
  }
}

function emptyColumns(names: readonly string[], length: number): Record<string, unknown[]> {
  return Object.fromEntries(names.map((name) => [name, new Array<unknown>(length).fill(null)]));
}
