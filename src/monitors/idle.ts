/** Arms that never acted: past its warm-up the monitor flagged, or the gate routed, nothing in the whole run. */
import type { StepEvent } from '../grpo/index.ts';

export interface Idle {
  readonly what: 'monitor' | 'gate';
  /** Of its updates those that are past the warm-up, with their rollouts. */
  readonly updates: number;
  readonly rollouts: number;
  readonly hasQuarantine: boolean;
}

/** What these take off rewards goes by scores, so that no flag is needed. */
const byScores: readonly unknown[] = ['probe-penalty', 'activation-penalty'];

const remedyOf = ({ kind, remedy }: { readonly [key: string]: unknown }): unknown =>
  (remedy as { readonly kind?: unknown } | undefined)?.kind ?? kind;

/** Whether an arm has a monitor or a gate whose flags decide something; it may be in its warm-up yet. */
export function actsOnFlags(steps: readonly StepEvent[], arm: { readonly kind: string }): boolean {
  if (byScores.includes(remedyOf(arm))) return false;
  return steps.some(({ watched, cuts, scores }) => (watched ?? cuts ?? scores ?? null) !== null);
}

/** Null for an arm that flagged something, whose warm-up has not ended, or that has neither monitor nor gate. */
export function findIdle(
  steps: readonly StepEvent[],
  { arm, hasQuarantine }: { readonly arm: { readonly kind: string }; readonly hasQuarantine: boolean },
): Idle | null {
  if (!actsOnFlags(steps, arm)) return null;
  const [watched, gated] = [
    steps.filter((step) => (step.watched?.cut ?? null) !== null),
    steps.filter(({ cuts }) => (cuts ?? null) !== null),
  ];
  // An abstention may count as a flag in the warm-up too.
  const isFlagged = steps.some((step) => (step.watched?.flagged ?? 0) > 0 || step.routes.route > 0);
  const ready = watched.length > 0 ? watched : gated;
  if (isFlagged || ready.length === 0) return null;
  const rollouts = ready.reduce((sum, step) => sum + step.rollouts, 0);
  return { what: watched.length > 0 ? 'monitor' : 'gate', updates: ready.length, rollouts, hasQuarantine };
}

export function idleText({ what, rollouts, hasQuarantine }: Idle): string {
  const lacks = hasQuarantine
    ? 'no hack was sent to the quarantine that deployment deletes'
    : 'this arm did nothing that vanilla, which has no monitor, does not do';
  const found = what === 'monitor' ? 'monitor flagged' : 'gate routed';
  return `the ${found} 0 of ${rollouts} rollouts past its warm-up: ${lacks}. Either nothing hacked, or its cut lies above all its scores`;
}
