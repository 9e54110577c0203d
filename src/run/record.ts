/**
 * Runs a trainer to its end, sends its events and the warnings that follow from them to sinks, and saves checkpoints. When asked to
 * stop it finishes the update, saves, and returns. A kill at any moment loses at most the updates since the last checkpoint, and a
 * resumed run continues from there as if nothing had happened.
 */
import type { Trainer } from '../grpo/index.ts';
import { saveCheckpoint } from './checkpoint.ts';
import type { PhaseClock } from './clock.ts';
import type { RunDirectory } from './directory.ts';
import { stepWarnings } from './notices.ts';
import type { RunConfig } from './schema.ts';
import { type RunEnd, type Sink, SinkGroup } from './sink.ts';

export interface RecordOptions {
  readonly run: RunDirectory;
  readonly trainer: Trainer;
  readonly checkpointEvery: number;
  readonly keepState: RunConfig['output']['keepState'];
  /** The sinks, told in this order; the files of the run are one of them. They are closed when recording ends, however it ends. */
  readonly sinks: readonly Sink[];
  /** When aborted, the run ends after the update in progress. */
  readonly signal: AbortSignal;
  readonly clock: PhaseClock;
  /** Whether all ranks of the run end after this update, asked once after each; without it, the signal alone says so. */
  readonly agree?: Agree;
  /** Is called by every rank before a checkpoint is saved, and throws if they do not have the same to save. */
  readonly confirm?: () => Promise<void>;
}

/** Is given whether this rank was asked to end, and resolves to whether any was. */
export type Agree = (asked: boolean) => Promise<boolean>;

export async function recordRun(options: RecordOptions): Promise<RunEnd> {
  const sinks = new SinkGroup(options.sinks);
  const end = await sinks.guard(() => record(options, sinks));
  await sinks.close(end);
  return end;
}

async function record(options: RecordOptions, sinks: SinkGroup): Promise<RunEnd> {
  const { run, trainer, signal, clock, checkpointEvery, keepState } = options;
  const save = async (): Promise<void> => {
    await options.confirm?.();
    await sinks.flush();
    await saveCheckpoint(run, await trainer.state(), { keepState, initial: () => trainer.initialValues() });
  };
  const isNew = run.listCheckpoints().length === 0;
  if (isNew) await save();
  // The others cannot tell whether a run is new, and confirm what it begins with in any case.
  else await options.confirm?.();
  clock.take();
  for await (const event of trainer.train()) {
    const seconds = event.kind === 'step' ? clock.take() : {};
    // The last checkpoint is saved before the stop event, so that resuming from it ends the run again in the same way.
    if (event.kind === 'stop') await save();
    await sinks.event(event, seconds);
    if (event.kind === 'stop') return event.reason;
    if (event.kind === 'heal') await save();
    if (event.kind !== 'step') continue;
    for (const warning of stepWarnings(event)) await sinks.event(warning);
    const ends = (await options.agree?.(signal.aborted)) ?? signal.aborted;
    if (event.update % checkpointEvery === 0 || ends) await save();
    if (ends) return 'interrupted';
  }
  throw new RangeError('training ended without a stop event');
}

/** Takes part in a run that another rank records: trains as it does, and writes nothing. */
export async function followRun(options: FollowOptions): Promise<RunEnd> {
  const { trainer, signal, agree, confirm, checkpointEvery, sinks } = options;
  const told = new SinkGroup(sinks);
  await confirm();
  for await (const event of trainer.train()) {
    if (event.kind === 'stop') await confirm();
    await told.event(event);
    if (event.kind === 'stop') return event.reason;
    if (event.kind === 'heal') await confirm();
    if (event.kind !== 'step') continue;
    const ends = await agree(signal.aborted);
    if (event.update % checkpointEvery === 0 || ends) await confirm();
    if (ends) return 'interrupted';
  }
  throw new RangeError('training ended without a stop event');
}

type FollowOptions = Pick<RecordOptions, 'trainer' | 'signal' | 'sinks' | 'checkpointEvery'> &
  Required<Pick<RecordOptions, 'agree' | 'confirm'>>;
