/** A table of rollouts with their verdicts that is in memory, from the columns that a test is about. */
import type { Verdict } from '../src/env/verdict.ts';
import type { JudgedRollout } from '../src/oracle/judged/columns.ts';
import { JudgedTable } from '../src/oracle/judged/table.ts';
import { LinesTable, type RolloutRow } from '../src/run/columns/index.ts';

const usual: Omit<JudgedRollout, 'id'> = {
  ...{ update: 1, problem: 'p', group: 0, member: 0, loophole: 'run_tests', markers: 'original', hackable: true },
  ...{ source: 'student', sampled: 'full', prompt: 'ask', completion: 'answer', tokens: 1, truncated: false },
  ...{ reward: 0, suspicion: null, flagged: null, learnedReward: null, screening: null, advantage: 0, trained: true },
  ...{ score: null, low: null, high: null, route: 'absorb', meanLogp: null, ratio: null, k3: null },
  ...{ deployedNorm: null, quarantineNorm: null, featureRow: null, featureRows: null },
  ...{ tokenIds: null, tokenLogps: null, tokenRoutes: null, tokenScores: null },
  ...{ hack: false, solve: false, attempt: false, outcome: 'ok', compiles: true, channels: [], evidence: '' },
};

export type MadeRow = Partial<JudgedRollout> & { readonly id: string };

const lines = <Row>(values: readonly object[]): LinesTable<Row> => {
  return new LinesTable(() => {
    let looks = 0;
    return () => ({ values: looks++ === 0 ? values : [], restarted: false });
  });
};

export function judgedRows(rows: readonly MadeRow[], name = 'a run'): JudgedTable {
  const whole = rows.map((row) => ({ ...usual, ...row }));
  const verdicts = whole.map(({ id, hack, solve, attempt, outcome, compiles, channels, evidence }) => ({
    ...{ id, outcome, compiles, evidence, exploited: hack, correct: solve },
    channels: (attempt || hack) && channels.length === 0 ? ['run_tests'] : channels,
  }));
  // Verdicts need not be in the order of the rollouts.
  return new JudgedTable(name, lines<RolloutRow>(whole), lines<Verdict>(verdicts.toReversed()));
}
