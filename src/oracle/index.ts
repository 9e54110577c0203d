export type { JudgedRollout } from './judged/columns.ts';
export { type JudgedOptions, JudgedTable } from './judged/table.ts';
export { type Tally, VerdictTail } from './verdict-tail.ts';
export { openJudged, readVerdicts, sealRun, VerdictLedger } from './verdicts.ts';
