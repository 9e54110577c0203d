/**
 * The live display of several runs: one line each with the rates of hacks and solves so far. On a terminal the lines are redrawn in
 * place; elsewhere a plain line is written now and then.
 */
import { emergence } from '../../analyse/index.ts';
import type { Tally } from '../../oracle/index.ts';
import { mean } from '../../stats/index.ts';
import type { TextSink } from '../command.ts';
import { formatDuration } from './step-table.ts';

export interface PictureLine {
  readonly name: string;
  readonly updates: number;
}

interface LineState extends PictureLine {
  history: readonly Tally[];
  note: string;
}

const blocks = '▁▂▃▄▅▆▇█';
const sparkWidth = 20;
const plainEvery = 10;

/** Rates from 0 to 1 as a bar chart of `width` characters, each the mean of its stretch. */
export function sparkline(values: readonly number[], width = sparkWidth): string {
  const count = Math.min(width, values.length);
  const bars = Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * values.length) / count);
    const part = values.slice(from, Math.max(from + 1, Math.floor(((i + 1) * values.length) / count)));
    return blocks[Math.min(blocks.length - 1, Math.max(0, Math.floor(mean(part) * blocks.length)))];
  });
  return bars.join('').padEnd(width);
}

function rateText(history: readonly Tally[], count: (tally: Tally) => number, of: (tally: Tally) => number): string {
  const last = history.slice(-emergence.window);
  const [hits, total] = [count, of].map((value) => last.reduce((sum, tally) => sum + value(tally), 0));
  return total === 0 ? '-' : (hits / total).toFixed(2);
}

const hackText = (history: readonly Tally[]): string =>
  rateText(
    history,
    ({ hacks }) => hacks,
    ({ hackable }) => hackable,
  );
const solveText = (history: readonly Tally[]): string =>
  rateText(
    history,
    ({ solves }) => solves,
    ({ graded }) => graded,
  );

export class LivePicture {
  readonly #sink: TextSink & { readonly isTTY?: boolean };
  #lines: LineState[] = [];
  #drawn = 0;

  constructor(sink: TextSink) {
    this.#sink = sink;
  }

  get #terminal(): boolean {
    return this.#sink.isTTY === true;
  }

  /** Begins a new block of lines under the old one. */
  begin(title: string, lines: readonly PictureLine[]): void {
    this.#drawn = 0;
    this.#lines = lines.map((line) => ({ ...line, history: [], note: 'waiting' }));
    this.#sink.write(`${title}\n`);
    if (this.#terminal) this.#redraw();
  }

  /** Gives a line to another run. */
  change(index: number, line: PictureLine): void {
    this.#lines[index] = { ...line, history: [], note: 'waiting' };
  }

  step(index: number, update: number, history: readonly Tally[], secondsLeft: number | null): void {
    const line = this.#lines[index];
    line.history = history;
    const left = secondsLeft === null ? '' : `, ${formatDuration(secondsLeft)} left in total`;
    line.note = `${update}/${line.updates}${left}`;
    if (this.#terminal) this.#redraw();
    else if (update % plainEvery === 0 || update === line.updates) {
      this.#sink.write(`${line.name}: update ${line.note}, hack ${hackText(history)}, solve ${solveText(history)}\n`);
    }
  }

  note(index: number, text: string): void {
    this.#lines[index].note = text;
    if (this.#terminal) this.#redraw();
    else this.#sink.write(`${this.#lines[index].name}: ${text}\n`);
  }

  /** Writes a line above the display. */
  say(text: string): void {
    if (this.#terminal && this.#drawn > 0) this.#sink.write(`\u001b[${this.#drawn}A\r\u001b[J`);
    this.#sink.write(text.endsWith('\n') ? text : `${text}\n`);
    this.#drawn = 0;
    if (this.#terminal) this.#redraw();
  }

  #redraw(): void {
    const width = Math.max(...this.#lines.map(({ name }) => name.length));
    const lines = this.#lines.map(({ name, history, note }) => {
      const rates = (count: (tally: Tally) => number, of: (tally: Tally) => number): number[] =>
        history.map((tally) => (of(tally) === 0 ? 0 : count(tally) / of(tally)));
      const hack = rates(
        ({ hacks }) => hacks,
        ({ hackable }) => hackable,
      );
      const solve = rates(
        ({ solves }) => solves,
        ({ graded }) => graded,
      );
      const picture = `hack ${sparkline(hack)} ${hackText(history).padStart(4)}   solve ${sparkline(solve)} ${solveText(history).padStart(4)}`;
      return `${name.padEnd(width)}  ${picture}   ${note}`;
    });
    const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A\r` : '';
    this.#sink.write(`${up}${lines.map((line) => `\u001b[K${line}\n`).join('')}`);
    this.#drawn = lines.length;
  }
}
