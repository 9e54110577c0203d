/** The files of a live run as a sink, flushed before a checkpoint relies on them. The grader writes the verdicts. */
import { closeSync, existsSync, fstatSync, fsyncSync, statSync, writeSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import { JsonlWriter, namePath, openToWrite } from '../base/node/index.ts';
import type { DirectionEvent, RolloutRecord, RolloutsEvent } from '../grpo/index.ts';
import { type LedgerEntry, makeRow, type RolloutRow, rolloutColumns } from './columns/index.ts';
import type { RunDirectory } from './directory.ts';
import type { PhaseSeconds, RecordedEvent, Sink, WarningEvent } from './sink.ts';

export interface FileSinkOptions {
  readonly storeFeatures: boolean;
  readonly storeTokens: boolean;
  readonly featureBytes: number;
  readonly promptText: (tokens: Int32Array) => string;
  readonly earlier?: readonly WarningEvent[];
}

export class FileSink implements Sink {
  readonly name = 'files';
  readonly #run: RunDirectory;
  readonly #options: FileSinkOptions;
  readonly #events: JsonlWriter;
  readonly #rollouts: JsonlWriter;
  readonly #timings: JsonlWriter;
  readonly #features: number;
  readonly #directions: number;

  constructor(run: RunDirectory, options: FileSinkOptions) {
    this.#run = run;
    this.#options = options;
    this.#events = new JsonlWriter(run.ledger('events'));
    this.#rollouts = new JsonlWriter(run.ledger('rollouts'));
    this.#timings = new JsonlWriter(run.file('timings.jsonl'));
    this.#features = openToWrite(run.file('features.f32'), 'append');
    this.#directions = openToWrite(run.file('directions.f32'), 'append');
    this.#events.append(...(options.earlier ?? []));
  }

  event(event: RecordedEvent, seconds: PhaseSeconds): void {
    this.#expectDirectory();
    if (event.kind === 'rollouts') this.#writeRollouts(event);
    else if (event.kind === 'direction') this.#writeDirection(event);
    else if (event.kind !== 'info') this.#events.append(event);
    if (event.kind === 'step') this.#timings.append({ update: event.update, seconds });
  }

  #expectDirectory(): void {
    const own = fstatSync(this.#features);
    const found = statSync(this.#run.file('features.f32'), { throwIfNoEntry: false });
    if (found?.ino === own.ino) return;
    throw new UserError({
      call: `train ${this.#run.path}`,
      expected: 'the folder of the run as it was when training began',
      found: 'that it was deleted, moved or replaced',
      fix: 'Training was stopped. If the folder was moved, go on with --resume and its new path.',
    });
  }

  flush(): void {
    this.#expectDirectory();
    for (const name of ['events', 'rollouts', 'verdicts'] as const) syncFile(this.#run.ledger(name));
    fsyncSync(this.#features);
    fsyncSync(this.#directions);
  }

  close(): void {
    for (const writer of [this.#events, this.#rollouts, this.#timings]) writer.close();
    closeSync(this.#features);
    closeSync(this.#directions);
  }

  #writeRollouts({ update, records }: RolloutsEvent): void {
    const { storeFeatures, storeTokens, featureBytes, promptText } = this.#options;
    const prompts = new Map<Int32Array, string>();
    const byToken = records.some(({ routes }) => routes !== null && routes.length > 1);
    let next = fstatSync(this.#features).size / featureBytes;
    const rows = records.map((record) => {
      const { prompt } = record.rollout;
      const text = prompts.get(prompt) ?? promptText(prompt);
      prompts.set(prompt, text);
      const stored = storeFeatures ? storableRows(record, featureBytes) : 0;
      if (stored > 0 && record.features !== null) this.#writeFloats('features.f32', record.features);
      const place = stored === 0 ? { featureRow: null, featureRows: null } : { featureRow: next, featureRows: stored };
      next += stored;
      return rolloutRow(record, { update, prompt: text, ...place, storeTokens, byToken });
    });
    this.#rollouts.append(...rows);
  }

  /** Writes a row of directions.f32: the first update that uses the direction, the two mean scores of the pairs, the direction. */
  #writeDirection({ update, direction, pairCuts }: DirectionEvent): void {
    const { low, high } = pairCuts ?? { low: Number.NaN, high: Number.NaN };
    this.#writeFloats('directions.f32', Float32Array.of(update, low, high, ...direction));
  }

  #writeFloats(name: 'features.f32' | 'directions.f32', { buffer, byteOffset, byteLength }: Float32Array): void {
    const bytes = new Uint8Array(buffer, byteOffset, byteLength);
    const file = name === 'features.f32' ? this.#features : this.#directions;
    try {
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
    } catch (error) {
      throw namePath(error, this.#run.file(name));
    }
  }
}

function storableRows({ features, tokenScores }: RolloutRecord, featureBytes: number): number {
  const rows = (features?.byteLength ?? 0) / featureBytes;
  return rows === 1 || tokenScores !== null ? rows : 0;
}

function syncFile(path: string): void {
  if (!existsSync(path)) return;
  const file = openToWrite(path, 'change');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

export type RowNotes = Omit<LedgerEntry, keyof RolloutRecord | 'byToken'> & Partial<Pick<LedgerEntry, 'byToken'>>;

export const rolloutRow = (record: RolloutRecord, notes: RowNotes): RolloutRow =>
  makeRow(rolloutColumns, { ...record, byToken: (record.routes?.length ?? 0) > 1, ...notes });
