/** Progress on stderr: one line that is rewritten on a terminal, else a plain line now and then. Never on stdout. */
import type { TextSink } from '../command.ts';

const plainEveryMs = 5_000;
const rewriteEveryMs = 100;

export class Progress {
  readonly #sink: TextSink & { readonly isTTY?: boolean };
  readonly #what: string;
  readonly #total: number;
  readonly #start = Date.now();
  #last = Date.now();

  constructor(sink: TextSink, what: string, total: number) {
    this.#sink = sink;
    this.#what = what;
    this.#total = total;
  }

  show(done: number): void {
    const now = Date.now();
    const terminal = this.#sink.isTTY === true;
    if (done < this.#total && now - this.#last < (terminal ? rewriteEveryMs : plainEveryMs)) return;
    this.#last = now;
    const perSecond = (done * 1000) / Math.max(1, now - this.#start);
    const line = `${this.#what} ${done}/${this.#total}, ${perSecond.toFixed(0)}/s`;
    this.#sink.write(terminal ? `\r\u001b[K${line}${done === this.#total ? '\n' : ''}` : `${line}\n`);
  }
}
