/** The columns of a run's tables and their readers, without anything that needs Node: the viewer's page imports it too. */
export {
  type Columns,
  columnsFrom,
  fieldColumns,
  long,
  makeRow,
  type RowOf,
  type ShortName,
} from './column.ts';
export {
  blockRows,
  type ColumnBlock,
  type LineGrowth,
  LinesTable,
  ParquetTable,
  type RowRange,
  type TableReader,
} from './readers.ts';
export { type LedgerEntry, type RolloutRow, rolloutColumns } from './rollouts.ts';
