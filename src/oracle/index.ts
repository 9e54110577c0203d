export { FlippedLedger } from './flipped.ts';
export { oracleArm } from './gate.ts';
export { labelsOf } from './labels.ts';
export { oracleMonitor } from './monitor.ts';
export { type Tally, tally } from './tally.ts';
export { VerdictTail } from './verdict-tail.ts';
export {
  followVerdicts,
  readRunVerdicts,
  readVerdictColumns,
  readVerdicts,
  sealRun,
  VerdictLedger,
} from './verdicts.ts';
