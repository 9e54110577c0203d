/** The numbers of the training loop (docs/science.md, sections 3 and 6). Names and defaults live in the run's config schema. */
import type { Detach } from '../adapters/index.ts';

export interface GrpoSettings {
  readonly seed: number;
  readonly updates: number;
  readonly promptsPerStep: number;
  readonly group: number;
  readonly maxNewTokens: number;
  readonly maxPromptTokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly stopTokens: readonly number[];
  readonly unhackableFraction: number;
  readonly deployedSampling: number;
  /** 'dr' divides by nothing but constants; 'classic' divides advantages by their deviation and tokens by their rollout's length. */
  readonly loss: 'dr' | 'classic';
  readonly clip: number;
  readonly klWeight: number;
  /** Whether the KL term of a routed rollout follows its route, or trains both blocks. */
  readonly klRoute: 'same' | 'absorb';
  readonly epochs: number;
  readonly detach: Detach;
  readonly learningRate: number;
  readonly warmupUpdates: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly maxGradientNorm: number;
  readonly decayToInitial: number;
  /** Most packed tokens in one pass; gradients of several passes add up. */
  readonly tokensPerPass: number;
  /** Allowed difference between the sampler's and the scorer's log-probabilities: of the worst token, or on average. */
  readonly parityTolerance: number;
  readonly parityOver: 'largest' | 'mean';
  readonly teacherOffStep: number;
  readonly teacherPerGroup: number;
  /** Stop when the reference set's mean token log-probability is this far below its best, twice in a row. */
  readonly tripwireNats: number;
}
