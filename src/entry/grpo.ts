/** The method's verbs, in the order of an update: `examples/the-method.ts` writes the whole loop with them. */
export { Gate, haarDirection } from '../gates/index.ts';
export {
  type Arm,
  accumulateGradients,
  adapterHash,
  completionFeatures,
  drawTasks,
  type GrpoSettings,
  klEstimate,
  learningRateAt,
  type Policy,
  pairFeatures,
  policySampler,
  type Rollout,
  rebuildDirection,
  type Sampler,
  sampleRollouts,
  scoreRollouts,
  seesNothing,
  step,
  stepOptions,
  type TrainEvent,
  Trainer,
  updatePolicy,
} from '../grpo/index.ts';
export { gateSettings, gateSettingsOf } from '../monitors/index.ts';
