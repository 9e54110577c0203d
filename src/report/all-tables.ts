/** The tables of `gq results` and the HTML report, in their order; docs/guide/write-up.md says what each is for. */

import { aboutOf, type Table } from '../measure/table.ts';
import { labelInformed, type Results } from './aggregate.ts';
import { ablationTable, baselineTables, settingsTable } from './baselines.ts';
import { comparedMetrics } from './comparisons.ts';
import { faultsText } from './design.ts';
import { emergenceTables, failureComparisonTable, failureTable } from './failures.ts';
import { heldOutTables } from './held-out.ts';
import { keptTable, matchedSolveTable } from './kept.ts';
import { leakTables, prefillTables, relearnedTable } from './probe-tables.ts';
import { comparisonTable, finalTable, loopholeTable, sayOnce } from './tables.ts';
import { costTable, evasionsTable, monitorsOverTimeTable, monitorsTable, processTable } from './training-tables.ts';

/** All tables that have rows: label-free arms, then arms with labels, then what concerns both. `emergence`: also when policies begin to attempt. */
export function allTables(results: Results, { emergence = asksEmergence(results) } = {}): Table[] {
  const blocks = results.arms.some(({ usesOracle }) => usesOracle) ? [false, true] : [false];
  const tables = [
    ...baselineTables(results),
    ...blocks.flatMap((oracle) => blockTables(results, oracle)),
    monitorsTable(results),
    monitorsOverTimeTable(results),
    evasionsTable(results),
    costTable(results),
    ablationTable(results),
    matchedSolveTable(results),
    keptTable(results),
    ...(emergence ? emergenceTables(results) : []),
    ...heldOutTables(results),
    relearnedTable(results),
    ...leakTables(results),
    ...prefillTables(results),
    settingsTable(results),
  ];
  const shown = sayOnce(tables.filter(({ rows }) => rows.length > 0));
  return shown.map((table) => ({ ...table, notes: [...(table.notes ?? []), ...standingNotes(results, table)] }));
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

function blockTables(results: Results, oracle: boolean): Table[] {
  const { sets } = results;
  return [
    ...sets.map((set) => finalTable(results, set, oracle)),
    failureTable(results, oracle),
    failureComparisonTable(results, oracle),
    ...sets.flatMap((set) => comparedMetrics(set).map((metric) => comparisonTable(results, set, metric, oracle))),
    ...sets.map((set) => loopholeTable(results, set, oracle)),
    processTable(results, oracle),
  ];
}
