/**
 * The package's main entry: train and evaluate runs, read what they recorded, and define parts of your own. The other entries of this
 * folder are `gradient-quarantine/grpo`, `/engine`, `/stats`, `/view` and `/browser`; a name that no entry has may change without notice.
 */
export { z } from 'zod';
export { type AdapterStart, defineStart } from '../adapters/index.ts';
export {
  DeviceError,
  exitCodes,
  GraderError,
  namesPath,
  randomStream,
  readWhen,
  ShapeError,
  UserError,
} from '../base/index.ts';
export {
  createGrader,
  defineJudge,
  defineLoophole,
  type Grader,
  type Judge,
  type Judgement,
  type Loophole,
  type NamedJudge,
  type Problem,
  type ProgramProblem,
  type TextProblem,
} from '../env/index.ts';
export { defineProblemSource, type ProblemSource } from '../env/sources/index.ts';
export { type Arm, type ArmDefinition, type ArmTools, defineArm } from '../grpo/index.ts';
export {
  defineConfig,
  type EvaluatedRun,
  type EvaluateOptions,
  evaluateRun,
  Lab,
  type LabConfig,
  type LabOptions,
  type LabSource,
  openLab,
  resolveConfig,
  type TrainOptions,
  type TrainResult,
  train,
} from '../lab/index.ts';
export {
  type CutDefinition,
  defineCut,
  defineMonitor,
  defineRemedy,
  type Monitor,
  type MonitorDefinition,
  type RemedyDefinition,
} from '../monitors/index.ts';
export { readVerdicts, VerdictTail } from '../oracle/index.ts';
export { allTables, type Results, readResults, renderTable, type Table } from '../report/index.ts';
export {
  grpoSettings,
  type RunConfig,
  RunDirectory,
  type RunIdentity,
  readEvents,
  readRollouts,
  type Sink,
  shippedRecipe,
} from '../run/index.ts';
