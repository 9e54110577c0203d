/**
 * Runs a trainer to its end, sends its events and the warnings that follow from them to sinks, and saves checkpoints. When asked to
 * stop it finishes the update, saves, and returns. A checkpoint is written beside the next update. A kill at any moment loses at most
 * the updates since the last whole checkpoint, and a resumed run continues from there as if nothing had happened.
 */
import type { TrainEvent, Trainer } from '../grpo/index.ts';
import { saveCheckpoint } from './checkpoint.ts';
import type { RunConfig } from './config/schema.ts';
import type { RunDirectory } from './directory.ts';
import type { Notice, PhaseClock, RunEnd, SinkGroup, StartClock } from './sink.ts';
import { stampNotice, stepWarnings } from './sink.ts';

export interface RecordOptions {
  /** Null: another rank records, and this one only trains as it does. */
  readonly run: RunDirectory | null;
  readonly trainer: Trainer;
  readonly checkpointEvery: number;
  readonly keepState: RunConfig['output']['keepState'];
  readonly sinks: SinkGroup;
  readonly signal: AbortSignal;
  readonly clock: PhaseClock;
  readonly start?: StartClock;
  /** Is given whether this rank was asked to end and says whether any was, once after each update; without it, the signal alone does. */
  readonly agree?: (asked: boolean) => Promise<boolean>;
  /** Is called by every rank before a checkpoint is saved, and throws if they do not have the same to save. */
  readonly confirm?: () => Promise<void>;
  /** What is to be said of the whole run before it stops, once its last checkpoint is saved; null: nothing. */
  readonly review?: () => Promise<Notice | null>;
}

export async function recordRun(options: RecordOptions): Promise<RunEnd> {
  const end = await options.sinks.guard(() => record(options));
  await options.sinks.close(end);
  return end;
}

async function record(options: RecordOptions): Promise<RunEnd> {
  const { run, trainer, clock } = options;
  const writer = new CheckpointWriter(options);
  try {
    if (run !== null && run.listCheckpoints().length === 0) await writer.begin();
    // The others cannot tell whether a run is new, and confirm what it begins with in any case.
    else await options.confirm?.();
    options.start?.done('first checkpoint');
    clock.take();
    for await (const event of trainer.train()) {
      const end = await recordEvent(event, options, writer);
      if (end !== null) return end;
    }
  } finally {
    // Nothing is written any more when the run is given up, whatever the reason.
    await writer.settled();
  }
  throw new RangeError('training ended without a stop event');
}

async function recordEvent(
  event: TrainEvent,
  { signal, clock, checkpointEvery, agree, review, sinks }: RecordOptions,
  writer: CheckpointWriter,
): Promise<RunEnd | null> {
  const seconds = event.kind === 'step' ? clock.take() : {};
  writer.expectWell();
  // The last checkpoint is saved before the stop event, so that resuming from it ends the run again in the same way.
  if (event.kind === 'stop') {
    await writer.save();
    const notice = (await review?.()) ?? null;
    if (notice !== null) await sinks.event(stampNotice(notice, event.update));
  }
  await sinks.event(event, seconds);
  if (event.kind === 'stop') return event.reason;
  if (event.kind === 'heal') await writer.save();
  if (event.kind !== 'step') return null;
  for (const warning of stepWarnings(event)) await sinks.event(warning);
  const ends = (await agree?.(signal.aborted)) ?? signal.aborted;
  if (ends) {
    await writer.save();
    return 'interrupted';
  }
  if (event.update % checkpointEvery === 0) await writer.begin();
  return null;
}

class CheckpointWriter {
  readonly #options: RecordOptions;
  #writing: Promise<unknown> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    const { run, trainer, keepState, confirm, sinks } = this.#options;
    await confirm?.();
    if (run === null) return;
    await this.#writing;
    await sinks.flush();
    // Everything that is on the device is read before the run goes on; what follows writes files.
    const isFirst = run.listCheckpoints().length === 0;
    const initial = isFirst ? await trainer.initialValues() : new Map();
    this.#writing = saveCheckpoint(run, await trainer.state(), { keepState, initial });
    this.#writing.catch((error: unknown) => {
      this.#failure = { error };
    });
  }

  async save(): Promise<void> {
    await this.begin();
    await this.#writing;
  }

  expectWell(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  async settled(): Promise<void> {
    await this.#writing.catch(() => undefined);
  }
}
