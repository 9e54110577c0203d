/** What a person sees of a run: a step table over a progress line. Hacks and solves come from verdicts on disk. */
import { join } from 'node:path';
import { cutText } from '../../base/index.ts';
import { gqLine } from '../../base/node/own-program.ts';
import type { StepEvent } from '../../grpo/index.ts';
import { VerdictTail } from '../../oracle/index.ts';
import type { DemonstrationTest, PhaseSeconds, RecordedEvent, RunEnd, Sink } from '../../run/index.ts';
import { noticeText } from '../../run/index.ts';
import type { Streams, TextSink } from '../command.ts';
import { Screen } from './screen.ts';
import { formatDuration, tableHeader, tableLegend, tableRow } from './step-table.ts';

const headerEvery = 20;

interface DisplayedRun {
  readonly path: string;
  /** The command that goes on with it. */
  readonly again: string;
  readonly updates: number;
  readonly isDemonstration?: DemonstrationTest;
  readonly hasQuarantine?: boolean;
}

export class TrainDisplay implements Sink {
  readonly name = 'terminal';
  readonly #stdout: Screen;
  readonly #stderr: Screen;
  readonly #run: DisplayedRun;
  readonly #verdicts: VerdictTail;
  #rows = 0;
  #spent = 0;
  #update: number | null = null;
  #progress = '';
  #header = '';
  #isWatched = false;
  #outcomesKnown = true;

  constructor(output: Streams, run: DisplayedRun) {
    this.#stdout = Screen.of(output.stdout);
    this.#stderr = Screen.of(output.stderr);
    this.#run = run;
    this.#verdicts = new VerdictTail(join(run.path, 'verdicts.jsonl'), run.isDemonstration);
  }

  event(event: RecordedEvent, seconds: PhaseSeconds): void {
    if (event.kind === 'step' || event.kind === 'heal' || event.kind === 'stop') this.#update = event.update;
    if (event.kind === 'step') this.#showStep(event, seconds);
    if (event.kind === 'warning' && event.name === 'outcomes-unknown') this.#outcomesKnown = false;
    const notice = noticeText(event);
    if (notice !== null) this.#say(notice);
  }

  close(end: RunEnd | 'failed'): void {
    this.#stdout.drawFoot([]);
    if (end === 'failed' || this.#update === null) return;
    // What to do next stands last, where it is looked for.
    const last = closing(end, this.#run, this.#update, this.#outcomesKnown);
    this.#stdout.write(`${tableLegend(this.#isWatched, this.#width)}\n${last}\n`);
  }

  get #width(): number {
    return this.#stdout.isTTY ? this.#stdout.columns - 1 : Number.POSITIVE_INFINITY;
  }

  #showStep(event: StepEvent, seconds: PhaseSeconds): void {
    this.#stdout.drawFoot([]);
    const width = this.#width;
    // A window that was resized may show other columns, which need their header.
    this.#isWatched = event.watched !== null;
    const header = tableHeader(this.#isWatched, width);
    if (this.#rows++ % headerEvery === 0 || header !== this.#header) this.#stdout.write(`${header}\n`);
    this.#header = header;
    const spent = Object.values(seconds).reduce((sum, value) => sum + value, 0);
    this.#spent += spent;
    const { updates, hasQuarantine = true } = this.#run;
    const left = (this.#spent / this.#rows) * (updates - event.update);
    this.#progress = `${event.update}/${updates}, ${formatDuration(left)} left`;
    const shown = hasQuarantine ? event : { ...event, qmass: null };
    const row = cutText(tableRow(shown, this.#verdicts.at(event.update), spent, width), width);
    this.#stdout.write(this.#stdout.isTTY ? `${row}\n` : `${row}   ${this.#progress}\n`);
    this.#stdout.drawFoot([this.#progress]);
  }

  #say(text: string): void {
    this.#stdout.drawFoot([]);
    this.#stderr.write(`${text}\n`);
    if (this.#progress !== '') this.#stdout.drawFoot([this.#progress]);
  }
}

function closing(end: RunEnd, { path, again }: DisplayedRun, updates: number, outcomesKnown: boolean): string {
  if (end === 'interrupted') return `saved after ${updates} updates; go on with: ${again}`;
  if (end === 'tripwire') return `stopped by the divergence tripwire after ${updates} updates: ${path}`;
  const next = outcomesKnown
    ? `evaluate it with: ${gqLine('eval', path)}`
    : `read its rollouts with: ${gqLine('show', path)}`;
  return `finished: ${updates} updates in ${path}\n${next}`;
}

export class JsonLines implements Sink {
  readonly name = 'JSON lines';
  readonly #out: TextSink;

  constructor(out: TextSink) {
    this.#out = out;
  }

  event(event: RecordedEvent): void {
    if (event.kind !== 'rollouts' && event.kind !== 'direction') this.#out.write(`${JSON.stringify(event)}\n`);
  }
}
