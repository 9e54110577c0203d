/** What a command says on stderr while it works: how far it is, what takes long, and notices. Never on stdout. */
import { visibleLine } from '../../base/index.ts';
import type { Warn } from '../../lab/index.ts';
import type { CommandContext, TextSink } from '../command.ts';
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

  constructor(sink: TextSink, what: string, total: number) {
    this.#screen = Screen.of(sink);
    this.#what = what;
    this.#total = total;
  }

  static from(sink: TextSink, what: string): (done: number, of: number) => void {
    let bar: Progress | null = null;
    return (done, of) => {
      bar ??= new Progress(sink, what, of);
      bar.show(done);
    };
  }

  /** For work that is over soon and whose answer says enough: nothing in a file, and nothing is left on a terminal. */
  static passing(sink: TextSink, what: string, total: number): (done: number) => void {
    const bar = new Progress(sink, what, total);
    if (!bar.#screen.isTTY) return () => undefined;
    return (done) => (done < total ? bar.show(done) : bar.#screen.drawFoot([]));
  }

  show(done: number): void {
    const now = performance.now();
    const terminal = this.#screen.isTTY;
    if (done < this.#total && now - this.#last < (terminal ? rewriteEveryMs : plainEveryMs)) return;
    this.#last = now;
    const line = visibleLine(`${this.#what} ${shortNumber(done)}/${this.#total}${this.#pace(done, now)}`);
    this.#screen.drawFoot([line]);
    if (!terminal) this.#screen.write(`${line}\n`);
    else if (done >= this.#total) this.#screen.endFoot();
  }

  #pace(done: number, now: number): string {
    const perSecond = (done * 1000) / Math.max(1, now - this.#start);
    if (done === 0) return '';
    const left = done < this.#total ? `, about ${formatDuration((this.#total - done) / perSecond)} left` : '';
    return `, ${shortNumber(perSecond)}/s${left}`;
  }
}

const shortNumber = (value: number): string =>
  Number.isInteger(value) || value >= 10 ? value.toFixed(0) : `${Number(value.toPrecision(2))}`;

const firstMs = 2_000;
const everyMs = 5_000;

export class Waiting implements Disposable {
  readonly #sink: TextSink;
  readonly #every: number;
  #timer: NodeJS.Timeout;
  #due: number;
  #what = '';
  #said = '';

  constructor(sink: TextSink, { first = firstMs, every = everyMs } = {}) {
    this.#sink = sink;
    this.#every = every;
    this.#due = performance.now() + first;
    this.#timer = this.#after(first);
  }

  /** Work that gives timers no turn is told of here, when it is due. */
  on(what: string): void {
    this.#what = what;
    if (performance.now() >= this.#due) this.#say();
  }

  #say(): void {
    clearTimeout(this.#timer);
    if (this.#what !== this.#said) this.#sink.write(`${visibleLine(this.#what)}\n`);
    this.#said = this.#what;
    this.#due = performance.now() + this.#every;
    this.#timer = this.#after(this.#every);
  }

  #after(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#say(), milliseconds);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

export function tellOn({ stderr }: Pick<CommandContext, 'stderr'>): Warn {
  return ({ message }) => {
    stderr.write(`${visibleLine(message)}\n`);
  };
}
