/** Progress on stderr: one line that is rewritten on a terminal, else a plain line now and then. Never on stdout. */
import { cutText, textWidth, visibleLine } from '../../base/index.ts';
import type { TextSink } from '../command.ts';
import { Screen } from './screen.ts';
import { formatDuration } from './step-table.ts';

const plainEveryMs = 5_000;
const rewriteEveryMs = 100;

export class Progress {
  readonly #screen: Screen;
  readonly #what: string;
  readonly #total: number;
  // Not the time of day, which may go back.
  readonly #start = performance.now();
  #last = this.#start;
  /** The width of the line that is on the screen. */
  #shown = 0;

  constructor(sink: TextSink, what: string, total: number) {
    this.#screen = Screen.of(sink);
    this.#what = what;
    this.#total = total;
  }

  show(done: number): void {
    const now = performance.now();
    const terminal = this.#screen.isTTY;
    if (done < this.#total && now - this.#last < (terminal ? rewriteEveryMs : plainEveryMs)) return;
    this.#last = now;
    const line = visibleLine(`${this.#what} ${shortNumber(done)}/${this.#total}${this.#pace(done, now)}`);
    const shown = terminal ? cutText(line, this.#screen.columns - 1) : line;
    this.#screen.clearLast(this.#shown);
    this.#screen.write(`${shown}${terminal && done < this.#total ? '' : '\n'}`);
    this.#shown = textWidth(shown);
  }

  /** How fast it goes, and how long the rest takes at that pace; nothing before the first is done. */
  #pace(done: number, now: number): string {
    const perSecond = (done * 1000) / Math.max(1, now - this.#start);
    if (done === 0) return '';
    const left = done < this.#total ? `, about ${formatDuration((this.#total - done) / perSecond)} left` : '';
    return `, ${shortNumber(perSecond)}/s${left}`;
  }
}

/** A whole number where it has two digits or more, else two digits in all. */
function shortNumber(value: number): string {
  return Number.isInteger(value) || value >= 10 ? value.toFixed(0) : `${Number(value.toPrecision(2))}`;
}
