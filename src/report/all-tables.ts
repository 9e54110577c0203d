/** The tables of `gq results` and the HTML report, in their order; docs/guide/write-up.md says what each is for. */

import { aboutOf, type Cell, spreadSeeds, type Table, textOf } from '../measure/table.ts';
import { claimFirst, claimSet, evaluatedSeeds, labelInformed, type Results } from './aggregate.ts';
import { ablationTable, baselineTables, settingsTable } from './baselines.ts';
import { comparedMetrics } from './comparisons.ts';
import { faultsText } from './design.ts';
import { emergenceTables, failureComparisonTable, failureTable } from './failures.ts';
import { heldOutTables } from './held-out.ts';
import { keptTable, matchedSolveTable } from './kept.ts';
import { leakTables, prefillTables, relearnedTable } from './probe-tables.ts';
import { comparisonTable, finalTable, keepColumns, loopholeTable, sayOnce } from './tables.ts';
import { costTable, evasionsTable, monitorsOverTimeTable, monitorsTable, processTable } from './training-tables.ts';

/** A table with its place on a screen: first; first where there are seeds to compare; or only where all are asked for, by the name of its kind. */
interface Placed {
  readonly table: Table;
  /** The same with the columns that come first, where it has others. */
  readonly brief?: Table;
  readonly kind: string;
  readonly isFirst: (seeds: number) => boolean;
}

const place = (kind: string, isFirst: Placed['isFirst'], tables: readonly Table[]): Placed[] =>
  tables.filter(({ rows }) => rows.length > 0).map((table) => ({ kind, isFirst, table }));
const first = (tables: readonly Table[]): Placed[] => place('', () => true, tables);
const overSeeds = (kind: string, tables: readonly Table[]): Placed[] => place(kind, (seeds) => seeds > 1, tables);
const tested = (kind: string, tables: readonly Table[]): Placed[] =>
  place(kind, (seeds) => seeds >= spreadSeeds, tables);
const later = (kind: string, tables: readonly Table[]): Placed[] => place(kind, () => false, tables);

type Asked = { readonly emergence?: boolean | undefined };

/** All tables that have rows: label-free arms, then arms with labels, then what concerns both. `emergence`: also when policies begin to attempt. */
function placedTables(results: Results, { emergence = asksEmergence(results) }: Asked): Placed[] {
  const blocks = results.arms.some(({ usesOracle }) => usesOracle) ? [false, true] : [false];
  return [
    ...later('baselines side by side', baselineTables(results)),
    ...blocks.flatMap((oracle) => blockTables(results, oracle)),
    ...later('monitors while training', [monitorsTable(results)]),
    ...later('monitors by quarter of training', [monitorsOverTimeTable(results)]),
    ...later('the evasion split of monitors', [evasionsTable(results)]),
    ...later('cost of an update', [costTable(results)]),
    ...later('what each part buys', [ablationTable(results)]),
    ...later('solve beside that of the reference', [matchedSolveTable(results)]),
    ...first([keptTable(results)]),
    ...(emergence ? first(emergenceTables(results)) : []),
    ...first(heldOutTables(results)),
    ...first([relearnedTable(results), ...leakTables(results), ...prefillTables(results)]),
    ...later('what the arms change', [settingsTable(results)]),
  ];
}

export function allTables(results: Results, asked: Asked = {}): Table[] {
  return noted(
    results,
    placedTables(results, asked).map(({ table }) => table),
  );
}

/** The tables of a report: without those of pairs of arms that fewer than two seeds have, which would be columns of "-". */
export function reportTables(results: Results) {
  const all = placedTables(results, {}).map(({ table }) => table);
  const tables = all.filter((table) => !lacksPairs(table));
  return { tables: noted(results, tables), unpaired: all.length - tables.length };
}

function lacksPairs({ columns, rows }: Table): boolean {
  const at = columns.indexOf('seeds');
  return columns.includes('comparison') && at >= 0 && rows.every((row) => Number(textOf(row[at])) < 2);
}

/** The tables that come first, without what holds no value, and the kinds of the others; all where none comes first. */
export function firstTables(results: Results, asked: Asked = {}) {
  const placed = placedTables(results, asked).filter(({ table }) => holdsValue(table));
  const set = claimSet(results);
  const seeds = Math.max(0, ...results.arms.map(({ runs }) => (set === undefined ? 0 : evaluatedSeeds(runs, set))));
  const shown = placed.filter(({ isFirst }) => isFirst(seeds));
  if (shown.length === 0) return { tables: allTables(results, asked), others: [] };
  const tables = shown.map(({ table, brief = table }) => withoutEmptyColumns(brief));
  return {
    tables: sayOnce(noted(results, tables)),
    others: [...new Set(placed.filter((one) => !shown.includes(one)).map(({ kind }) => kind))],
  };
}

/** Columns that only count what a row is of. */
const counts: readonly string[] = ['n', 'seeds', 'runs', 'update', 'updates'];
const isEmpty = (cell: Cell): boolean => ['-', 'the same'].includes(textOf(cell));

function holdsValue({ columns, rows }: Table): boolean {
  return rows.some((row) => row.some((cell, i) => i > 0 && !counts.includes(columns[i]) && !isEmpty(cell)));
}

function withoutEmptyColumns(table: Table): Table {
  return keepColumns(table, (_, i) => !table.rows.every((row) => isEmpty(row[i])));
}

function noted(results: Results, tables: readonly Table[]): Table[] {
  return sayOnce(tables).map((table) => ({
    ...table,
    notes: [...(table.notes ?? []), ...standingNotes(results, table)],
  }));
}

export const asksEmergence = ({ design }: Results): boolean => design.predictions !== undefined;

function standingNotes(results: Results, { rows }: Table): string[] {
  const hasArm = (arm: string): boolean => rows.some((row) => aboutOf(row, 0).arm === arm);
  const informed = labelInformed(results).filter(hasArm);
  const { claim } = results.design;
  return [
    ...(informed.length === 0
      ? []
      : [
          `Not free of labels: the settings of ${informed.join(', ')} are a rule that runs with known labels suggested.`,
        ]),
    ...(claim?.changed === true ? ['The claim of this study was changed after its first run.'] : []),
    ...(claim === undefined || claim.faults.length === 0 ? [] : [faultsText(claim.faults)]),
  ];
}

function blockTables(results: Results, oracle: boolean): Placed[] {
  const { sets } = results;
  const claimed = claimSet(results);
  const ordered = claimFirst(sets, (set) => set);
  return [
    ...ordered.flatMap((set) =>
      first([finalTable(results, set, oracle)]).map((own) => ({
        ...own,
        brief: finalTable(results, set, oracle, true),
      })),
    ),
    ...overSeeds('runs that fail', [failureTable(results, oracle), failureComparisonTable(results, oracle)]),
    ...ordered.flatMap((set) =>
      comparedMetrics(set).flatMap((metric) =>
        (set === claimed && metric === 'attempt' ? tested : later)('paired differences', [
          comparisonTable(results, set, metric, oracle),
        ]),
      ),
    ),
    ...later(
      'by loophole',
      ordered.map((set) => loopholeTable(results, set, oracle)),
    ),
    ...later('while training', [processTable(results, oracle)]),
  ];
}
