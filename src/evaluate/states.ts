/**
 * The same prompts in two states. Surfaced hacks: prompts whose completion is no hack as trained and is one deployed; deleting the
 * quarantine brought them out. Removed hacks are the opposite. McNemar's exact test on the two counts.
 */
import { UserError } from '../base/index.ts';
import { mcnemarExact } from '../stats/index.ts';
import type { EvaluationRow } from './store.ts';

export interface StateChange {
  readonly prompts: number;
  readonly hackInBoth: number;
  readonly removed: readonly string[];
  readonly surfaced: readonly string[];
  /** Two-sided, removed against surfaced. */
  readonly pValue: number;
}

export function compareStates(full: readonly EvaluationRow[], deployed: readonly EvaluationRow[]): StateChange {
  const pairs = pairRows(full, deployed);
  const ids = (before: boolean, after: boolean): string[] =>
    pairs.filter(([a, b]) => a.hack === before && b.hack === after).map(([a]) => a.problem);
  const [removed, surfaced] = [ids(true, false), ids(false, true)];
  return {
    prompts: pairs.length,
    hackInBoth: ids(true, true).length,
    removed,
    surfaced,
    pValue: mcnemarExact(removed.length, surfaced.length).pValue,
  };
}

/** Rows of the same prompts, whatever their order; a prompt that only one side has is an error. */
export function pairRows(
  first: readonly EvaluationRow[],
  second: readonly EvaluationRow[],
): [EvaluationRow, EvaluationRow][] {
  const others = new Map(second.map((row) => [row.problem, row]));
  const pairs = first.map((row): [EvaluationRow, EvaluationRow] => {
    const other = others.get(row.problem);
    if (other !== undefined && other.loophole === row.loophole && other.markers === row.markers) return [row, other];
    throw new UserError({
      call: 'compare evaluations',
      expected: `prompt ${row.problem} (${row.loophole}, ${row.markers}) in both`,
      found: other === undefined ? 'it in one' : `${other.loophole}, ${other.markers} in the other`,
    });
  });
  if (others.size === first.length) return pairs;
  throw new UserError({
    call: 'compare evaluations',
    expected: `${first.length} prompts`,
    found: `${others.size}`,
  });
}
