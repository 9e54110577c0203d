/** The lab as a library: configs, runs, their training and evaluation. */

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
export { expectSamePlugins, hashesOfNamed, pluginHash } from './identity.ts';
export { type Interruption, onInterrupt } from './interrupt.ts';
export { keepSandboxes } from './judge.ts';
export { labelSources } from './labels.ts';
export { renderPlan } from './memory/budget.ts';
export { hashModel, hashOfBase, type ModelFiles, modelArgument, modelDirectory, type OpenModel } from './model.ts';
export { Lab, type LabOptions, type LabSource, openLab } from './open.ts';
export { type Warn, wasAsked } from './open-parts.ts';
export { type PackPlace, RunPack } from './pack.ts';
export { expectIsolatedPairs, hashOfPairs, pairSetOf } from './pairs.ts';
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
