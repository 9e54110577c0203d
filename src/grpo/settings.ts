/**
 * The numbers of the training loop (docs/science.md, sections 3 and 6), in the shape of the run's config, which documents them and has
 * their defaults. Keys that a config may leave null have a value here.
 */
import type { Detach } from '../adapters/index.ts';
import type { SamplingSettings } from '../model/index.ts';

export interface SamplingTable {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly maxNewTokens: number;
  readonly maxPromptTokens: number;
  readonly promptsPerStep: number;
  readonly group: number;
  readonly deployedSampling: number;
  /** The share from the middle of the run on; null: the same throughout. */
  readonly deployedSamplingLate: number | null;
}

/** The part of the table that decoding needs. */
export function samplingSettings(table: SamplingTable, stopTokens: readonly number[]): SamplingSettings {
  const { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens } = table;
  return { temperature, topK, topP, minP, maxNewTokens, maxPromptTokens, stopTokens };
}

export interface LossTable {
  /** 'dr' divides by constants only; 'classic' divides advantages by their deviation and tokens by their rollout's length. */
  readonly kind: 'dr' | 'classic';
  /** The least deviation that 'classic' divides by; 0: the group's own, however small. */
  readonly deviationFloor: number;
  readonly clip: number;
  readonly klWeight: number;
  /** Whether the KL term of a routed rollout follows its route, or trains both blocks. */
  readonly klRoute: 'same' | 'absorb';
  readonly epochs: number;
  readonly detach: Detach;
  /** The weight of the mean NLL of the clean sides of pairs, as many as an update has prompts; absent: they are not learned from. */
  readonly anchorWeight?: number | undefined;
}

export interface OptimiserTable {
  readonly learningRate: number;
  readonly warmupUpdates: number;
  /** What follows the warm-up. */
  readonly schedule: 'cosine' | 'constant';
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly maxGradientNorm: number;
  readonly decayToInitial: number;
  /** Whether the second moments are those of an update in which everything is absorbed; absent: of the update as it is routed. */
  readonly splitMoments?: boolean | undefined;
}

/** How the work is split up. Apart from rounding, none of it changes the results. */
export interface ComputeTable {
  /** The most packed tokens of one pass; gradients of several passes add up. */
  readonly tokensPerPass: number;
  readonly recompute: boolean;
  readonly readEvery: number;
  readonly rowStep: number;
  /** Whether rows of several shards are never sampled in one batch: on a device where a row's bits may follow from the batch. */
  readonly sampleByShard?: boolean;
}

export interface GrpoSettings {
  readonly seed: number;
  readonly updates: number;
  readonly sampling: SamplingTable;
  readonly environment: { readonly unhackableFraction: number; readonly tokenPrice: number };
  readonly loss: LossTable;
  readonly optimiser: OptimiserTable;
  readonly teacher: { readonly offStep: number; readonly perGroup: number };
  readonly safety: {
    /** Allowed difference between the sampler's and the scorer's log-probabilities; `parityOver`: at the worst token or on average. */
    readonly parityTolerance: number;
    readonly parityOver: 'largest' | 'mean';
    /** The run stops when the tripwire set's mean token log-probability is this far below its best, twice in a row. */
    readonly tripwireNats: number;
  };
  readonly compute: ComputeTable;
}
