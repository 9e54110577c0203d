export { ActivationTerm } from './activation-term.ts';
export type { Adapter, AdapterPass, StoredTensor } from './adapter.ts';
export { type Basis, cayleyRotation, cordaBasis, leadingSvd, signedDirection, toMatrix } from './basis.ts';
export {
  type AdapterCheckpoint,
  readCheckpoint,
  restoreAdapter,
  restoreStart,
  writeCheckpoint,
} from './checkpoint.ts';
export { assembleAdapter, createAdapter, drawFactors } from './create.ts';
export { type BlockNorms, GradientEnergy } from './energy.ts';
export { ActivationPooling, type Features, gradientFeatures, wholeRollouts } from './features.ts';
export { exportAtScale } from './full.ts';
export { LinearAdapter } from './linear-adapter.ts';
export { addChange, type MergedDType, mergedTensor, writeMerged } from './merge.ts';
export { pairInputDifferences, pairOutputDifferences, type TokenPair } from './pair-inputs.ts';
export { routeGroups, routeTokens, scaleGroups, scaleRows } from './passes.ts';
export { openPeft, readPeft, writePeft } from './peft.ts';
export {
  deployedScaleOf,
  isPolicyState,
  type PolicyState,
  scaleOf,
} from './policy-state.ts';
export { type Detach, quarantineInForward, type Route, routeCoefficients } from './routes.ts';
export { builtinStarts, type Family, families, findStart } from './starts/registry.ts';
export {
  type AdapterStart,
  defineStart,
  type InitialFactors,
} from './starts/start.ts';
export { steerAdapter } from './steer.ts';
export { type TargetModule, targetModules } from './targets.ts';
export { transpose } from './transpose.ts';
