/**
 * What a person should be told about a run beside its numbers. A warning belongs to the run and is written into its events; an info is
 * about this process and its machine and is only shown. Both are made outside the trainer: from its events, or while a run is prepared.
 */
import type { StepEvent, TrainEvent } from '../grpo/index.ts';

/** Warnings of one update. */
type UpdateWarning = 'misjudged-pairs' | 'no-signal';
/** Warnings of what a run was given, before its first update in this process. */
type PreparationWarning = 'problem-left-out' | 'demonstration-left-out' | 'other-device';

export interface WarningEvent {
  readonly kind: 'warning';
  /** Updates completed when it was said. */
  readonly update: number;
  readonly name: UpdateWarning | PreparationWarning;
  /** One sentence, complete without the detail. */
  readonly message: string;
  /** The same for programs. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

export interface InfoEvent {
  readonly kind: 'info';
  readonly update: number;
  readonly name: 'memory-plan' | 'already-finished';
  readonly message: string;
}

type WithoutUpdate<Event> = Event extends unknown ? Omit<Event, 'update'> : never;

/** What is said while a run is prepared; whoever prepares it knows how many updates are completed. */
export type Notice = WithoutUpdate<WarningEvent | InfoEvent>;

/** Everything a sink is told. */
export type RecordedEvent = TrainEvent | WarningEvent | InfoEvent;

/** A notice with the updates completed when it was said. */
export function stampNotice({ kind, ...rest }: Notice, update: number): WarningEvent | InfoEvent {
  return { kind, update, ...rest } as WarningEvent | InfoEvent;
}

export function stepWarnings({ update, direction, zeroSignal }: StepEvent): WarningEvent[] {
  const warnings: WarningEvent[] = [];
  if (direction !== null && direction.pairedAccuracy < 1) {
    const { wrongPairs, auroc } = direction;
    const message = `the direction misjudges pairs ${wrongPairs.join(', ')} (AUROC ${auroc.toFixed(2)})`;
    warnings.push({ kind: 'warning', update, name: 'misjudged-pairs', message, detail: { wrongPairs, auroc } });
  }
  if (zeroSignal !== null) {
    const { reason, skippedGroups, groups, routed, trained } = zeroSignal;
    const counts = `${skippedGroups}/${groups} groups skipped, ${routed}/${trained} rollouts routed`;
    const message = `no signal for the deployed block: ${reason} (${counts})`;
    warnings.push({ kind: 'warning', update, name: 'no-signal', message, detail: { ...zeroSignal } });
  }
  return warnings;
}

/** A warning of one update among many like it: in the run's events for whoever looks, too much for a picture of several runs. */
export function isOfOneUpdate(event: RecordedEvent): boolean {
  return event.kind === 'warning' && (event.name === 'misjudged-pairs' || event.name === 'no-signal');
}

/** An event as a line for a person, when it is one that should not be overlooked; else null. */
export function noticeText(event: RecordedEvent): string | null {
  if (event.kind === 'warning')
    return isOfOneUpdate(event) ? `update ${event.update}: ${event.message}` : event.message;
  if (event.kind === 'info') return event.message;
  if (event.kind === 'expectation' && !event.holds) return `EXPECTATION FAILED: ${event.name} (${event.detail})`;
  if (event.kind === 'stop' && event.reason === 'tripwire') return `tripwire: ${event.detail}`;
  return null;
}
