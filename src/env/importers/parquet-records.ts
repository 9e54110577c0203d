/**
 * Rows of a Parquet file as records of JSON. Integers of 64 bits become numbers, or text where a number would not be exact; a null
 * counts as an absent field, since Parquet has no other way to leave one out.
 */
import { gunzipSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { messageOf, UserError } from '../../base/index.ts';

const plainJson = (_: string, value: unknown): unknown => {
  if (value === null) return undefined;
  if (typeof value !== 'bigint') return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : `${value}`;
};

/** The rows as texts of JSON. `mostBytes`: how much the columns may hold, unpacked. */
export async function readParquetTexts(bytes: Uint8Array, path: string, mostBytes: number): Promise<string[]> {
  const call = `read ${path}`;
  const file = Uint8Array.from(bytes).buffer;
  try {
    const metadata = parquetMetadata(file);
    const columns = metadata.row_groups.flatMap((group) => group.columns);
    const size = columns.reduce((sum, { meta_data: own }) => sum + Number(own?.total_uncompressed_size ?? 0), 0);
    if (size > mostBytes) {
      const expected = `at most ${mostBytes >> 20} MiB of columns`;
      throw new UserError({
        call,
        expected,
        found: `${Math.floor(size / 2 ** 20)} MiB`,
        fix: 'Split the file into parts.',
      });
    }
    const compressors = { GZIP: (packed: Uint8Array, most: number) => gunzipSync(packed, { maxOutputLength: most }) };
    const rows = await parquetReadObjects({ file, metadata, compressors });
    return rows.map((row) => JSON.stringify(row, plainJson));
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const found = messageOf(cause);
    throw new UserError({ call, expected: 'a whole Parquet file, packed by snappy, gzip or not', found }, { cause });
  }
}
