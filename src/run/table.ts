/** Tables of a run on disk: JSON lines while they grow, Parquet once sealed. Parquet code is loaded when needed. */
import { closeSync, existsSync, fsyncSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { followJsonl, openToRead, openToWrite, readJsonl, syncDirectory, systemComplaint } from '../base/node/index.ts';
import { damagedFile, expectSealed } from './checksums.ts';
import { type Columns, LinesTable, ParquetTable, type TableReader } from './columns/index.ts';
import { runFormat } from './manifest.ts';

const rowsPerGroup = 4096;
/** Bytes of a page before it is compressed: about what is read for one rollout, of each of its long columns. */
const pageBytes = 1 << 15;

export async function sealTable(path: string, columns: Columns): Promise<void> {
  const { fileWriter, parquetWriteRows } = await import('hyparquet-writer');
  const temporary = `${path}.parquet.tmp`;
  // The writer opens this name itself, and would follow a link.
  await rm(temporary, { force: true });
  await parquetWriteRows({
    writer: fileWriter(temporary),
    rows: readJsonl(`${path}.jsonl`) as AsyncIterable<Record<string, unknown>>,
    // Lines of an earlier version may lack any column.
    columns: Object.entries(columns).map(([name, { type }]) => ({ name, type, nullable: true })),
    rowGroupSize: rowsPerGroup,
    pageSize: pageBytes,
    kvMetadata: [{ key: 'gradient-quarantine.format', value: `${runFormat}` }],
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

export async function dropLines(path: string): Promise<void> {
  if (existsSync(`${path}.parquet`)) await rm(`${path}.jsonl`, { force: true });
}

export async function openTable<Row>(path: string): Promise<TableReader<Row>> {
  const sealed = `${path}.parquet`;
  if (await expectSealed(sealed)) return new ParquetTable<Row>(sealed, () => openParquet(sealed), systemComplaint);
  if (existsSync(`${path}.jsonl`)) {
    return new LinesTable<Row>(() => {
      const follower = followJsonl(`${path}.jsonl`);
      return () => follower.read();
    });
  }
  if (!existsSync(sealed)) throw damagedFile(path, 'a .parquet or a .jsonl file', 'neither');
  throw damagedFile(sealed, 'a seal.json beside it that has its hash', 'none');
}

async function openParquet(path: string) {
  const { asyncBufferFromFile } = await import('hyparquet');
  // The reader opens this name itself, and would wait for a pipe.
  closeSync(openToRead(path));
  return asyncBufferFromFile(path);
}
