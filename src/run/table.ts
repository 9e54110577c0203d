/**
 * Tables of rows, as JSON lines while they grow and as Parquet once they are sealed; readers take either form. Columns of
 * type JSON hold arrays and objects. The Parquet packages are loaded where one is read or written: most commands do neither.
 */
import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { BasicType } from 'hyparquet-writer';
import { UserError } from '../base/index.ts';
import { readJsonl, syncDirectory, systemComplaint } from '../base/node/index.ts';
import { damagedFile } from './checksums.ts';
import { expectSealed } from './seal.ts';

export type TableColumns<Row> = { readonly [Name in keyof Row]-?: BasicType };

const rowsPerRead = 4096;

/** Writes `path`.parquet from `path`.jsonl, whole or not at all. The lines stay. */
export async function sealTable<Row>(path: string, columns: TableColumns<Row>, format: number): Promise<void> {
  const { fileWriter, parquetWriteRows } = await import('hyparquet-writer');
  const temporary = `${path}.parquet.tmp`;
  await parquetWriteRows({
    writer: fileWriter(temporary),
    rows: readJsonl(`${path}.jsonl`) as AsyncIterable<Record<string, unknown>>,
    columns: Object.entries(columns).map(([name, type]) => ({ name, type: type as BasicType, nullable: true })),
    rowGroupSize: rowsPerRead,
    kvMetadata: [{ key: 'gradient-quarantine.format', value: `${format}` }],
  });
  {
    await using file = await open(temporary, 'r+');
    await file.sync();
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
  if (expectSealed(`${path}.parquet`)) yield* readParquet<Row>(`${path}.parquet`);
  else if (existsSync(`${path}.jsonl`)) for await (const row of readJsonl(`${path}.jsonl`)) yield row as Row;
  else if (existsSync(`${path}.parquet`)) {
    throw damagedFile(`${path}.parquet`, 'a seal.json beside it that has its hash', 'none');
  } else throw damagedFile(path, 'a .parquet or a .jsonl file', 'neither');
}

async function* readParquet<Row>(path: string): AsyncGenerator<Row> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import('hyparquet');
  const { file, metadata } = await readWhole(path, async () => {
    const opened = await asyncBufferFromFile(path);
    return { file: opened, metadata: await parquetMetadataAsync(opened) };
  });
  const rows = Number(metadata.num_rows);
  const names = metadata.schema.slice(1).map(({ name }) => name);
  for (let rowStart = 0; rowStart < rows; rowStart += rowsPerRead) {
    const rowEnd = Math.min(rows, rowStart + rowsPerRead);
    const read = () => parquetReadObjects({ file, metadata, rowStart, rowEnd });
    for (const row of await readWhole(path, read)) {
      for (const name of names) row[name] ??= null;
      yield row as Row;
    }
  }
}
