/**
 * What a person sees of a run: a step table with a progress line under it on a terminal, plain lines elsewhere, events as JSON
 * when asked. Hacks and solves come from the verdict ledger, a reader outside the trainer.
 */
import type { StepEvent, TrainEvent } from '../../grpo/index.ts';
import { tally, type VerdictLedger } from '../../oracle/index.ts';
import type { RunEnd } from '../../run/index.ts';
import type { TextSink } from '../command.ts';
import { formatDuration, tableHeader, tableLegend, tableRow } from './step-table.ts';

const headerEvery = 20;
const clearLine = '\r\u001b[K';

export interface DisplayOutput {
  readonly stdout: TextSink & { readonly isTTY?: boolean };
  readonly stderr: TextSink;
  readonly json: boolean;
}

export class TrainDisplay {
  readonly #output: DisplayOutput;
  readonly #ledger: VerdictLedger;
  readonly #updates: number;
  readonly #first: number;
  readonly #started = performance.now();
  #rows = 0;
  #ids: readonly string[] = [];

  constructor(output: DisplayOutput, ledger: VerdictLedger, { updates, first }: { updates: number; first: number }) {
    this.#output = output;
    this.#ledger = ledger;
    this.#updates = updates;
    this.#first = first;
  }

  show(event: TrainEvent, seconds: Readonly<Record<string, number>>): void {
    const { stdout, stderr, json } = this.#output;
    if (event.kind === 'rollouts') this.#ids = event.records.map(({ rollout }) => rollout.id);
    else if (json && event.kind !== 'direction') stdout.write(`${JSON.stringify(event)}\n`);
    else if (event.kind === 'step') this.#showStep(event, seconds);
    else if (event.kind === 'stop' && event.reason === 'tripwire') stderr.write(`tripwire: ${event.detail}\n`);
    if (event.kind === 'expectation' && !event.holds) {
      stderr.write(`EXPECTATION FAILED: ${event.name} (${event.detail})\n`);
    }
    if (event.kind === 'step') this.#ledger.forget();
  }

  #showStep(event: StepEvent, seconds: Readonly<Record<string, number>>): void {
    const { stdout, stderr } = this.#output;
    const terminal = stdout.isTTY === true;
    if (terminal) stdout.write(clearLine);
    if (this.#rows++ % headerEvery === 0) stdout.write(`${tableHeader()}\n`);
    const spent = Object.values(seconds).reduce((sum, value) => sum + value, 0);
    const counts = tally(this.#ids.map((id) => this.#ledger.of(id)));
    const progress = this.#progress(event.update);
    stdout.write(`${tableRow(event, counts, spent)}${terminal ? '' : `   ${progress}`}\n`);
    for (const warning of warningsOf(event)) stderr.write(`update ${event.update}: ${warning}\n`);
    if (terminal) stdout.write(progress);
  }

  #progress(update: number): string {
    const perUpdate = (performance.now() - this.#started) / 1000 / (update - this.#first);
    return `${update}/${this.#updates}, ${formatDuration(perUpdate * (this.#updates - update))} left`;
  }

  close(end: RunEnd, path: string, updates: number): void {
    const { stdout, json } = this.#output;
    if (json) return;
    if (stdout.isTTY === true) stdout.write(clearLine);
    stdout.write(`${closing(end, path, updates)}\n${tableLegend}\n`);
  }
}

function warningsOf({ direction, zeroSignal }: StepEvent): string[] {
  const warnings: string[] = [];
  if (direction !== null && direction.pairedAccuracy < 1) {
    const { wrongPairs, auroc } = direction;
    warnings.push(`the direction misjudges pairs ${wrongPairs.join(', ')} (AUROC ${auroc.toFixed(2)})`);
  }
  if (zeroSignal !== null) {
    const { reason, skippedGroups, groups, routed, trained } = zeroSignal;
    const counts = `${skippedGroups}/${groups} groups skipped, ${routed}/${trained} rollouts routed`;
    warnings.push(`no signal for the deployed block: ${reason} (${counts})`);
  }
  return warnings;
}

function closing(end: RunEnd, path: string, updates: number): string {
  if (end === 'interrupted') return `saved after ${updates} updates; go on with: gq train --resume ${path}`;
  if (end === 'tripwire') return `stopped by the divergence tripwire after ${updates} updates: ${path}`;
  return `finished: ${updates} updates in ${path}`;
}
