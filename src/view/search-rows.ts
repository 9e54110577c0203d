/**
 * The rollouts of a run as a search needs them, without tokens and evidence, which only the page of one rollout shows. Those of a run
 * that is over are read by columns. Those of a run that is trained are read on from where the last look ended.
 */
import { type JudgedTable, openJudged } from '../oracle/index.ts';
import type { RunDirectory } from '../run/index.ts';
import { rolloutDetails, type SearchRow } from './api.ts';

/** What the page is shown of a rollout. */
export const ledgerNames = [
  ...(['id', 'update', 'group', 'member', 'problem', 'loophole', 'hackable', 'source', 'sampled'] as const),
  ...(['reward', 'advantage', 'trained', 'route', 'score', 'low', 'high', 'hack', 'solve', 'attempt'] as const),
  ...(['truncated', 'tokens', 'prompt', 'completion', 'outcome', 'evidence'] as const),
  ...(['meanLogp', 'deployedNorm', 'quarantineNorm'] as const),
  ...(['tokenIds', 'tokenLogps', 'tokenRoutes', 'tokenScores'] as const),
];
type SearchName = Exclude<(typeof ledgerNames)[number], (typeof rolloutDetails)[number]>;
const searchNames = ledgerNames.filter((name) => !(rolloutDetails as readonly string[]).includes(name)) as SearchName[];

/** The same text outside the heap of JavaScript, whose limit is lower than that of the machine. Its characters are of one byte. */
export const besideHeap = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** The rollouts of a run. `id`: of the run, in the folder that is viewed. A table of a run that is not over reads on from where it was. */
export async function searchRows(
  run: RunDirectory,
  id: string,
  table: JudgedTable = openJudged(run),
): Promise<SearchRow[]> {
  return (await table.rows(searchNames)).map((row) => ({ run: id, ...row }));
}
