export {
  type Arm,
  type ArmDefinition,
  type ArmMeaning,
  type ArmState,
  absorbAll,
  defineArm,
  type GradedRollouts,
  type NewDirection,
  type Routing,
  type ScoredRollouts,
  type Screening,
  type Seen,
  type SeenRollouts,
  type Sight,
  seesNothing,
  type Watched,
} from './arm.ts';
export type { ArmTools, FrozenModel, Label, LabelledCompletion, Labels } from './arm-tools.ts';
export { gateArm, massMatched, type RoutingArm } from './arms/gate.ts';
export { learnedInstruction } from './arms/prompted.ts';
export { blindArms } from './arms/registry.ts';

export { drawTasks } from './draw.ts';
export type {
  DirectionEvent,
  Expectation,
  HealEvent,
  RolloutRecord,
  RolloutsEvent,
  StepEvent,
  StopEvent,
  TrainEvent,
} from './events.ts';
export { generatePairs } from './generated-pairs.ts';
export { clippedSurrogate, klEstimate } from './loss.ts';
export { openArm } from './open-arm.ts';
export { type Lane, Pack } from './pack.ts';
export { completionFeatures, leaveOneOut, pairFeatures, rebuildDirection } from './pair-features.ts';
export {
  adapterHash,
  joinFeatures,
  type Policy,
  probeGradients,
  projectRows,
  scoreRollouts,
  steerPolicy,
} from './policy.ts';
export type { PromptedCompletion, Rollout, Task } from './rollout.ts';
export { expectPromptsFit, sampleRollouts } from './sample.ts';
export { policySampler, type SampleRequest, type Sampler } from './sampler.ts';
export { type ComputeTable, type GrpoSettings, samplingSettings } from './settings.ts';
export { shardedSampler } from './sharded.ts';
export type { Phase, StepContext } from './stages.ts';
export { step } from './step.ts';
export { accumulateLoss, weightedNll } from './supervised.ts';
export { type DemonstrationPool, expectCovered } from './teacher.ts';
export { Trainer, type TrainerState } from './train.ts';
export {
  accumulateGradients,
  learningRateAt,
  readBlockNorms,
  stepOptions,
  type UpdateInputs,
  updatePolicy,
} from './update.ts';
export type { PolicyWork } from './work.ts';
