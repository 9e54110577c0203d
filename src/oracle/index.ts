export { FlippedLedger } from './flipped.ts';
export { oracleArm } from './gate.ts';
export { type JudgedRollout, JudgedTable } from './judged/index.ts';
export { labelsOf } from './labels.ts';
export { oracleMonitor } from './monitor.ts';
export { type Tally, VerdictTail } from './verdict-tail.ts';
export { openJudged, readVerdicts, sealRun, VerdictLedger } from './verdicts.ts';
