/**
 * Runs a trainer to its end while writing everything down: events, the gate ledger, features, timings, checkpoints. When asked
 * to stop it finishes the update, saves, and returns; a kill at any moment loses at most the updates since the last checkpoint.
 */
import type { RolloutsEvent, TrainEvent } from '../grpo/events.ts';
import type { Phase } from '../grpo/step.ts';
import type { Trainer } from '../grpo/train.ts';
import { loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
import { type RunDirectory, RunWriters } from './directory.ts';
import { rolloutRow } from './ledger.ts';

export interface SessionOptions {
  readonly run: RunDirectory;
  readonly trainer: Trainer;
  readonly checkpointEvery: number;
  readonly storeFeatures: boolean;
  /** Bytes of one row of features. */
  readonly featureBytes: number;
  readonly promptText: (tokens: Int32Array) => string;
  /** Ends the run after the update in progress. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: TrainEvent, seconds: Readonly<Record<string, number>>) => void;
  readonly clock: PhaseClock;
}

export type SessionEnd = 'finished' | 'tripwire' | 'interrupted';

/** Seconds spent in each phase since the last reading. */
export class PhaseClock {
  #phase: Phase | 'other' = 'other';
  #since = performance.now();
  #seconds: Record<string, number> = {};

  enter(phase: Phase | 'other'): void {
    const now = performance.now();
    this.#seconds[this.#phase] = (this.#seconds[this.#phase] ?? 0) + (now - this.#since) / 1000;
    this.#phase = phase;
    this.#since = now;
  }

  take(): Readonly<Record<string, number>> {
    this.enter('other');
    const seconds = this.#seconds;
    this.#seconds = {};
    return seconds;
  }
}

/** Puts a trainer where a checkpoint left it, and the run's files with it. */
export async function resumeFrom(run: RunDirectory, trainer: Trainer, update: number): Promise<void> {
  const { state, lengths } = await loadCheckpoint(run, update);
  run.cutTo(lengths);
  trainer.restore(state);
}

export async function trainSession(options: SessionOptions): Promise<SessionEnd> {
  const { run, trainer, signal, onEvent, clock } = options;
  using writers = new RunWriters(run);
  if (run.checkpoints.length === 0) await saveCheckpoint(run, await trainer.state());
  clock.take();
  for await (const event of trainer.train()) {
    const seconds = event.kind === 'step' ? clock.take() : {};
    if (event.kind === 'rollouts') writeRollouts(writers, run, event, options);
    else writers.events.append(event);
    onEvent(event, seconds);
    if (event.kind === 'step') {
      writers.timings.append({ update: event.update, seconds });
      const due = event.update % options.checkpointEvery === 0;
      if (due || signal.aborted) await save(options, writers);
      if (signal.aborted) return 'interrupted';
    } else if (event.kind === 'stop') {
      await save(options, writers);
      return event.reason;
    }
  }
  return 'finished';
}

async function save({ run, trainer }: SessionOptions, writers: RunWriters): Promise<void> {
  writers.flush();
  await saveCheckpoint(run, await trainer.state());
}

function writeRollouts(
  writers: RunWriters,
  run: RunDirectory,
  { update, records }: RolloutsEvent,
  { storeFeatures, featureBytes, promptText }: SessionOptions,
): void {
  const prompts = new Map<Int32Array, string>();
  let next = storeFeatures && featureBytes > 0 ? run.lengths.features / featureBytes : 0;
  const features: Float32Array[] = [];
  const rows = records.map((record) => {
    const { prompt } = record.rollout;
    const text = prompts.get(prompt) ?? promptText(prompt);
    prompts.set(prompt, text);
    const stored = storeFeatures && record.features !== null && record.features.byteLength === featureBytes;
    if (stored && record.features !== null) features.push(record.features);
    return rolloutRow(record, update, text, stored ? next++ : null);
  });
  writers.appendFeatures(features);
  writers.rollouts.append(...rows);
}
