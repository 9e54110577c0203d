/**
 * A table as text of a limited width. Columns that do not fit follow in further blocks, each beginning with the columns that tell
 * rows apart (the first one, and more where it repeats), so nothing is left out; notes and titles are wrapped.
 */
import { padText, textWidth, visibleLine, wrapText } from '../base/index.ts';
import type { TextTable } from './table.ts';

const gap = '  ';
/** The share of a line that may tell rows apart: without these columns a row of a further block cannot be read at all. */
const mostForKeys = 3 / 4;

export function renderText({ title, columns, rows, notes = [] }: TextTable, width = Number.POSITIVE_INFINITY): string {
  const shown = [columns, ...rows].map((cells) => cells.map(visibleLine));
  const widths = columns.map((_, column) => Math.max(...shown.map((cells) => textWidth(cells[column]))));
  const blocks = blocksOf(widths, width, keyColumns(shown.slice(1), widths, mostForKeys * width)).map((block) => {
    const line = (cells: readonly string[]): string =>
      block
        .map((column) => padText(cells[column], widths[column]))
        .join(gap)
        .trimEnd();
    const [header, ...body] = shown.map(line);
    return [header, block.map((column) => '─'.repeat(widths[column])).join(gap), ...body].join('\n');
  });
  const wrapped = notes.map((note) => wrapText(note, width));
  return `${[wrapText(visibleLine(title), width), blocks.join('\n\n'), ...wrapped].join('\n')}\n`;
}

/** The first column, and those after it that are needed to tell rows apart, as far as they fit. */
function keyColumns(rows: readonly (readonly string[])[], widths: readonly number[], most: number): number[] {
  const distinct = (columns: readonly number[]): number =>
    new Set(rows.map((cells) => JSON.stringify(columns.map((column) => cells[column])))).size;
  const keys = [0];
  let used = widths[0];
  for (let column = 1; column < widths.length && distinct(keys) < rows.length; column++) {
    const own = gap.length + widths[column];
    if (used + own > most || distinct([...keys, column]) === distinct(keys)) continue;
    keys.push(column);
    used += own;
  }
  return keys;
}

/** The columns of each block. A block has at least one column beside its keys, however wide it is. */
function blocksOf(widths: readonly number[], width: number, keys: readonly number[]): number[][] {
  const blocks: number[][] = [[0]];
  let used = widths[0];
  for (let column = 1; column < widths.length; column++) {
    const own = gap.length + widths[column];
    const block = blocks[blocks.length - 1];
    if (used + own <= width || block.length === 1) {
      block.push(column);
      used += own;
    } else {
      const repeated = keys.filter((key) => key !== column);
      blocks.push([...repeated, column]);
      used = repeated.reduce((sum, key) => sum + widths[key] + gap.length, 0) + widths[column];
    }
  }
  return blocks;
}
