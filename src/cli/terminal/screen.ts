/**
 * A stream that a person reads. What is written is made visible, so no character of a completion, a file name or a plugin reaches the
 * terminal as a command; only `control` sends sequences that the terminal obeys, and only this folder calls it.
 */
import { visible } from '../../base/index.ts';
import type { TextSink } from '../command.ts';

/** What may be known of a stream beside how to write to it. */
export interface ScreenStream extends TextSink {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

const usualColumns = 80;

/** The columns of a stream; 80 when it does not say. */
export function screenWidth({ columns }: ScreenStream): number {
  return columns !== undefined && columns > 0 ? columns : usualColumns;
}

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

  /** The width of the window now. */
  get columns(): number {
    return screenWidth(this.#stream);
  }

  /** What a line may have before it is wrapped or cut: the width of a window; in a file, lines are whole. */
  get lineWidth(): number {
    return this.#stream.isTTY === true ? this.columns : Number.POSITIVE_INFINITY;
  }

  /** The height of the window now; without one, lines are not limited. */
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

  /** Sends a sequence that the terminal obeys; nothing on other streams. */
  control(sequence: string): void {
    if (this.isTTY) this.#stream.write(sequence);
  }
}

/** Moves to the start of the line and clears what follows on it. */
const clearLine = '\r\u001b[K';

/** Moves up to the start of an earlier line and clears everything from there on. */
export function clearUp(lines: number): string {
  return lines > 0 ? `\u001b[${lines}A\r\u001b[J` : '\r\u001b[J';
}
