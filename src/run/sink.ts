/**
 * A sink is where the events of a run go: its files, a terminal, JSON lines, or a caller's own. It is told every event in order, and
 * the run waits for it. What it buffers must be durable when `flush` returns, since the checkpoint that follows relies on it. After a
 * resume the updates since the last checkpoint come once more. A sink that throws ends the run, with an error that names it.
 */
import { UserError } from '../base/index.ts';
import type { RecordedEvent } from './notices.ts';

export type RunEnd = 'finished' | 'tripwire' | 'interrupted';

/** Seconds per phase of an update; empty for every event but `step`. */
export type PhaseSeconds = Readonly<Record<string, number>>;

export interface Sink {
  readonly name: string;
  event(event: RecordedEvent, seconds: PhaseSeconds): void | Promise<void>;
  flush?(): void | Promise<void>;
  close?(end: RunEnd | 'failed'): void | Promise<void>;
}

export class SinkGroup {
  readonly #sinks: readonly Sink[];

  constructor(sinks: readonly Sink[]) {
    this.#sinks = sinks;
  }

  async event(event: RecordedEvent, seconds: PhaseSeconds = {}): Promise<void> {
    for (const sink of this.#sinks) {
      await blaming(sink, `the event ${event.kind}`, () => sink.event(event, seconds));
    }
  }

  async flush(): Promise<void> {
    for (const sink of this.#sinks) await blaming(sink, 'a flush', () => sink.flush?.());
  }

  async guard<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.close('failed').catch(() => undefined);
      throw error;
    }
  }

  async close(end: RunEnd | 'failed'): Promise<void> {
    const closings = this.#sinks.map((sink) => blaming(sink, 'its end', async () => sink.close?.(end)));
    const failed = (await Promise.allSettled(closings)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
}

async function blaming(sink: Sink, what: string, work: () => void | Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError(
      { call: `sink ${sink.name}`, expected: `to take ${what}`, found: `an error: ${found}` },
      { cause },
    );
  }
}
