/**
 * A table as text of a limited width. Columns that do not fit follow in further blocks, each beginning with the first column
 * again, so nothing is left out; notes and titles are wrapped.
 */
import { padText, textWidth, visibleLine, wrapText } from '../base/index.ts';
import type { Table } from './table.ts';

const gap = '  ';

export function renderText({ title, columns, rows, notes = [] }: Table, width = Number.POSITIVE_INFINITY): string {
  const shown = [columns, ...rows].map((cells) => cells.map(visibleLine));
  const widths = columns.map((_, column) => Math.max(...shown.map((cells) => textWidth(cells[column]))));
  const blocks = blocksOf(widths, width).map((block) => {
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

/** The columns of each block. A block has at least one column beside the first, however wide it is. */
function blocksOf(widths: readonly number[], width: number): number[][] {
  const blocks: number[][] = [[0]];
  let used = widths[0];
  for (let column = 1; column < widths.length; column++) {
    const own = gap.length + widths[column];
    const block = blocks[blocks.length - 1];
    if (used + own <= width || block.length === 1) {
      block.push(column);
      used += own;
    } else {
      blocks.push([0, column]);
      used = widths[0] + own;
    }
  }
  return blocks;
}
