export { groupAdvantages } from './advantage.ts';
export type {
  DirectionEvent,
  Expectation,
  HealEvent,
  RolloutRecord,
  RolloutsEvent,
  StepEvent,
  StopEvent,
  TrainEvent,
  ZeroSignal,
  ZoneCounts,
} from './events.ts';
export { type GenerateOptions, generatePairs } from './generated-pairs.ts';
export { assertParity } from './guard.ts';
export { klEstimate, type LossInputs, type LossOptions, type LossParts, tokenLoss } from './loss.ts';
export {
  leaveOneOut,
  type PairFeatures,
  pairFeatures,
  type RebuildOptions,
  rebuildDirection,
} from './pair-features.ts';
export { type Granularity, type Policy, probeGradients, scoreRollouts } from './policy.ts';
export type { PromptedCompletion, Rollout, SampledMode, Source, Task } from './rollout.ts';
export {
  absorbRouter,
  type FeatureKind,
  gateRouter,
  massMatchedRouter,
  type Router,
  type Routing,
  type RoutingInput,
} from './router.ts';
export type { DemonstrationPool } from './sample.ts';
export type { GrpoSettings } from './settings.ts';
export { type Phase, type StepContext, type StepOutcome, step } from './step.ts';
export { Trainer, type TrainerOptions, type TrainerState } from './train.ts';
