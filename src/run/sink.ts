/**
 * What is told of a run while it goes: notices and events, and sinks, which are where they go: the files of a run, a terminal, JSON lines, or a caller's own. A
 * sink is told every event in order, and the run waits for it. What it buffers must be durable when `flush` returns, since the checkpoint that follows
 * relies on it. After a resume the updates since the last checkpoint come once more. A sink that throws ends the run, with an error that names it.
 */
import { messageOf, UserError } from '../base/index.ts';
import type { Phase, StepEvent, TrainEvent } from '../grpo/index.ts';

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
  readonly #sinks: Sink[];
  #isClosed = false;

  constructor(sinks: readonly Sink[]) {
    this.#sinks = [...sinks];
  }

  /** Adds sinks that are told before the others. */
  addFirst(...sinks: readonly Sink[]): void {
    this.#sinks.unshift(...sinks);
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
    if (this.#isClosed) return;
    this.#isClosed = true;
    const closings = this.#sinks.map((sink) => blaming(sink, 'its end', async () => sink.close?.(end)));
    const failed = (await Promise.allSettled(closings)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  }
}

async function blaming(sink: Sink, what: string, work: () => void | Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const found = messageOf(cause);
    throw new UserError(
      { call: `sink ${sink.name}`, expected: `to take ${what}`, found: `an error: ${found}` },
      { cause },
    );
  }
}

type UpdateWarning = 'misjudged-pairs' | 'no-signal' | 'silent-monitor';
type PreparationWarning =
  | 'problems-left-out'
  | 'demonstration-left-out'
  | 'other-device'
  | 'outcomes-unknown'
  | 'earlier-quarantine';

interface Told<Kind extends string, Name extends string> {
  readonly kind: Kind;
  readonly update: number;
  readonly name: Name;
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export type WarningEvent = Told<'warning', UpdateWarning | PreparationWarning | 'local-sampler' | 'nothing-flagged'>;
export type InfoEvent = Told<
  'info',
  | 'memory-plan'
  | 'disk-plan'
  | 'making-factors'
  | 'damaged-factors'
  | 'already-finished'
  | 'generated-pairs'
  | 'making-pool'
  | 'made-pool'
  | 'tasks'
  | 'start'
  | 'arm'
>;

type WithoutUpdate<Event> = Event extends unknown ? Omit<Event, 'update'> : never;

export type Notice = WithoutUpdate<WarningEvent | InfoEvent>;

export type RecordedEvent = TrainEvent | WarningEvent | InfoEvent;

export function stampNotice({ kind, ...rest }: Notice, update: number): WarningEvent | InfoEvent {
  return { kind, update, ...rest } as WarningEvent | InfoEvent;
}

export function stepWarnings({ update, direction, zeroSignal, watched, rollouts, sampler }: StepEvent): WarningEvent[] {
  const warnings: WarningEvent[] = [];
  if (direction !== null && direction.pairedAccuracy < 1) {
    const { wrongPairs, auroc } = direction;
    const message = `the direction ranks pairs ${wrongPairs.join(', ')} the wrong way round (AUROC ${auroc.toFixed(2)})`;
    warnings.push({ kind: 'warning', update, name: 'misjudged-pairs', message, detail: { wrongPairs, auroc } });
  }
  if (zeroSignal !== null) {
    const { reason, skippedGroups, groups, routed, trained } = zeroSignal;
    // Without a rollout that was trained on there was nothing to route, and no block learns, in an arm with blocks or without.
    const [what, more] =
      trained === 0 ? ['', ''] : [' for the deployed block', `, ${routed}/${trained} rollouts routed`];
    const message = `no signal${what}: ${reason} (${skippedGroups}/${groups} groups skipped${more})`;
    warnings.push({ kind: 'warning', update, name: 'no-signal', message, detail: { ...zeroSignal } });
  }
  if (watched !== null && rollouts > 0 && watched.abstained === rollouts) {
    const { abstained, abstentions } = watched;
    const reasons = Object.entries(abstentions).map(([reason, count]) => `${reason} (${count})`);
    const message = `the monitor abstained on all ${abstained} rollouts: ${reasons.join(', ')}; arm.abstain alone decided`;
    warnings.push({ kind: 'warning', update, name: 'silent-monitor', message, detail: { abstained, abstentions } });
  }
  if (typeof sampler?.reason === 'string') {
    const message = `from update ${update} on this process samples, not the server: ${sampler.reason}`;
    warnings.push({ kind: 'warning', update, name: 'local-sampler', message, detail: { ...sampler } });
  }
  return warnings;
}

const updateWarnings: readonly string[] = ['misjudged-pairs', 'no-signal', 'silent-monitor'] satisfies UpdateWarning[];

/** Whether this is a warning about one update; there can be so many that a display of several runs leaves them out. */
export const isOfOneUpdate = (event: RecordedEvent): boolean =>
  event.kind === 'warning' && updateWarnings.includes(event.name);

export function noticeText(event: RecordedEvent): string | null {
  if (event.kind === 'warning')
    return isOfOneUpdate(event) ? `update ${event.update}: ${event.message}` : event.message;
  if (event.kind === 'info') return event.message;
  if (event.kind === 'expectation' && !event.holds) return `EXPECTATION FAILED: ${event.name} (${event.detail})`;
  if (event.kind === 'stop' && event.reason === 'tripwire') return `tripwire: ${event.detail}`;
  return null;
}

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

const tellingSeconds = 5;
/** A part that would be told as nothing is left out. */
const leastPart = 0.1;

/** Seconds of what a run does before it samples its first tokens, part by part, told where they are many. */
export class StartClock {
  readonly #start = performance.now();
  readonly #seconds: Record<string, number> = {};
  #since = this.#start;

  done(part: string): void {
    const now = performance.now();
    this.#seconds[part] = (this.#seconds[part] ?? 0) + (now - this.#since) / 1000;
    this.#since = now;
  }

  notice(least = tellingSeconds): Notice | null {
    const total = (this.#since - this.#start) / 1000;
    if (total < least) return null;
    const long = Object.entries(this.#seconds).filter(([, seconds]) => seconds >= leastPart);
    const parts = long.map(([part, seconds]) => `${part} ${seconds.toFixed(1)}`);
    const message = `the start took ${total.toFixed(1)} s: ${parts.join(', ')}`;
    return { kind: 'info', name: 'start', message, detail: { seconds: { ...this.#seconds }, total } };
  }
}
