/** The rollouts of a run as one Parquet file of which a page can read parts: few row groups, small pages, and an index of the pages. */
import type { LedgerRow } from './api.ts';
import { ledgerColumns } from './ledger-columns.ts';

const rowsPerGroup = 4096;
/** Bytes of a page before it is compressed: about what is read for one rollout, for each of its long columns. */
const pageSize = 1 << 15;

export async function ledgerParquet(rows: readonly LedgerRow[]): Promise<Buffer> {
  const { ByteWriter, parquetWriteRows } = await import('hyparquet-writer');
  const writer = new ByteWriter();
  const columns = Object.entries(ledgerColumns).map(([name, type]) => ({ name, type, nullable: true }));
  await parquetWriteRows({ writer, rows, columns, rowGroupSize: rowsPerGroup, pageSize, statistics: false });
  return Buffer.from(writer.getBytes());
}
