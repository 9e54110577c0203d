export { type OracleSettings, oracleRouter } from './gate.ts';
export { type Tally, tally } from './tally.ts';
export { readVerdicts, sealRun, VerdictLedger } from './verdicts.ts';
