/** A stream that a person reads: what is written is made visible, so that no completion can command a terminal. */
import { cutText, padText, readWhole, textWidth, visible, visibleLine, wrapText } from '../../base/index.ts';
import type { Check } from '../../verify/index.ts';
import type { TextSink } from '../command.ts';

export interface ScreenStream extends TextSink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

const usualColumns = 80;
const leastColumns = 40;
/** More than any line has; what is padded to it stays small. */
const mostColumns = 10_000;

/** That of the window; of what is no terminal, COLUMNS. */
export function screenWidth({ columns, isTTY }: ScreenStream): number {
  if (columns !== undefined && columns > 0) return columns;
  const asked = isTTY === true ? null : readWhole(process.env['COLUMNS'] ?? '', leastColumns);
  return asked === null ? usualColumns : Math.min(asked, mostColumns);
}

export class Screen implements TextSink {
  readonly #stream: ScreenStream;
  /** Widths of the lines at the foot; the cursor stands below them. */
  #foot: readonly number[] = [];

  private constructor(stream: ScreenStream) {
    this.#stream = stream;
  }

  static of(stream: ScreenStream): Screen {
    return stream instanceof Screen ? stream : new Screen(stream);
  }

  /** Whether it obeys sequences; a terminal that is called dumb does not. */
  get isTTY(): boolean {
    return this.#stream.isTTY === true && process.env['TERM'] !== 'dumb';
  }

  get columns(): number {
    return screenWidth(this.#stream);
  }

  /** What a line may have before it is wrapped or cut: the width of a window; in a file, lines are whole. */
  get lineWidth(): number {
    return this.#stream.isTTY === true ? this.columns : Number.POSITIVE_INFINITY;
  }

  get rows(): number {
    const { rows } = this.#stream;
    return rows !== undefined && rows > 0 ? rows : Number.POSITIVE_INFINITY;
  }

  write(text: string): unknown {
    return this.#stream.write(visible(text));
  }

  /** Leaves the lines at the foot as they are. */
  endFoot(): void {
    this.#foot = [];
  }

  /** Draws lines below everything else, in place of those that it drew there last; nothing where lines cannot be drawn again. */
  drawFoot(lines: readonly string[]): void {
    if (!this.isTTY) return;
    // The last column stays free, because some terminals begin a new row when it is written.
    const shown = lines.map((line) => cutText(line, this.columns - 1).trimEnd());
    // In a window that became narrower, a line takes several rows.
    const rows = this.#foot.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / this.columns)), 0);
    if (rows > 0) this.#stream.write(`\u001b[${rows}A\r\u001b[J`);
    this.#foot = shown.map(textWidth);
    this.write(shown.map((line) => `${line}\n`).join(''));
  }
}

const gap = '  ';
const leastWidth = 8;

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

const formatDifference = (value: number): string =>
  value === 0 ? '0' : Number.isFinite(value) ? value.toExponential(2) : 'none';

function differences({ statement, maxAbs, maxRel, bound }: Check): readonly string[] {
  if (statement) return ['', '', ''];
  return [formatDifference(maxAbs), formatDifference(maxRel), bound === 0 ? 'exact' : `${bound}`];
}

function problemLines({ pass, problem = '' }: Check, width: number): string[] {
  if (pass || problem === '') return [];
  return wrapText(visibleLine(problem), width - indent.length)
    .split('\n')
    .map((line) => `${indent}${line}`);
}

export function renderChecks(checks: readonly Check[], title: string, width: number): string {
  const compares = checks.some(({ statement }) => statement !== true);
  const header = ['case', 'quantity', ...(compares ? ['off by', 'relative', 'allowed'] : []), ''];
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
  const words =
    'off by: the largest difference between what was found and what is expected; relative: over the largest expected';
  const explained = compares ? wrapText(`${words}.`, width).split('\n') : [];
  return `${[...lines, ...explained, `${title}: ${verdict}.`].join('\n')}\n`;
}
