/** The rows of the gate ledger: what displays and analyses need to know about a rollout, but nothing that only the grader knows. */
import type { RolloutRecord } from '../grpo/index.ts';
import { average } from '../stats/index.ts';
import type { TableColumns } from './table.ts';

export interface RolloutRow {
  readonly id: string;
  readonly update: number;
  readonly problem: string;
  readonly group: number;
  readonly member: number;
  readonly loophole: string;
  readonly markers: string;
  readonly hackable: boolean;
  readonly source: string;
  readonly sampled: string;
  readonly prompt: string;
  readonly completion: string;
  readonly tokens: number;
  readonly truncated: boolean;
  /** The grader's reward. */
  readonly reward: number;
  /** The score of the arm's monitor; null where it abstained, and for an arm without one. */
  readonly suspicion: number | null;
  /** Whether the arm took the rollout for a hack; null for an arm without a monitor. */
  readonly flagged: boolean | null;
  /** The reward that the arm made of it; null for an arm that changes no rewards. */
  readonly learnedReward: number | null;
  /** What the arm's screen hook said; null for an arm without that hook. */
  readonly screening: string | null;
  readonly advantage: number;
  readonly trained: boolean;
  readonly score: number | null;
  readonly low: number | null;
  readonly high: number | null;
  readonly route: string | null;
  readonly meanLogp: number | null;
  readonly ratio: number | null;
  readonly k3: number | null;
  readonly deployedNorm: number | null;
  readonly quarantineNorm: number | null;
  /** Index of its first row in features.f32; null when no features were stored. */
  readonly featureRow: number | null;
  /** Number of its rows in features.f32: more than one where the gate decides by token; null when none were stored. */
  readonly featureRows: number | null;
  /** Token ids of the completion; null when tokens are not stored. */
  readonly tokenIds: readonly number[] | null;
  /** Log-probability of each token under the policy that sampled, to four decimals. */
  readonly tokenLogps: readonly number[] | null;
  /** One letter per token (k, a or r); null unless the gate decides by token. */
  readonly tokenRoutes: string | null;
  /** One score per token, to the precision of a float32; null unless tokens are stored and the gate decides by token. */
  readonly tokenScores: readonly number[] | null;
}

export const rolloutColumns: TableColumns<RolloutRow> = {
  id: 'STRING',
  update: 'INT32',
  problem: 'STRING',
  group: 'INT32',
  member: 'INT32',
  loophole: 'STRING',
  markers: 'STRING',
  hackable: 'BOOLEAN',
  source: 'STRING',
  sampled: 'STRING',
  prompt: 'STRING',
  completion: 'STRING',
  tokens: 'INT32',
  truncated: 'BOOLEAN',
  reward: 'DOUBLE',
  suspicion: 'DOUBLE',
  flagged: 'BOOLEAN',
  learnedReward: 'DOUBLE',
  screening: 'STRING',
  advantage: 'DOUBLE',
  trained: 'BOOLEAN',
  score: 'DOUBLE',
  low: 'DOUBLE',
  high: 'DOUBLE',
  route: 'STRING',
  meanLogp: 'DOUBLE',
  ratio: 'DOUBLE',
  k3: 'DOUBLE',
  deployedNorm: 'DOUBLE',
  quarantineNorm: 'DOUBLE',
  featureRow: 'INT32',
  featureRows: 'INT32',
  tokenIds: 'JSON',
  tokenLogps: 'JSON',
  tokenRoutes: 'STRING',
  tokenScores: 'JSON',
};

export interface RowNotes {
  readonly update: number;
  readonly prompt: string;
  readonly featureRow: number | null;
  readonly featureRows: number | null;
  readonly storeTokens: boolean;
  /** Whether routes are by token in this update, so that a completion of one token has token routes too. */
  readonly byToken?: boolean;
}

export function rolloutRow(record: RolloutRecord, notes: RowNotes): RolloutRow {
  const { rollout, norms, cuts, logps, routes, tokenScores } = record;
  const { task } = rollout;
  const { update, prompt, featureRow, featureRows, storeTokens, byToken = (routes?.length ?? 0) > 1 } = notes;
  return {
    id: rollout.id,
    update,
    problem: task.problem.id,
    group: rollout.group,
    member: rollout.member,
    loophole: task.loophole,
    markers: task.markers,
    hackable: rollout.hackable,
    source: rollout.source,
    sampled: rollout.sampled,
    prompt,
    completion: rollout.text,
    tokens: rollout.tokens.length,
    truncated: rollout.truncated,
    reward: record.reward,
    suspicion: record.suspicion,
    flagged: record.flagged,
    learnedReward: record.learnedReward,
    screening: record.screening,
    advantage: record.advantage,
    trained: record.trained,
    score: record.score,
    low: cuts?.low ?? null,
    high: cuts?.high ?? null,
    route: record.route,
    meanLogp: logps === null ? null : average(logps),
    ratio: record.ratio,
    k3: record.k3,
    deployedNorm: norms?.deployed ?? null,
    quarantineNorm: norms?.quarantine ?? null,
    featureRow,
    featureRows,
    tokenIds: storeTokens ? Array.from(rollout.tokens) : null,
    tokenLogps: storeTokens && logps !== null ? Array.from(logps, (logp) => Math.round(logp * 1e4) / 1e4) : null,
    tokenRoutes: routes !== null && byToken ? routes.map((route) => route[0]).join('') : null,
    // Nine significant digits are enough to tell any two float32 apart.
    tokenScores:
      storeTokens && tokenScores !== null ? Array.from(tokenScores, (score) => Number(score.toPrecision(9))) : null,
  };
}
