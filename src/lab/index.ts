/** The lab as a library: configs, runs, their training and evaluation. */
export { lastAdapter, openAdapter } from './adapter.ts';
export { type Assembly, assemble, openInputs, openTasks, type RunInputs } from './assemble.ts';
export { type LabConfig, parseRunConfig, partsOf, resolveBuiltin, resolveConfig } from './config.ts';
export { coresEach, coresVariable } from './cores.ts';
export { deviceNames, openDevice } from './devices.ts';
export { type Interruption, onInterrupt } from './interrupt.ts';
export { type ModelFiles, modelDirectory, type OpenModel, openModel } from './model.ts';
export { type OpenRun, type OpenRunOptions, openRun } from './open-run.ts';
export { openPairs, pairSetOf } from './pairs.ts';
export { armOf, builtinParts, type Parts, sourceOf } from './parts.ts';
export { loadParts, type PluginRecord, pluginRecords } from './plugins.ts';
export { openJudge, openProblems, type Warn } from './problems.ts';
export { Resources } from './resources.ts';
export { makeTinyModel } from './tiny-model.ts';
export { trainPlanned } from './train-planned.ts';
export { drive, type TrainOptions, type TrainResult, trainRun } from './train-run.ts';
