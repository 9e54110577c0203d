/**
 * Runs a trainer to its end while writing everything down: events, the gate ledger, features, directions, timings,
 * checkpoints. When asked to stop it finishes the update, saves, and returns; a kill at any moment loses at most the updates
 * since the last checkpoint, and the run continues from there as if nothing had happened.
 */
import type { RolloutsEvent, TrainEvent, Trainer } from '../grpo/index.ts';
import { loadCheckpoint, saveCheckpoint } from './checkpoint.ts';
import type { PhaseClock } from './clock.ts';
import type { RunDirectory } from './directory.ts';
import { rolloutRow } from './ledger.ts';
import { RunWriters } from './writers.ts';

export interface RecordOptions {
  readonly run: RunDirectory;
  readonly trainer: Trainer;
  readonly checkpointEvery: number;
  readonly storeFeatures: boolean;
  readonly storeTokens: boolean;
  /** Bytes of one row of features. */
  readonly featureBytes: number;
  readonly promptText: (tokens: Int32Array) => string;
  /** Ends the run after the update in progress. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: TrainEvent, seconds: Readonly<Record<string, number>>) => void;
  readonly clock: PhaseClock;
}

export type RunEnd = 'finished' | 'tripwire' | 'interrupted';

/** Puts a trainer where a checkpoint left it, and the run's files with it. */
export async function resumeFrom(run: RunDirectory, trainer: Trainer, update: number): Promise<void> {
  const { state, lengths } = await loadCheckpoint(run, update);
  run.cutTo(lengths);
  trainer.restore(state);
}

export async function recordRun(options: RecordOptions): Promise<RunEnd> {
  const { run, trainer, signal, onEvent, clock, checkpointEvery } = options;
  using writers = new RunWriters(run);
  const save = async (): Promise<void> => {
    writers.flush();
    await saveCheckpoint(run, await trainer.state());
  };
  if (run.checkpoints.length === 0) await save();
  clock.take();
  for await (const event of trainer.train()) {
    const seconds = event.kind === 'step' ? clock.take() : {};
    // A checkpoint stands before the end of the run, so that resuming it ends the run once more, and the same way.
    if (event.kind === 'stop') await save();
    write(writers, event, options);
    onEvent(event, seconds);
    if (event.kind === 'stop') return event.reason;
    if (event.kind === 'heal') await save();
    if (event.kind !== 'step') continue;
    writers.timings.append({ update: event.update, seconds });
    if (event.update % checkpointEvery === 0 || signal.aborted) await save();
    if (signal.aborted) return 'interrupted';
  }
  throw new RangeError('training ended without a stop event');
}

function write(writers: RunWriters, event: TrainEvent, options: RecordOptions): void {
  if (event.kind === 'rollouts') writeRollouts(writers, event, options);
  else if (event.kind === 'direction') writers.appendDirection(event);
  else writers.events.append(event);
}

function writeRollouts(
  writers: RunWriters,
  { update, records }: RolloutsEvent,
  { storeFeatures, storeTokens, featureBytes, promptText }: RecordOptions,
): void {
  const prompts = new Map<Int32Array, string>();
  let next = writers.featureBytes / featureBytes;
  const features: Float32Array[] = [];
  const rows = records.map((record) => {
    const { prompt } = record.rollout;
    const text = prompts.get(prompt) ?? promptText(prompt);
    prompts.set(prompt, text);
    const stored = storeFeatures && record.features !== null && record.features.byteLength === featureBytes;
    if (stored && record.features !== null) features.push(record.features);
    return rolloutRow(record, { update, prompt: text, featureRow: stored ? next++ : null, storeTokens });
  });
  writers.appendFeatures(features);
  writers.rollouts.append(...rows);
}
