/**
 * The rollouts of a run as a search needs them, without tokens and evidence, which only the page of one rollout shows. Those of a run
 * that is over are read by columns. Those of a run that is trained are read on from where the last look ended.
 */
import { UserError } from '../base/index.ts';
import type { JsonlFollower } from '../base/node/index.ts';
import type { Verdict } from '../env/index.ts';
import { followVerdicts, readVerdictColumns } from '../oracle/index.ts';
import { followRollouts, type RolloutRow, type RunDirectory, readColumns } from '../run/index.ts';
import type { SearchRow } from './api.ts';

const rolloutNames = [
  'id',
  'update',
  'group',
  'member',
  'problem',
  'loophole',
  'hackable',
  'source',
  'sampled',
  'reward',
  'advantage',
  'trained',
  'route',
  'score',
  'low',
  'high',
  'truncated',
  'tokens',
  'prompt',
  'completion',
  'meanLogp',
  'deployedNorm',
  'quarantineNorm',
] as const;

type RolloutPart = Pick<RolloutRow, (typeof rolloutNames)[number]>;

const verdictNames = ['id', 'exploited', 'correct', 'channels', 'outcome'] as const;
type VerdictPart = Pick<Verdict, (typeof verdictNames)[number]>;
type Judged = Pick<SearchRow, 'hack' | 'solve' | 'attempt' | 'outcome'>;

const judgedOf = ({ exploited, correct, channels, outcome }: Omit<VerdictPart, 'id'>): Judged => ({
  hack: exploited,
  solve: correct,
  attempt: channels.length > 0,
  outcome,
});

/** The rollouts of a run that is over. `id`: of the run, in the folder that is viewed. */
export async function sealedRows(run: RunDirectory, id: string): Promise<SearchRow[]> {
  const verdicts = new Map<string, Judged>();
  for await (const { rows, values } of readVerdictColumns(run, verdictNames)) {
    const { exploited, correct, channels, outcome } = values;
    for (let i = 0; i < rows; i++) {
      const own = { exploited: exploited[i], correct: correct[i], channels: channels[i], outcome: outcome[i] };
      verdicts.set(values.id[i], judgedOf(own));
    }
  }
  const found: SearchRow[] = [];
  for await (const { rows, values } of readColumns<RolloutPart>(run.file('rollouts'), rolloutNames)) {
    for (let i = 0; i < rows; i++) {
      const row = {
        id: values.id[i],
        update: values.update[i],
        group: values.group[i],
        member: values.member[i],
        problem: values.problem[i],
        loophole: values.loophole[i],
        hackable: values.hackable[i],
        source: values.source[i],
        sampled: values.sampled[i],
        reward: values.reward[i],
        advantage: values.advantage[i],
        trained: values.trained[i],
        route: values.route[i],
        score: values.score[i],
        low: values.low[i],
        high: values.high[i],
        truncated: values.truncated[i],
        tokens: values.tokens[i],
        prompt: values.prompt[i],
        completion: values.completion[i],
        meanLogp: values.meanLogp[i],
        deployedNorm: values.deployedNorm[i],
        quarantineNorm: values.quarantineNorm[i],
      };
      found.push(searchRow(run, id, row, verdicts));
    }
  }
  return found;
}

/** The same text outside the heap of JavaScript, whose limit is lower than that of the machine. Its characters are of one byte. */
export const besideHeap = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** The rollouts of a run that is not over; each look adds what was written since the last. */
export class GrowingRows {
  readonly #run: RunDirectory;
  readonly #id: string;
  readonly #rollouts: JsonlFollower;
  readonly #verdicts: JsonlFollower;
  readonly #judged = new Map<string, Judged>();
  #rows: SearchRow[] = [];

  constructor(run: RunDirectory, id: string) {
    this.#run = run;
    this.#id = id;
    this.#rollouts = followRollouts(run);
    this.#verdicts = followVerdicts(run);
  }

  read(): readonly SearchRow[] {
    // A verdict is written before its rollout: read in this order, none is missing.
    const grown = this.#rollouts.read();
    for (const verdict of this.#verdicts.read().values as readonly VerdictPart[]) {
      this.#judged.set(verdict.id, judgedOf(verdict));
    }
    // Rows that were given away stay as they are.
    const rows = grown.restarted ? [] : [...this.#rows];
    for (const row of grown.values as readonly RolloutPart[]) {
      rows.push(searchRow(this.#run, this.#id, row, this.#judged));
    }
    this.#rows = rows;
    return rows;
  }
}

/** Written out, so that all rows have one shape: what reads them is then several times as fast. */
function searchRow(run: RunDirectory, id: string, row: RolloutPart, verdicts: ReadonlyMap<string, Judged>): SearchRow {
  const verdict = verdicts.get(row.id);
  if (verdict === undefined) throw missingVerdict(run, row.id);
  return {
    run: id,
    id: row.id,
    update: row.update,
    group: row.group,
    member: row.member,
    problem: row.problem,
    loophole: row.loophole,
    hackable: row.hackable,
    source: row.source,
    sampled: row.sampled,
    reward: row.reward,
    advantage: row.advantage,
    trained: row.trained,
    route: row.route,
    score: row.score,
    low: row.low,
    high: row.high,
    truncated: row.truncated,
    tokens: row.tokens,
    prompt: row.prompt,
    completion: row.completion,
    meanLogp: row.meanLogp,
    deployedNorm: row.deployedNorm,
    quarantineNorm: row.quarantineNorm,
    hack: verdict.hack,
    solve: verdict.solve,
    attempt: verdict.attempt,
    outcome: verdict.outcome,
  };
}

function missingVerdict(run: RunDirectory, id: string): UserError {
  return new UserError({
    call: `read ${run.path}`,
    expected: `a verdict of rollout ${id}`,
    found: 'none',
    fix: 'The run directory was damaged: restore it, or train the run again.',
  });
}
