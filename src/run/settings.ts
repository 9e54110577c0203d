/** The numbers of the training loop, from the config; what it leaves open is what suits the device. */
import type { GrpoSettings } from '../grpo/index.ts';
import type { Pace } from '../model/index.ts';
import type { RunConfig } from './schema.ts';

/** A host that looks at every token makes a GPU wait; a batch that shrinks row by row cannot be replayed. */
export function paceOf({ device, output }: RunConfig): Required<Pace> {
  const distant = device.kind === 'cuda';
  return {
    readEvery: output.readEvery ?? (distant ? 16 : 1),
    rowStep: output.rowStep ?? (distant ? 32 : 1),
    tokensPerPass: output.tokensPerPass,
  };
}

/** In bf16 two ways to compute one log-probability differ by rounding, here and there by a lot: the mean says more. */
function parityOf({ device, safety }: RunConfig): Pick<GrpoSettings, 'parityTolerance' | 'parityOver'> {
  const rounded = device.kind === 'cuda' && device.precision === 'bf16';
  return rounded
    ? { parityTolerance: safety.parityTolerance ?? 0.05, parityOver: 'mean' }
    : { parityTolerance: safety.parityTolerance ?? 2e-4, parityOver: 'largest' };
}

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
    ...parityOf(config),
    teacherOffStep: teacher.offStep,
    teacherPerGroup: teacher.perGroup,
    tripwireNats: safety.tripwireNats,
  };
}
