/** The columns of a bundle's ledger: what a search needs first, then texts, then what only the page of one rollout shows. The page imports it. */
import type { LedgerRow } from './api.ts';

type ColumnType = 'STRING' | 'INT32' | 'BOOLEAN' | 'DOUBLE' | 'JSON';

/** Columns that are side by side in the file are read together. */
export const ledgerColumns: { readonly [Name in Exclude<keyof LedgerRow, 'run'>]: ColumnType } = {
  id: 'STRING',
  update: 'INT32',
  group: 'INT32',
  member: 'INT32',
  problem: 'STRING',
  loophole: 'STRING',
  hackable: 'BOOLEAN',
  source: 'STRING',
  sampled: 'STRING',
  reward: 'DOUBLE',
  advantage: 'DOUBLE',
  trained: 'BOOLEAN',
  route: 'STRING',
  score: 'DOUBLE',
  low: 'DOUBLE',
  high: 'DOUBLE',
  hack: 'BOOLEAN',
  solve: 'BOOLEAN',
  attempt: 'BOOLEAN',
  truncated: 'BOOLEAN',
  tokens: 'INT32',
  outcome: 'STRING',
  meanLogp: 'DOUBLE',
  deployedNorm: 'DOUBLE',
  quarantineNorm: 'DOUBLE',
  prompt: 'STRING',
  completion: 'STRING',
  evidence: 'STRING',
  tokenIds: 'JSON',
  tokenLogps: 'JSON',
  tokenRoutes: 'STRING',
  tokenScores: 'JSON',
};

/** How a bundle lists the ledger of a run. */
export interface ListedLedger {
  readonly parquet: string;
  readonly bytes: number;
}
