/** Rows of cells, aligned. Where they do not fit the window, the widest columns become narrower and their cells are wrapped. */
import { padText, textWidth, visibleLine, wrapText } from '../../base/index.ts';

const gap = '  ';
const leastWidth = 8;

/** One text a row; it has several lines where a cell is wrapped. */
export function alignRows(rows: readonly (readonly string[])[], width: number): string[] {
  const shown = rows.map((cells) => cells.map(visibleLine));
  const widths = fittedWidths(shown, width);
  return shown.map((cells) => {
    const wrapped = cells.map((cell, column) => wrapText(cell, widths[column]).split('\n'));
    const height = Math.max(...wrapped.map(({ length }) => length));
    const lines = Array.from({ length: height }, (_, line) =>
      wrapped.map((own, column) => padText(own[line] ?? '', widths[column])).join(gap),
    );
    return lines.map((line) => line.trimEnd()).join('\n');
  });
}

function fittedWidths(rows: readonly (readonly string[])[], width: number): number[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((cells) => textWidth(cells[column]))));
  const excess = (): number => widths.reduce((sum, own) => sum + own, gap.length * (widths.length - 1)) - width;
  while (excess() > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    if (widths[widest] <= leastWidth) break;
    widths[widest]--;
  }
  return widths;
}
