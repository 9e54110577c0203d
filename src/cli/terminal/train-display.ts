/**
 * What a person sees of a run: a step table with a progress line under it on a terminal, plain lines elsewhere, warnings on stderr.
 * Hacks and solves come from the verdicts that the run has written, never from the trainer.
 */
import { join } from 'node:path';
import { shellLine } from '../../base/index.ts';
import type { StepEvent } from '../../grpo/index.ts';
import { VerdictTail } from '../../oracle/index.ts';
import { noticeText, type PhaseSeconds, type RecordedEvent, type RunEnd, type Sink } from '../../run/index.ts';
import type { TextSink } from '../command.ts';
import { formatDuration, tableHeader, tableLegend, tableRow } from './step-table.ts';

const headerEvery = 20;
const clearLine = '\r\u001b[K';

export interface DisplayOutput {
  readonly stdout: TextSink & { readonly isTTY?: boolean };
  readonly stderr: TextSink;
}

/** The run that is shown. */
export interface DisplayedRun {
  readonly path: string;
  readonly updates: number;
}

export class TrainDisplay implements Sink {
  readonly name = 'terminal';
  readonly #output: DisplayOutput;
  readonly #run: DisplayedRun;
  readonly #verdicts: VerdictTail;
  #rows = 0;
  /** Seconds of the updates shown so far. */
  #spent = 0;
  /** Updates completed; null before the first event of training. */
  #update: number | null = null;
  #progress = '';

  constructor(output: DisplayOutput, run: DisplayedRun) {
    this.#output = output;
    this.#run = run;
    this.#verdicts = new VerdictTail(join(run.path, 'verdicts.jsonl'));
  }

  event(event: RecordedEvent, seconds: PhaseSeconds): void {
    if (event.kind === 'step' || event.kind === 'heal' || event.kind === 'stop') this.#update = event.update;
    if (event.kind === 'step') this.#showStep(event, seconds);
    const notice = noticeText(event);
    if (notice !== null) this.#say(notice);
  }

  close(end: RunEnd | 'failed'): void {
    this.#clear();
    if (end === 'failed' || this.#update === null) return;
    this.#output.stdout.write(`${closing(end, this.#run.path, this.#update)}\n${tableLegend}\n`);
  }

  get #isTerminal(): boolean {
    return this.#output.stdout.isTTY === true;
  }

  #showStep(event: StepEvent, seconds: PhaseSeconds): void {
    const { stdout } = this.#output;
    this.#clear();
    if (this.#rows++ % headerEvery === 0) stdout.write(`${tableHeader()}\n`);
    const spent = Object.values(seconds).reduce((sum, value) => sum + value, 0);
    this.#spent += spent;
    const { updates } = this.#run;
    const left = (this.#spent / this.#rows) * (updates - event.update);
    this.#progress = `${event.update}/${updates}, ${formatDuration(left)} left`;
    const row = tableRow(event, this.#verdicts.at(event.update), spent);
    stdout.write(this.#isTerminal ? `${row}\n${this.#progress}` : `${row}   ${this.#progress}\n`);
  }

  /** Writes a line above the progress line. */
  #say(text: string): void {
    this.#clear();
    this.#output.stderr.write(`${text}\n`);
    if (this.#isTerminal) this.#output.stdout.write(this.#progress);
  }

  #clear(): void {
    if (this.#isTerminal && this.#progress !== '') this.#output.stdout.write(clearLine);
  }
}

function closing(end: RunEnd, path: string, updates: number): string {
  if (end === 'interrupted')
    return `saved after ${updates} updates; go on with: ${shellLine('gq', 'train', '--resume', path)}`;
  if (end === 'tripwire') return `stopped by the divergence tripwire after ${updates} updates: ${path}`;
  return `finished: ${updates} updates in ${path}`;
}
