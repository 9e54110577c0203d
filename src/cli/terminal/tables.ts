/** Rows of cells for a window, and checks as such rows or as JSON. */
import { padText, textWidth, visibleLine, wrapText } from '../../base/index.ts';
import type { Check } from '../../verify/index.ts';

const gap = '  ';
const leastWidth = 8;

/** One text a row, aligned. Where rows do not fit, the widest columns become narrower and their cells are wrapped to several lines. */
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

const indent = '    ';

function formatDifference(value: number): string {
  return value === 0 ? '0' : Number.isFinite(value) ? value.toExponential(2) : 'none';
}

function differences({ statement, maxAbs, maxRel, bound }: Check): readonly string[] {
  if (statement) return ['', '', ''];
  return [formatDifference(maxAbs), formatDifference(maxRel), bound === 0 ? 'exact' : `${bound}`];
}

/** What is wrong, below the row of its check. */
function problemLines({ pass, problem = '' }: Check, width: number): string[] {
  if (pass || problem === '') return [];
  return wrapText(visibleLine(problem), width - indent.length)
    .split('\n')
    .map((line) => `${indent}${line}`);
}

/** A table of checks, with the number of failures in the last line. Statements have nothing to compare, and no columns for it. */
export function renderChecks(checks: readonly Check[], title: string, width: number): string {
  const compares = checks.some(({ statement }) => statement !== true);
  const header = ['case', 'quantity', ...(compares ? ['max abs', 'max rel', 'bound'] : []), ''];
  const rows = checks.map((check) => [
    check.case,
    check.quantity,
    ...(compares ? differences(check) : []),
    check.pass ? 'pass' : 'FAIL',
  ]);
  const [head, ...aligned] = alignRows([header, ...rows], width);
  const lines = [head, ...aligned.flatMap((row, i) => [row, ...problemLines(checks[i], width)])];
  const failed = checks.filter(({ pass }) => !pass).length;
  const verdict = failed === 0 ? `all ${checks.length} checks pass` : `${failed} of ${checks.length} checks FAIL`;
  return `${[...lines, `${title}: ${verdict}.`].join('\n')}\n`;
}

/** A report as JSON. JSON has no infinity, so an infinite difference is written as the string "Infinity". */
export function checksJson(report: object): string {
  const finite = (_key: string, value: unknown): unknown =>
    typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
  return `${JSON.stringify(report, finite, 2)}\n`;
}
