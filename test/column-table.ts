/** Columns of a run's tables as a table of docs/run-directory.md. */
import type { Columns, ColumnType } from '../src/run/columns/column.ts';

/** The declaration as a table of the documentation. */
export function columnTable(columns: Columns): string {
  const rows = Object.entries(columns).map(([name, { type, nullable, meaning }]) => [
    `\`${name}\``,
    `${typeWords[type]}${nullable ? ' or null' : ''}`,
    meaning,
  ]);
  return markdownTable([['column', 'type', 'meaning'], ...rows]);
}

const typeWords: Readonly<Record<ColumnType, string>> = {
  STRING: 'text',
  INT32: 'whole number',
  DOUBLE: 'number',
  BOOLEAN: 'boolean',
  JSON: 'JSON',
};

function markdownTable([head, ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i].length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
