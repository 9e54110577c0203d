export { oracleRouter } from './gate.ts';
export { tally } from './tally.ts';
export { readVerdicts, sealRun, VerdictLedger } from './verdicts.ts';
