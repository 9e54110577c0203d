/** Reads a run's rollouts together with their verdicts, which training never sees, and its step events, one per update. */
import { UserError } from '../base/index.ts';
import type { Verdict } from '../env/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { readRunVerdicts, readVerdictColumns } from '../oracle/index.ts';
import type { RolloutRow, RunDirectory } from '../run/index.ts';
import { type ColumnBlock, readColumns, readEvents, readRollouts } from '../run/index.ts';

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
    const verdict = verdictOf(run, verdicts, row.id);
    return { ...row, ...labelsOf(verdict), verdict };
  });
}

const labelsOf = ({ exploited, correct, channels }: Pick<Verdict, 'exploited' | 'correct' | 'channels'>) => ({
  hack: exploited,
  solve: correct,
  attempt: channels.length > 0,
});

function verdictOf<Found>(run: RunDirectory, verdicts: ReadonlyMap<string, Found>, id: string): Found {
  const verdict = verdicts.get(id);
  if (verdict !== undefined) return verdict;
  throw new UserError({
    call: `read ${run.path}`,
    expected: `a verdict of rollout ${id}`,
    found: 'none',
    fix: 'The run directory was damaged: restore it, or train the run again.',
  });
}

const countedColumns = [
  'id',
  'update',
  'loophole',
  'hackable',
  'source',
  'sampled',
  'suspicion',
  'flagged',
  'advantage',
  'trained',
  'score',
  'low',
  'high',
  'route',
  'tokenRoutes',
] as const satisfies readonly (keyof RolloutRow)[];
const labelColumns = ['id', 'exploited', 'correct', 'channels'] as const satisfies readonly (keyof Verdict)[];

/** A rollout without its texts and the values of its tokens: what is counted over a run. */
export type RolloutOutcome = Pick<JudgedRollout, (typeof countedColumns)[number] | 'hack' | 'solve' | 'attempt'>;

/** What `readJudged` reads, as far as it is counted; of a run that is over only these columns are read. */
export async function readOutcomes(run: RunDirectory): Promise<readonly RolloutOutcome[]> {
  if (!run.isSealed()) return readJudged(run);
  const verdicts = new Map<string, Pick<Verdict, (typeof labelColumns)[number]>>();
  for await (const block of readVerdictColumns(run, labelColumns)) {
    for (const verdict of rowsOf(block, labelColumns)) verdicts.set(verdict.id, verdict);
  }
  const outcomes: RolloutOutcome[] = [];
  const blocks = readColumns<Pick<RolloutRow, (typeof countedColumns)[number]>>(run.file('rollouts'), countedColumns);
  for await (const block of blocks) {
    for (const row of rowsOf(block, countedColumns)) {
      outcomes.push(Object.assign(row, labelsOf(verdictOf(run, verdicts, row.id))));
    }
  }
  return outcomes;
}

function rowsOf<Row extends object>({ rows, values }: ColumnBlock<Row>, names: readonly (keyof Row)[]): Row[] {
  const made = Array.from({ length: rows }, (): Partial<Row> => ({}));
  for (const name of names) {
    const own = values[name];
    for (let i = 0; i < rows; i++) made[i][name] = own[i];
  }
  return made as Row[];
}

/** The step events of a run, in the order of the updates. */
export async function readSteps(run: RunDirectory): Promise<StepEvent[]> {
  const steps: StepEvent[] = [];
  for await (const event of readEvents(run)) if (event.kind === 'step') steps.push(event);
  return steps;
}

export type RunStatus = 'finished' | 'tripwire' | 'unfinished';

/** The step events of a run and how it ended, from one reading. */
export async function readCourse(run: RunDirectory): Promise<{ steps: StepEvent[]; status: RunStatus }> {
  const steps: StepEvent[] = [];
  let status: RunStatus | null = null;
  for await (const event of readEvents(run)) {
    if (event.kind === 'step') steps.push(event);
    if (event.kind === 'stop') status ??= event.reason;
  }
  return { steps, status: status ?? 'unfinished' };
}

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
