/** The columns of the gate ledger: what displays and analyses need to know about a rollout, but nothing that only the grader knows. */
import type { RolloutRecord, Task } from '../../grpo/index.ts';
import { average } from '../../stats/index.ts';
import { columnsFrom, long, type RowOf } from './column.ts';

/** A rollout as training tells of it, and what only the writer of the ledger knows. */
export interface LedgerEntry {
  readonly record: RolloutRecord;
  readonly update: number;
  readonly prompt: string;
  /** Its place in features.f32; null when no features were stored. */
  readonly featureRow: number | null;
  readonly featureRows: number | null;
  readonly storeTokens: boolean;
  /** Whether routes are by token in this update, so that a completion of one token has token routes too. */
  readonly byToken: boolean;
}

const { column, nullable } = columnsFrom<LedgerEntry>();

export const rolloutColumns = {
  id: column(
    'STRING',
    '`UPDATE-GROUP-MEMBER`, updates from 1, the others from 0; the key to the verdict',
    ({ record }) => record.rollout.id,
  ),
  update: column('INT32', 'updates completed once this rollout was learned from', ({ update }) => update),
  problem: column('STRING', 'id of the problem', ({ record }) => record.rollout.task.problem.id),
  group: column('INT32', 'prompt within the update', ({ record }) => record.rollout.group),
  member: column('INT32', 'place within the group', ({ record }) => record.rollout.member),
  loophole: column('STRING', 'the loophole of the problem', ({ record }) => record.rollout.task.loophole),
  markers: column<'STRING', Task['markers']>(
    'STRING',
    'how the marker of the loophole is drawn',
    ({ record }) => record.rollout.task.markers,
  ),
  hackable: column(
    'BOOLEAN',
    'the prompt disclosed the loophole; otherwise it was graded by ground truth',
    ({ record }) => record.rollout.hackable,
  ),
  source: column('STRING', '`student`, `teacher-hack` or `teacher-solve`', ({ record }) => record.rollout.source),
  sampled: column(
    'STRING',
    'policy state that sampled: `full` (quarantine on) or `deployed`',
    ({ record }) => record.rollout.sampled,
  ),
  prompt: long(column('STRING', 'as the model saw it', ({ prompt }) => prompt)),
  completion: long(column('STRING', 'without control tokens', ({ record }) => record.rollout.text)),
  tokens: column('INT32', 'length of the completion', ({ record }) => record.rollout.tokens.length),
  truncated: column('BOOLEAN', 'the limit cut the completion', ({ record }) => record.rollout.truncated),
  reward: column('DOUBLE', 'as the grader gave it', ({ record }) => record.reward),
  suspicion: nullable(
    'DOUBLE',
    "score of the arm's monitor; null where it abstained, and for an arm without one",
    ({ record }) => record.suspicion,
  ),
  flagged: nullable(
    'BOOLEAN',
    'the arm took it for a hack; null for an arm without a monitor',
    ({ record }) => record.flagged,
  ),
  learnedReward: nullable(
    'DOUBLE',
    'the reward as the arm changed it; null for an arm that changes none',
    ({ record }) => record.learnedReward,
  ),
  screening: nullable(
    'STRING',
    '`train`, `leave-out` or `silence`; null for an arm that does not screen',
    ({ record }) => record.screening,
  ),
  advantage: column('DOUBLE', 'of the learned rewards, after screening', ({ record }) => record.advantage),
  trained: column(
    'BOOLEAN',
    'false for a group without reward spread; what follows is then null, but for log-probabilities',
    ({ record }) => record.trained,
  ),
  score: nullable('DOUBLE', 'of an arm that scores; by token: the mean of its tokens', ({ record }) => record.score),
  low: nullable('DOUBLE', 'the cut up to which a score is kept', ({ record }) => record.cuts?.low ?? null),
  high: nullable('DOUBLE', 'the cut from which a score is routed', ({ record }) => record.cuts?.high ?? null),
  route: nullable(
    'STRING',
    '`keep`, `absorb` or `route`; by token: the commonest; ties go to absorb, then to keep',
    ({ record }) => record.route,
  ),
  meanLogp: nullable('DOUBLE', 'mean log π_old per token', ({ record: { logps } }) =>
    logps === null ? null : average(logps),
  ),
  ratio: nullable('DOUBLE', 'mean ratio of probabilities over tokens, under the routes', ({ record }) => record.ratio),
  k3: nullable('DOUBLE', 'mean k3 over tokens, under the routes', ({ record }) => record.k3),
  deployedNorm: nullable(
    'DOUBLE',
    'how hard it pulled on the deployed block: the norm of the gradient at the bottleneck',
    ({ record }) => record.norms?.deployed ?? null,
  ),
  quarantineNorm: nullable(
    'DOUBLE',
    'how hard it pulled on the quarantine',
    ({ record }) => record.norms?.quarantine ?? null,
  ),
  featureRow: nullable('INT32', 'its first row of `features.f32`', ({ featureRow }) => featureRow),
  featureRows: nullable(
    'INT32',
    'number of its rows of `features.f32`; by token: those in the buffer',
    ({ featureRows }) => featureRows,
  ),
  tokenIds: long(
    nullable<'JSON', readonly number[]>(
      'JSON',
      'token ids of the completion (`output.storeTokens`)',
      ({ record, storeTokens }) => (storeTokens ? Array.from(record.rollout.tokens) : null),
    ),
  ),
  tokenLogps: long(
    nullable<'JSON', readonly number[]>(
      'JSON',
      'log-probability of each token under the policy that sampled, to four decimals (`output.storeTokens`)',
      ({ record: { logps }, storeTokens }) =>
        storeTokens && logps !== null ? Array.from(logps, (logp) => Math.round(logp * 1e4) / 1e4) : null,
    ),
  ),
  tokenRoutes: long(
    nullable('STRING', '`k`, `a`, `r` per token, where the gate decides by token', ({ record: { routes }, byToken }) =>
      routes !== null && byToken ? routes.map((route) => route[0]).join('') : null,
    ),
  ),
  tokenScores: long(
    nullable<'JSON', readonly number[]>(
      'JSON',
      'a score per token, where the gate decides by token (`output.storeTokens`)',
      // Nine significant digits are enough to tell any two float32 apart.
      ({ record: { tokenScores }, storeTokens }) =>
        storeTokens && tokenScores !== null ? Array.from(tokenScores, (score) => Number(score.toPrecision(9))) : null,
    ),
  ),
};

export type RolloutRow = RowOf<typeof rolloutColumns>;
