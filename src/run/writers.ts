/** The growing files of a live run, as training appends to them; and making them durable before a checkpoint counts on them. */
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { JsonlWriter } from '../base/index.ts';
import type { DirectionEvent } from '../grpo/index.ts';
import type { RunDirectory } from './directory.ts';

export class RunWriters implements Disposable {
  readonly events: JsonlWriter;
  readonly rollouts: JsonlWriter;
  readonly timings: JsonlWriter;
  readonly #run: RunDirectory;
  readonly #features: number;
  readonly #directions: number;

  constructor(run: RunDirectory) {
    this.#run = run;
    this.events = new JsonlWriter(run.ledger('events'));
    this.rollouts = new JsonlWriter(run.ledger('rollouts'));
    this.timings = new JsonlWriter(run.file('timings.jsonl'));
    this.#features = openSync(run.file('features.f32'), 'a');
    this.#directions = openSync(run.file('directions.f32'), 'a');
  }

  appendFeatures(rows: readonly Float32Array[]): void {
    for (const row of rows) writeFloats(this.#features, row);
  }

  /** Bytes of features.f32 so far. */
  get featureBytes(): number {
    return fstatSync(this.#features).size;
  }

  /** A row of directions.f32: the first update that uses it, the two scores of the pairs, then the direction. */
  appendDirection({ update, direction, pairCuts }: DirectionEvent): void {
    const { low, high } = pairCuts ?? { low: Number.NaN, high: Number.NaN };
    writeFloats(this.#directions, Float32Array.of(update, low, high, ...direction));
  }

  /** What a checkpoint is about to refer to must be on disk first. */
  flush(): void {
    for (const name of ['events', 'rollouts', 'verdicts'] as const) syncFile(this.#run.ledger(name));
    fsyncSync(this.#features);
    fsyncSync(this.#directions);
  }

  [Symbol.dispose](): void {
    this.events.close();
    this.rollouts.close();
    this.timings.close();
    closeSync(this.#features);
    closeSync(this.#directions);
  }
}

function writeFloats(file: number, { buffer, byteOffset, byteLength }: Float32Array): void {
  const bytes = new Uint8Array(buffer, byteOffset, byteLength);
  for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
}

function syncFile(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
