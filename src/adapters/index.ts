export type { Adapter, AdapterPass, LowRankChange, StoredTensor } from './adapter.ts';
export { type AdapterCheckpoint, readCheckpoint, restoreAdapter, writeCheckpoint } from './checkpoint.ts';
export { type AdapterOptions, createAdapter } from './create.ts';
export { type Family, families, type LinearFamily, linearFamilies, needsPairs } from './families.ts';
export { ActivationPooling, type Features, gradientFeatures } from './features.ts';
export { type PairDifferences, pairInputDifferences, type TokenPair } from './pair-inputs.ts';
export { modeScale, type PolicyMode, routeGroups, routeTokens, scaleGroups, scaleRows } from './passes.ts';
export { defaultTargets, type TargetModule, targetModules } from './targets.ts';
