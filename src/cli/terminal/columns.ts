/** Cells as aligned lines. Where a row does not fit the window, the widest columns become narrower and their cells are wrapped. */
import { padText, textWidth, visibleLine, wrapText } from '../../base/index.ts';

const gap = '  ';
const leastWidth = 8;

export function alignRows(rows: readonly (readonly string[])[], width: number): string[] {
  const shown = rows.map((cells) => cells.map(visibleLine));
  const widths = fittedWidths(shown, width);
  return shown.flatMap((cells) => {
    const wrapped = cells.map((cell, column) => wrapText(cell, widths[column]).split('\n'));
    const height = Math.max(...wrapped.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      wrapped
        .map((lines, column) => padText(lines[line] ?? '', widths[column]))
        .join(gap)
        .trimEnd(),
    );
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
