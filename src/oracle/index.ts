export { type OracleSettings, oracleRouter } from './gate.ts';
export { type Tally, tally } from './tally.ts';
export { readVerdicts, VerdictLedger } from './verdicts.ts';
