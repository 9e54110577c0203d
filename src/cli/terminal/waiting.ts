/** Says on stderr what a command is busy with, but only if that takes long. */
import type { TextSink } from '../command.ts';

const firstMs = 2_000;
const everyMs = 5_000;

export class Waiting implements Disposable {
  readonly #sink: TextSink;
  readonly #every: number;
  #timer: NodeJS.Timeout;
  #what = '';

  constructor(sink: TextSink, { first = firstMs, every = everyMs } = {}) {
    this.#sink = sink;
    this.#every = every;
    this.#timer = this.#after(first);
  }

  /** Sets what is being done now. */
  on(what: string): void {
    this.#what = what;
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#sink.write(`${this.#what}\n`);
      this.#timer = this.#after(this.#every);
    }, milliseconds);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}
