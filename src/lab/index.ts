/**
 * The lab as a library, and the package's main entry: configs, runs, their training and evaluation, and what plugins need to define
 * parts of their own.
 */
export { z } from 'zod';
export { type AdapterStart, defineStart } from '../adapters/index.ts';
export { readWhen } from '../base/index.ts';
export { defineJudge, defineLoophole, type Judgement, type Loophole, type NamedJudge } from '../env/index.ts';
export { defineProblemSource, type ProblemSource } from '../env/sources/index.ts';
export { type Arm, type ArmDefinition, type ArmTools, defineArm } from '../grpo/index.ts';
export { defineMonitor, type Monitor, type MonitorDefinition } from '../monitors/index.ts';
export { type RunConfig, RunDirectory, type RunIdentity, type Sink, shippedRecipe } from '../run/index.ts';
export { type LabConfig, parseRunConfig, partsOf, resolveBuiltin, resolveConfig } from './config.ts';
export { coresEach, coresVariable } from './cores.ts';
export { deviceNames, findDevice, openDevice } from './devices.ts';
export { type EvaluatedRun, type EvaluateOptions, evaluateRun } from './evaluate-run.ts';
export { openBase, openEvaluator, probeTokens } from './evaluator.ts';
export { expectSamePlugins, pluginHash } from './identity.ts';
export { type Interruption, onInterrupt } from './interrupt.ts';
export { labelSources } from './label-sources.ts';
export { formatPool, limitPool, makePool, samplePool } from './make-pool.ts';
export { hashModel, type ModelFiles, modelArgument, modelDirectory, type OpenModel } from './model.ts';
export { Lab, type LabOptions, type LabSource, openLab } from './open.ts';
export { wasAsked } from './open-parts.ts';
export { type PackPlace, RunPack } from './pack.ts';
export { expectIsolatedPairs, pairSetOf } from './pairs.ts';
export { armOf, builtinParts, type Parts, sourceOf } from './parts.ts';
export { loadParts, type PluginRecord, pluginRecords } from './plugins.ts';
export { openProblems, type Warn } from './problems.ts';
export { openShards, withShards } from './ranks.ts';
export type { NamedSampler, Replacements } from './replacements.ts';
export { deviceBudget } from './run-device.ts';
export { keepSandboxes } from './sandboxes.ts';
export { makeTinyModel } from './tiny-model.ts';
export { train } from './train.ts';
export { drive, type TrainOptions, type TrainResult, trainRun } from './train-run.ts';
export type { Assembly } from './trainer.ts';
