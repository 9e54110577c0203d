export { type JudgedRollout, JudgedTable } from './judged/index.ts';
export { type Tally, VerdictTail } from './verdict-tail.ts';
export { openJudged, readVerdicts, sealRun, VerdictLedger } from './verdicts.ts';
