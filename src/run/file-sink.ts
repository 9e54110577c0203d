/** The files of a live run as a sink, flushed before a checkpoint relies on them. The grader writes the verdicts. */
import { closeSync, existsSync, fstatSync, fsyncSync, statSync, writeSync } from 'node:fs';
import { UserError } from '../base/index.ts';
import { JsonlWriter, namePath, openToWrite } from '../base/node/index.ts';
import type { RolloutRecord, RolloutsEvent } from '../grpo/index.ts';
import { directionRow, type FeaturePlace, noFeatures, rolloutRows } from './contents.ts';
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
    else if (event.kind === 'direction') this.#writeFloats('directions.f32', directionRow(event));
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

  #writeRollouts(event: RolloutsEvent): void {
    const { storeFeatures, featureBytes } = this.#options;
    let next = fstatSync(this.#features).size / featureBytes;
    const place = (record: RolloutRecord): FeaturePlace => {
      const stored = storeFeatures ? storableRows(record, featureBytes) : 0;
      if (stored === 0 || record.features === null) return noFeatures;
      this.#writeFloats('features.f32', record.features);
      next += stored;
      return { featureRow: next - stored, featureRows: stored };
    };
    this.#rollouts.append(...rolloutRows(event, { ...this.#options, place }));
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
