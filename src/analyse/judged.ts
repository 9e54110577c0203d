/** Reads a run's rollouts together with their verdicts, which training never sees, and its step events, one per update. */
import { UserError } from '../base/index.ts';
import type { Verdict } from '../env/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { readRunVerdicts } from '../oracle/index.ts';
import type { RolloutRow, RunDirectory } from '../run/index.ts';
import { readEvents, readRollouts } from '../run/index.ts';

export interface JudgedRollout extends RolloutRow {
  readonly hack: boolean;
  readonly solve: boolean;
  /** Whether any channel fired, whatever the loophole, in a correct program too. */
  readonly attempt: boolean;
  readonly verdict: Verdict;
}

export async function readJudged(run: RunDirectory): Promise<JudgedRollout[]> {
  const rows: RolloutRow[] = [];
  for await (const row of readRollouts(run)) rows.push(row);
  // While a run is trained, a verdict is written before its rollout: read in this order, none is missing.
  const verdicts = await readRunVerdicts(run);
  return rows.map((row) => {
    const verdict = verdicts.get(row.id);
    if (verdict === undefined) {
      throw new UserError({
        call: `read ${run.path}`,
        expected: `a verdict of rollout ${row.id}`,
        found: 'none',
        fix: 'The run directory was damaged: restore it, or train the run again.',
      });
    }
    return {
      ...row,
      hack: verdict.exploited,
      solve: verdict.correct,
      attempt: verdict.channels.length > 0,
      verdict,
    };
  });
}

/** The step events of a run, in the order of the updates. */
export async function readSteps(run: RunDirectory): Promise<StepEvent[]> {
  const steps: StepEvent[] = [];
  for await (const event of readEvents(run)) if (event.kind === 'step') steps.push(event);
  return steps;
}

export type RunStatus = 'finished' | 'tripwire' | 'unfinished';

export async function readStatus(run: RunDirectory): Promise<RunStatus> {
  for await (const event of readEvents(run)) if (event.kind === 'stop') return event.reason;
  return 'unfinished';
}

/** Groups rows by a key; groups are in the order in which their keys first appear. */
export function groupBy<Row, Key>(rows: Iterable<Row>, keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>();
  for (const row of rows) {
    const key = keyOf(row);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [row]);
    else known.push(row);
  }
  return groups;
}
