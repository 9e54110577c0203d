export type { DrawnTask } from './draw.ts';
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
export { klEstimate } from './loss.ts';
export { leaveOneOut, pairFeatures, rebuildDirection } from './pair-features.ts';
export { type Policy, probeGradients, projectRows, scoreRollouts } from './policy.ts';
export type { Rollout, Task } from './rollout.ts';
export { absorbRouter, gateRouter, massMatchedRouter, type Router } from './router.ts';
export { type DemonstrationPool, sampleRollouts } from './sample.ts';
export type { GrpoSettings } from './settings.ts';
export type { Phase, StepContext } from './step.ts';
export { Trainer, type TrainerState } from './train.ts';
export { accumulateGradients, readBlockNorms, stepOptions, type UpdateInputs, updatePolicy } from './update.ts';
