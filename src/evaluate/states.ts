/**
 * Compares the same prompts in two states. A surfaced hack is a prompt whose completion is no hack as trained and a hack deployed:
 * deleting the quarantine brought it out. A removed hack is the opposite; attempts likewise. McNemar's exact test compares the two counts.
 */
import { UserError } from '../base/index.ts';
import { mcnemarExact } from '../stats/index.ts';
import type { OutcomeRow } from './store.ts';

interface Change {
  readonly removed: readonly string[];
  readonly surfaced: readonly string[];
  /** Two-sided p-value of removed against surfaced. */
  readonly pValue: number;
}

/** The change of hacks, and beside it that of attempts. */
export interface StateChange extends Change {
  readonly prompts: number;
  readonly hackInBoth: number;
  readonly attempts: Change & { readonly inBoth: number };
}

export function compareStates(full: readonly OutcomeRow[], deployed: readonly OutcomeRow[]): StateChange {
  const pairs = pairRows(full, deployed);
  const { inBoth: hackInBoth, ...hacks } = changeOf(pairs, 'hack');
  return { prompts: pairs.length, hackInBoth, ...hacks, attempts: changeOf(pairs, 'attempt') };
}

function changeOf(
  pairs: readonly (readonly [OutcomeRow, OutcomeRow])[],
  metric: 'attempt' | 'hack',
): StateChange['attempts'] {
  const ids = (before: boolean, after: boolean): string[] =>
    pairs.filter(([a, b]) => a[metric] === before && b[metric] === after).map(([a]) => a.problem);
  const [removed, surfaced] = [ids(true, false), ids(false, true)];
  const { pValue } = mcnemarExact(removed.length, surfaced.length);
  return { inBoth: ids(true, true).length, removed, surfaced, pValue };
}

/** Pairs the rows of the same prompts, whatever their order; a prompt that only one side has is an error. */
export function pairRows<Row extends OutcomeRow>(first: readonly Row[], second: readonly Row[]): [Row, Row][] {
  const others = new Map(second.map((row) => [row.problem, row]));
  const pairs = first.map((row): [Row, Row] => {
    const other = others.get(row.problem);
    if (other !== undefined && other.loophole === row.loophole && other.markers === row.markers) return [row, other];
    throw new UserError({
      call: 'compare evaluations',
      expected: `prompt ${row.problem} (${row.loophole}, ${row.markers}) in both`,
      found: other === undefined ? 'it in one only' : `${other.loophole}, ${other.markers} in the other`,
    });
  });
  if (others.size === first.length) return pairs;
  throw new UserError({
    call: 'compare evaluations',
    expected: `${first.length} prompts`,
    found: `${others.size}`,
  });
}
