/** The lab as a library: configs, runs, their training and evaluation, and the parts that plugins may define. */

export { z } from 'zod';
export { type AdapterStart, defineStart } from '../adapters/index.ts';
export { namesPath, readWhen } from '../base/index.ts';
export { defineJudge, defineLoophole, type Judgement, type Loophole, type NamedJudge } from '../env/index.ts';
export { defineProblemSource, type ProblemSource } from '../env/sources/index.ts';
export { type Arm, type ArmDefinition, type ArmTools, defineArm } from '../grpo/index.ts';
export {
  type CutDefinition,
  defineCut,
  defineMonitor,
  defineRemedy,
  type Monitor,
  type MonitorDefinition,
  type RemedyDefinition,
} from '../monitors/index.ts';
export { type RunConfig, RunDirectory, type RunIdentity, type Sink, shippedRecipe } from '../run/index.ts';
export { planCheckpoints } from './adapter.ts';
export { type LabConfig, parseRunConfig, partsOf, resolveBuiltin, resolveConfig } from './config.ts';
export {
  coresEach,
  coresVariable,
  deviceBudget,
  deviceNames,
  findDevice,
  gpuMemoryVariable,
  openDevice,
  planLabMemory,
} from './device.ts';
export {
  type EvaluatedRun,
  type EvaluateOptions,
  evaluateRun,
  openBase,
  openEvaluator,
  probeTokens,
} from './evaluate.ts';
export { expectSamePlugins, pluginHash } from './identity.ts';
export { type Interruption, onInterrupt } from './interrupt.ts';
export { keepSandboxes } from './judge.ts';
export { labelSources } from './labels.ts';
export { renderPlan } from './memory/budget.ts';
export { hashModel, type ModelFiles, modelArgument, modelDirectory, type OpenModel } from './model.ts';
export { Lab, openLab } from './open.ts';
export { type Warn, wasAsked } from './open-parts.ts';
export type { LabOptions, LabSource } from './options.ts';
export { type PackPlace, RunPack } from './pack.ts';
export { expectIsolatedPairs, pairSetOf } from './pairs.ts';
export { armOf, builtinParts, type Parts, sourceOf } from './parts.ts';
export { loadParts, type PluginRecord, pluginRecords } from './plugins.ts';
export { formatPool, type GradedPool, limitPool, makePool, poolOfRun, samplePool } from './pool.ts';
export { openProblems } from './problems.ts';
export { openShards, withShards } from './ranks.ts';
export type { NamedSampler, Replacements } from './replacements.ts';
export { type PairScores, scorePairs } from './score-pairs.ts';
export { makeTinyModel } from './tiny-model.ts';
export { drive, type TrainOptions, type TrainResult, train, trainRun } from './train.ts';
export type { Assembly } from './trainer.ts';
