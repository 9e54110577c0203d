/** The numbers of the training loop, from the config. */
import type { GrpoSettings } from '../grpo/settings.ts';
import type { RunConfig } from './schema.ts';

export function grpoSettings(config: RunConfig, stopTokens: readonly number[]): GrpoSettings {
  const { sampling, loss, optimiser, environment, safety, output, teacher } = config;
  return {
    seed: config.seed,
    updates: config.updates,
    promptsPerStep: sampling.promptsPerStep,
    group: sampling.group,
    maxNewTokens: sampling.maxNewTokens,
    maxPromptTokens: sampling.maxPromptTokens,
    temperature: sampling.temperature,
    topK: sampling.topK,
    topP: sampling.topP,
    minP: sampling.minP,
    stopTokens,
    unhackableFraction: environment.unhackableFraction,
    deployedSampling: sampling.deployedSampling,
    loss: loss.kind,
    clip: loss.clip,
    klWeight: loss.klWeight,
    klRoute: loss.klRoute,
    epochs: loss.epochs,
    detach: loss.detach,
    learningRate: optimiser.learningRate,
    warmupUpdates: optimiser.warmupUpdates,
    beta1: optimiser.beta1,
    beta2: optimiser.beta2,
    epsilon: optimiser.epsilon,
    maxGradientNorm: optimiser.maxGradientNorm,
    decayToInitial: optimiser.decayToInitial,
    tokensPerPass: output.tokensPerPass,
    parityTolerance: safety.parityTolerance,
    teacherOffStep: teacher.offStep,
    teacherPerGroup: teacher.perGroup,
    tripwireNats: safety.tripwireNats,
  };
}
