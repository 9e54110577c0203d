/** Progress on stderr: one line that is rewritten on a terminal, else a plain line now and then. Never on stdout. */
import { cutText, textWidth, visibleLine } from '../../base/index.ts';
import type { TextSink } from '../command.ts';
import { Screen } from './screen.ts';

const plainEveryMs = 5_000;
const rewriteEveryMs = 100;

export class Progress {
  readonly #screen: Screen;
  readonly #what: string;
  readonly #total: number;
  readonly #start = Date.now();
  #last = Date.now();
  /** The width of the line that is on the screen. */
  #shown = 0;

  constructor(sink: TextSink, what: string, total: number) {
    this.#screen = Screen.of(sink);
    this.#what = what;
    this.#total = total;
  }

  show(done: number): void {
    const now = Date.now();
    const terminal = this.#screen.isTTY;
    if (done < this.#total && now - this.#last < (terminal ? rewriteEveryMs : plainEveryMs)) return;
    this.#last = now;
    const perSecond = (done * 1000) / Math.max(1, now - this.#start);
    const line = visibleLine(`${this.#what} ${done}/${this.#total}, ${perSecond.toFixed(0)}/s`);
    const shown = terminal ? cutText(line, this.#screen.columns - 1) : line;
    this.#screen.clearLast(this.#shown);
    this.#screen.write(`${shown}${terminal && done < this.#total ? '' : '\n'}`);
    this.#shown = textWidth(shown);
  }
}
