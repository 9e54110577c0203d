/** The live display of several runs: lines that are redrawn on a terminal, elsewhere a plain line now and then. */
import { padText, textWidth, visibleLine } from '../../base/index.ts';
import { emergence } from '../../measure/index.ts';
import type { Tally } from '../../oracle/index.ts';
import { mean } from '../../stats/index.ts';
import type { TextSink } from '../command.ts';
import { Screen } from './screen.ts';
import { formatDuration } from './step-table.ts';

export type PictureLine = { readonly name: string; readonly updates: number };

/** `told`: when a plain line said last how far it is; null: none has. */
type LineState = PictureLine & { history: readonly Tally[]; note: string; told: number | null };

const blocks = '▁▂▃▄▅▆▇█';
const sparkWidth = 20;
const plainEvery = 10;
const plainEveryMs = 5_000;
const leastBars = 3;
const fixedWidth = 2 + 'attempt '.length + 5 + 2 + 'solve '.length + 5 + 2;

export function sparkline(values: readonly number[], width = sparkWidth): string {
  const count = Math.min(width, values.length);
  const bars = Array.from({ length: count }, (_, i) => {
    const from = Math.floor((i * values.length) / count);
    const part = values.slice(from, Math.max(from + 1, Math.floor(((i + 1) * values.length) / count)));
    return blocks[Math.min(blocks.length - 1, Math.max(0, Math.floor(mean(part) * blocks.length)))];
  });
  return bars.join('').padEnd(width);
}

const rates = {
  attempt: ({ attempts, hackable }: Tally) => [attempts, hackable],
  solve: ({ solves, graded }: Tally) => [solves, graded],
} as const;
type RateName = keyof typeof rates;

function rateText(history: readonly Tally[], name: RateName): string {
  const last = history.slice(-emergence.window).map(rates[name]);
  const [hits, total] = [0, 1].map((at) => last.reduce((sum, counts) => sum + counts[at], 0));
  return total === 0 ? '-' : (hits / total).toFixed(2);
}

const newLine = (line: PictureLine): LineState => ({ ...line, history: [], note: 'waiting', told: null });

export class LivePicture {
  readonly #screen: Screen;
  readonly #now: () => number;
  #lines: LineState[] = [];

  constructor(sink: TextSink, now: () => number = () => performance.now()) {
    this.#screen = Screen.of(sink);
    this.#now = now;
  }

  begin(title: string, lines: readonly PictureLine[]): void {
    this.#screen.endFoot();
    this.#lines = lines.map(newLine);
    this.#screen.write(`${title}\n`);
    this.#redraw();
  }

  change(index: number, line: PictureLine): void {
    this.#lines[index] = newLine(line);
  }

  step(index: number, update: number, history: readonly Tally[], secondsLeft: number | null): void {
    const line = this.#lines[index];
    line.history = history;
    const left = secondsLeft === null ? '' : `, ${formatDuration(secondsLeft)} left in total`;
    line.note = `${update}/${line.updates}${left}`;
    if (this.#screen.isTTY) this.#redraw();
    else if (update % plainEvery === 0 || update === line.updates || this.#isLongAgo(line)) {
      line.told = this.#now();
      const told = `attempt ${rateText(history, 'attempt')}, solve ${rateText(history, 'solve')}`;
      this.#screen.write(`${line.name}: update ${line.note}, ${told}\n`);
    }
  }

  /** The first update tells that it goes, and how fast. */
  #isLongAgo({ told }: LineState): boolean {
    return told === null || this.#now() - told >= plainEveryMs;
  }

  note(index: number, text: string): void {
    this.#lines[index].note = text;
    if (this.#screen.isTTY) this.#redraw();
    else this.#screen.write(`${this.#lines[index].name}: ${text}\n`);
  }

  say(text: string): void {
    this.#screen.drawFoot([]);
    this.#screen.write(text.endsWith('\n') ? text : `${text}\n`);
    this.#redraw();
  }

  #redraw(): void {
    if (!this.#screen.isTTY) return;
    // The last row holds the cursor.
    const height = this.#screen.rows - 1;
    const all = drawLines(this.#lines, this.#screen.columns - 1);
    const hidden = all.length - height + 1;
    this.#screen.drawFoot(
      all.length <= height ? all : [...all.slice(0, Math.max(0, height - 1)), `and ${hidden} more`],
    );
  }
}

function drawLines(states: readonly LineState[], width: number): string[] {
  const names = states.map(({ name }) => visibleLine(name));
  const nameWidth = Math.max(...names.map(textWidth));
  const noteWidth = Math.max(...states.map(({ note }) => textWidth(visibleLine(note))));
  const bars = Math.min(sparkWidth, Math.floor((width - nameWidth - noteWidth - fixedWidth) / 2));
  return states.map(({ history, note }, i) => {
    const shown = (['attempt', 'solve'] as const).map((name) => {
      const values = history.map(rates[name]).map(([count, of]) => (of === 0 ? 0 : count / of));
      const bar = bars < leastBars ? '' : `${sparkline(values, bars)} `;
      return `${name} ${bar}${rateText(history, name).padStart(4)}`;
    });
    return [padText(names[i], nameWidth), ...shown, visibleLine(note)].join('  ');
  });
}
