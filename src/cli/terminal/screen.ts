/** A stream that a person reads: what is written is made visible, so that no completion can command a terminal. */
import { padText, textWidth, visible, visibleLine, wrapText } from '../../base/index.ts';
import type { Check } from '../../verify/index.ts';
import type { TextSink } from '../command.ts';

export interface ScreenStream extends TextSink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

const usualColumns = 80;

export const screenWidth = ({ columns }: ScreenStream): number =>
  columns !== undefined && columns > 0 ? columns : usualColumns;

export class Screen implements TextSink {
  readonly #stream: ScreenStream;

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

  /** Clears the line of the cursor, on which a text of this width was written; in a window that became narrower it takes rows. */
  clearLast(width: number): void {
    const rows = Math.max(1, Math.ceil(width / this.columns));
    this.control(rows === 1 ? clearLine : clearUp(rows - 1));
  }

  control(sequence: string): void {
    if (this.isTTY) this.#stream.write(sequence);
  }
}

/** Moves to the start of the line and clears what follows on it. */
const clearLine = '\r\u001b[K';

/** Moves up to the start of an earlier line and clears everything from there on. */
export const clearUp = (lines: number): string => (lines > 0 ? `\u001b[${lines}A\r\u001b[J` : '\r\u001b[J');

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
