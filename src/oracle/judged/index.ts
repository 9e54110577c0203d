/** Rollouts with their verdicts, without anything that needs Node: the viewer's page imports it too. */
export { type JudgedRollout, type ListedName, labelColumns, listedNames, verdictColumns } from './columns.ts';
export { JudgedTable } from './table.ts';
