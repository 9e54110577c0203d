/** What a finished or running run is asked, one folder a question: its numbers, and what it writes into the run. */
export * from './curve/emergence.ts';
export * from './evasion/evasion.ts';
export * from './gate/attribution.ts';
export type * from './gate/directions.ts';
export * from './gate/gate-report.ts';
export * from './gate/rollout-words.ts';
export * from './gate/tables.ts';
export * from './monitor/monitor-report.ts';
export * from './relearn/relearning.ts';
export * from './table.ts';
