/** What a person should be told: a warning is written into the run's events, an info concerns this process alone. */
import type { StepEvent, TrainEvent } from '../grpo/index.ts';

type UpdateWarning = 'misjudged-pairs' | 'no-signal' | 'silent-monitor';
type PreparationWarning = 'problems-left-out' | 'demonstration-left-out' | 'other-device';

interface Told<Kind extends string, Name extends string> {
  readonly kind: Kind;
  readonly update: number;
  readonly name: Name;
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

export type WarningEvent = Told<'warning', UpdateWarning | PreparationWarning>;
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
  | 'start'
  | 'arm'
>;

type WithoutUpdate<Event> = Event extends unknown ? Omit<Event, 'update'> : never;

export type Notice = WithoutUpdate<WarningEvent | InfoEvent>;

export type RecordedEvent = TrainEvent | WarningEvent | InfoEvent;

export function stampNotice({ kind, ...rest }: Notice, update: number): WarningEvent | InfoEvent {
  return { kind, update, ...rest } as WarningEvent | InfoEvent;
}

export function stepWarnings({ update, direction, zeroSignal, watched, rollouts }: StepEvent): WarningEvent[] {
  const warnings: WarningEvent[] = [];
  if (direction !== null && direction.pairedAccuracy < 1) {
    const { wrongPairs, auroc } = direction;
    const message = `the direction ranks pairs ${wrongPairs.join(', ')} the wrong way round (AUROC ${auroc.toFixed(2)})`;
    warnings.push({ kind: 'warning', update, name: 'misjudged-pairs', message, detail: { wrongPairs, auroc } });
  }
  if (zeroSignal !== null) {
    const { reason, skippedGroups, groups, routed, trained } = zeroSignal;
    const counts = `${skippedGroups}/${groups} groups skipped, ${routed}/${trained} rollouts routed`;
    const message = `no signal for the deployed block: ${reason} (${counts})`;
    warnings.push({ kind: 'warning', update, name: 'no-signal', message, detail: { ...zeroSignal } });
  }
  if (watched !== null && rollouts > 0 && watched.abstained === rollouts) {
    const { abstained, abstentions } = watched;
    const reasons = Object.entries(abstentions).map(([reason, count]) => `${reason} (${count})`);
    const message = `the monitor abstained on all ${abstained} rollouts: ${reasons.join(', ')}; arm.abstain alone decided`;
    warnings.push({ kind: 'warning', update, name: 'silent-monitor', message, detail: { abstained, abstentions } });
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
