/** The rows of rollouts.jsonl: everything a screen or an analysis needs about a rollout, and nothing the grader alone knows. */
import type { RolloutRecord } from '../grpo/events.ts';

export interface RolloutRow {
  readonly id: string;
  readonly update: number;
  readonly problem: string;
  readonly group: number;
  readonly member: number;
  readonly mode: string;
  readonly markers: string;
  readonly hackable: boolean;
  readonly source: string;
  readonly sampled: string;
  readonly prompt: string;
  readonly completion: string;
  readonly tokens: number;
  readonly truncated: boolean;
  readonly reward: number;
  readonly advantage: number;
  readonly trained: boolean;
  readonly score: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly zone: string | null;
  readonly meanLogp: number | null;
  readonly ratio: number | null;
  readonly k3: number | null;
  readonly deployedNorm: number | null;
  readonly quarantineNorm: number | null;
  /** Row of features.f32, or null. */
  readonly featureRow: number | null;
}

export function rolloutRow(
  record: RolloutRecord,
  update: number,
  prompt: string,
  featureRow: number | null,
): RolloutRow {
  const { rollout, norms, cuts } = record;
  const { task } = rollout;
  return {
    id: rollout.id,
    update,
    problem: task.problem.id,
    group: rollout.group,
    member: rollout.member,
    mode: task.mode,
    markers: task.markers,
    hackable: rollout.hackable,
    source: rollout.source,
    sampled: rollout.sampled,
    prompt,
    completion: rollout.text,
    tokens: rollout.tokens.length,
    truncated: rollout.truncated,
    reward: record.reward,
    advantage: record.advantage,
    trained: record.trained,
    score: record.score,
    low: cuts?.low ?? null,
    high: cuts?.high ?? null,
    zone: record.zone,
    meanLogp: record.meanLogp,
    ratio: record.ratio,
    k3: record.k3,
    deployedNorm: norms?.deployed ?? null,
    quarantineNorm: norms?.quarantine ?? null,
    featureRow,
  };
}
