/** Tables and figures whose cells are their texts alone, as a reader sees them. */

import { type Table, type TextTable, textOf } from '../../src/measure/table.ts';
import type { Figure } from '../../src/report/chart.ts';

type PlainFigure = Figure & { readonly data: { readonly rows: readonly (readonly string[])[] } };

export function plain(shown: Table): TextTable;
export function plain(shown: readonly Table[]): TextTable[];
export function plain(shown: Figure | undefined): PlainFigure | undefined;
export function plain(shown: readonly Figure[]): PlainFigure[];
export function plain(shown: Table | Figure | undefined | readonly (Table | Figure)[]): unknown {
  if (shown === undefined) return undefined;
  if (Array.isArray(shown)) return shown.map((one) => plain(one));
  const one = shown as Table | Figure;
  const texts = (rows: Table['rows']): string[][] => rows.map((row) => row.map(textOf));
  return 'panels' in one
    ? { ...one, data: { ...one.data, rows: texts(one.data.rows) } }
    : { ...one, rows: texts(one.rows) };
}
