export { shellLine } from '../base/index.ts';
export { loopholeSummary, type Results } from './aggregate.ts';
export { allTables } from './all-tables.ts';
export { placebosOf } from './comparisons.ts';
export type { ClaimFacts, Design } from './design.ts';
export { boundText, countText, type JudgedPrediction, judgePredictions, testText } from './design.ts';
export {
  curveTable,
  finalEvaluationTable,
  loopholeEvaluationTable,
  scaleTable,
  surfacedTable,
} from './evaluation-tables.ts';
export { allFigures } from './figures.ts';
export {
  attributionTable,
  attributionWindowTable,
  bandTable,
  directionTable,
  driftTable,
  gateTable,
  idealTable,
  windowTable,
} from './gate-tables.ts';
export { evasionTable, monitorTable, monitorWindowTable } from './monitor-tables.ts';
export { elicitationTable, leakTable, prefillTable } from './probe-tables.ts';
export { describeMissing, missingEvaluations, type OnReading, readResults } from './run-result.ts';
export { bestSide, type SideBySide } from './samples.ts';
export { describeResults, tellStory } from './statements.ts';
export { parseTableFormat, renderTable, type Table } from './table.ts';
export { setTitles } from './tables.ts';
export { resultsCsv, resultsJson } from './values.ts';
export { expectOwnFigures, expectOwnFile, expectOwnTraces, writeFigures, writeReport, writeTraces } from './write.ts';
