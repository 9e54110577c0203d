export { loadCheckpoint } from './checkpoint.ts';
export { PhaseClock } from './clock.ts';
export {
  type ConfigBase,
  checkConfig,
  configHash,
  leafPaths,
  type RawConfig,
  type ResolvedConfig,
  rawConfig,
  readConfig,
} from './config.ts';
export { configPage } from './config-page.ts';
export { type Manifest, RunDirectory, runFormat } from './directory.ts';
export type { RolloutRow } from './ledger.ts';
export { planMemory, type Work } from './memory.ts';
export { assertFits, type Budget, renderPlan } from './memory-budget.ts';
export { dropRolloutLines, readEvents, readFeatures, readRollouts, sealRollouts } from './read.ts';
export { type RecordOptions, type RunEnd, recordRun, resumeFrom } from './record.ts';
export { type Replay, replayGate, routes } from './replay.ts';
export type { ArmConfig, ConfigPart, ConfigParts, KindTable, RunConfig } from './schema.ts';
export { computeTable, grpoSettings } from './settings.ts';
export { dropLines, readTable, sealTable, type TableColumns } from './table.ts';
export {
  assertPromptsFit,
  makeTask,
  partitionOf,
  problemsHash,
  trainingTasks,
} from './tasks.ts';
