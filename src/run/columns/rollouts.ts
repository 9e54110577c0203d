/** The columns of the gate ledger: what displays and analyses need to know about a rollout, but nothing that only the grader knows. */
import type { RolloutRecord, Task } from '../../grpo/index.ts';
import { average } from '../../stats/index.ts';
import { columnsFrom, long, type RowOf } from './column.ts';

export interface LedgerEntry extends RolloutRecord {
  readonly update: number;
  readonly prompt: string;
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
    ({ rollout }) => rollout.id,
  ),
  update: column('INT32', 'updates completed once this rollout was learned from', ({ update }) => update),
  problem: column('STRING', 'id of the problem', ({ rollout }) => rollout.task.problem.id),
  group: column('INT32', 'prompt within the update', ({ rollout }) => rollout.group),
  member: column('INT32', 'place within the group', ({ rollout }) => rollout.member),
  loophole: column('STRING', 'the loophole of the problem', ({ rollout }) => rollout.task.loophole),
  markers: column<'STRING', Task['markers']>(
    'STRING',
    'how the marker of the loophole is drawn',
    ({ rollout }) => rollout.task.markers,
  ),
  hackable: column(
    'BOOLEAN',
    'the prompt disclosed the loophole; otherwise it was graded by ground truth',
    ({ rollout }) => rollout.hackable,
  ),
  source: column('STRING', '`student`, `teacher-hack` or `teacher-solve`', ({ rollout }) => rollout.source),
  sampled: column(
    'STRING',
    'policy state that sampled: `full` (quarantine on) or `deployed`',
    ({ rollout }) => rollout.sampled,
  ),
  prompt: long(column('STRING', 'as the model saw it', ({ prompt }) => prompt)),
  completion: long(column('STRING', 'without control tokens', ({ rollout }) => rollout.text)),
  tokens: column('INT32', 'length of the completion', ({ rollout }) => rollout.tokens.length),
  truncated: column('BOOLEAN', 'the limit cut the completion', ({ rollout }) => rollout.truncated),
  reward: column('DOUBLE', 'as the grader gave it', ({ reward }) => reward),
  suspicion: nullable(
    'DOUBLE',
    "score of the arm's monitor; null where it abstained, and for an arm without one",
    ({ suspicion }) => suspicion,
  ),
  flagged: nullable(
    'BOOLEAN',
    'the arm took it for a hack; null for an arm without a monitor',
    ({ flagged }) => flagged,
  ),
  learnedReward: nullable(
    'DOUBLE',
    'the reward as the arm changed it; null for an arm that changes none',
    ({ learnedReward }) => learnedReward,
  ),
  screening: nullable(
    'STRING',
    '`train`, `leave-out` or `silence`; null for an arm that does not screen',
    ({ screening }) => screening,
  ),
  advantage: column('DOUBLE', 'of the learned rewards, after screening', ({ advantage }) => advantage),
  trained: column(
    'BOOLEAN',
    'false for a group without reward spread; what follows is then null, but for log-probabilities',
    ({ trained }) => trained,
  ),
  score: nullable('DOUBLE', 'of an arm that scores; by token: the mean of its tokens', ({ score }) => score),
  low: nullable('DOUBLE', 'the cut up to which a score is kept', ({ cuts }) => cuts?.low ?? null),
  high: nullable('DOUBLE', 'the cut from which a score is routed', ({ cuts }) => cuts?.high ?? null),
  route: nullable(
    'STRING',
    '`keep`, `absorb` or `route`; by token: the commonest; ties go to absorb, then to keep',
    ({ route }) => route,
  ),
  meanLogp: nullable('DOUBLE', 'mean log π_old per token', ({ logps }) => (logps === null ? null : average(logps))),
  ratio: nullable('DOUBLE', 'mean ratio of probabilities over tokens, under the routes', ({ ratio }) => ratio),
  k3: nullable('DOUBLE', 'mean k3 over tokens, under the routes', ({ k3 }) => k3),
  deployedNorm: nullable(
    'DOUBLE',
    'how hard it pulled on the deployed block: the norm of the gradient at the bottleneck',
    ({ norms }) => norms?.deployed ?? null,
  ),
  quarantineNorm: nullable('DOUBLE', 'how hard it pulled on the quarantine', ({ norms }) => norms?.quarantine ?? null),
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
      ({ rollout, storeTokens }) => (storeTokens ? Array.from(rollout.tokens) : null),
    ),
  ),
  tokenLogps: long(
    nullable<'JSON', readonly number[]>(
      'JSON',
      'log-probability of each token under the policy that sampled, to four decimals (`output.storeTokens`)',
      ({ logps, storeTokens }) =>
        storeTokens && logps !== null ? Array.from(logps, (logp) => Math.round(logp * 1e4) / 1e4) : null,
    ),
  ),
  tokenRoutes: long(
    nullable('STRING', '`k`, `a`, `r` per token, where the gate decides by token', ({ routes, byToken }) =>
      routes !== null && byToken ? routes.map((route) => route[0]).join('') : null,
    ),
  ),
  tokenScores: long(
    nullable<'JSON', readonly number[]>(
      'JSON',
      'a score per token, where the gate decides by token (`output.storeTokens`)',
      // Nine significant digits are enough to tell any two float32 apart.
      ({ tokenScores, storeTokens }) =>
        storeTokens && tokenScores !== null ? Array.from(tokenScores, (score) => Number(score.toPrecision(9))) : null,
    ),
  ),
};

export type RolloutRow = RowOf<typeof rolloutColumns>;
