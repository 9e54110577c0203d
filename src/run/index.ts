export { expectOpen, isBlind, openedName, openedSchema, registerName } from './blind.ts';
export {
  checkedInitial,
  checkedTensors,
  checkpointHashes,
  expectCheckpoint,
  expectGrown,
  expectGrownFile,
  readState,
} from './checkpoint-files.ts';
export { damagedFile, readStamped, stampedJson } from './checksums.ts';
export { PhaseClock, StartClock } from './clocks.ts';
export { blockRows, makeRow, type RolloutRow, rolloutColumns } from './columns/index.ts';
export {
  type ConfigBase,
  checkConfig,
  configHash,
  expectRead,
  type FileSetting,
  type RawConfig,
  type ResolvedConfig,
  rawConfig,
  readConfig,
  readRecipe,
  refuseUnread,
} from './config/config.ts';
export { armDifferences, configDifferences, leavesOf } from './config/difference.ts';
export type { Fault } from './config/issues.ts';
export { type ConfigOutline, type OutlinedKey, outlineConfig } from './config/outline.ts';
export { configPage } from './config/page.ts';
export type { ConfigPart, ConfigParts } from './config/parts.ts';
export {
  listRecipes,
  readToml,
  recipeFrom,
  recipeName,
  recipePath,
  type ShippedRecipe,
  shippedRecipe,
} from './config/recipes.ts';
export type { RunConfig } from './config/schema.ts';
export {
  computeTable,
  type DemonstrationTest,
  demonstrationTest,
  grpoSettings,
  hasTeacher,
} from './config/settings.ts';
export { type DamagedFile, type FileCheck, findDamagedFiles } from './damaged.ts';
export { isTraining, RunDirectory } from './directory.ts';
export { type DiskPlan, describeDisk, planDisk } from './disk.ts';
export { FileSink } from './file-sink.ts';
export { type InstructionWords, instructedPrompt, readableInstruction } from './instructed.ts';
export { type Manifest, type RunIdentity, runFormat } from './manifest.ts';
export {
  isOfOneUpdate,
  type Notice,
  noticeText,
  type RecordedEvent,
  stampNotice,
  type WarningEvent,
} from './notices.ts';
export {
  checkEvent,
  openRollouts,
  type RunEvent,
  type RunStatus,
  readCourse,
  readDirections,
  readEvents,
  readFeatures,
  readRollouts,
  readTimings,
  type StoredDirection,
  trainedStatus,
} from './read.ts';
export { expectAllSealed, writeSeal } from './seal.ts';
export { type PhaseSeconds, type RunEnd, type Sink, SinkGroup } from './sink.ts';
export { checkStored, readStored } from './stored.ts';
export { dropLines, openTable, sealTable } from './table.ts';
export {
  assertPromptsFit,
  makeTask,
  partitionOf,
  problemsHash,
  trainingTasks,
} from './tasks.ts';
export { userErrorOf } from './user-error.ts';
