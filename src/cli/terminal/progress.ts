/** Progress on stderr: one line that is rewritten on a terminal, else a plain line now and then. Never on stdout. */
import { cutText, visibleLine } from '../../base/index.ts';
import type { TextSink } from '../command.ts';
import { clearLine, Screen } from './screen.ts';

const plainEveryMs = 5_000;
const rewriteEveryMs = 100;

export class Progress {
  readonly #screen: Screen;
  readonly #what: string;
  readonly #total: number;
  readonly #start = Date.now();
  #last = Date.now();

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
    this.#screen.control(clearLine);
    const end = terminal && done < this.#total ? '' : '\n';
    this.#screen.write(`${terminal ? cutText(line, this.#screen.columns - 1) : line}${end}`);
  }
}
