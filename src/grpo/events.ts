/** The events of training. Everything in them follows from the config and its seed, but for what a server samples; times are added by those who listen. */
import type { BlockNorms, Route } from '../adapters/index.ts';
import type { Cuts, DirectionQuality } from '../gates/index.ts';
import type { Screening, Watched } from './arm.ts';
import type { Rollout } from './rollout.ts';
import type { SamplerReport } from './sampler.ts';

export interface Expectation {
  readonly kind: 'expectation';
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Why the deployed block learned nothing in an update. */
export interface ZeroSignal {
  readonly reason:
    | 'every group has equal rewards'
    | 'every group has equal rewards or fewer than two rollouts after screening'
    | 'every rollout was routed'
    | 'the gradient is zero';
  readonly groups: number;
  readonly skippedGroups: number;
  /** Number of rollouts that carried gradient, and how many of them were routed as a whole. */
  readonly trained: number;
  readonly routed: number;
}

export type RouteCounts = Readonly<Record<Route, number>>;

export interface StepEvent {
  readonly kind: 'step';
  /** Updates completed, this one included. */
  readonly update: number;
  /** Rollouts, demonstrations included. */
  readonly rollouts: number;
  /** Mean over the policy's own rollouts, as are `truncated` and `meanTokens`. */
  readonly meanReward: number;
  readonly groups: number;
  readonly skippedGroups: number;
  readonly unhintedGroups: number;
  readonly demonstrations: number;
  readonly truncated: number;
  readonly meanTokens: number;
  /** Counts over the rollouts that carried gradient, or over their tokens where the gate decides by token. */
  readonly routes: RouteCounts;
  readonly cuts: Cuts | null;
  readonly scores: { readonly p10: number; readonly p50: number; readonly p90: number } | null;
  /** Number of rollouts that the cuts were made from. */
  readonly bufferRows: number;
  /** Mean cosine of the rollouts' features with the direction, whatever the gate's score; null for an arm without a direction. */
  readonly meanCosine: number | null;
  /** Updates since the direction was rebuilt; null for an arm without a direction. */
  readonly directionAge: number | null;
  /** How the direction scores the pairs, in the update that it was built or measured for; null in all others. */
  readonly direction: (DirectionQuality & { readonly band: PairBand | null }) | null;
  /** What the arm's monitor said of the rollouts; null for an arm without one. */
  readonly watched: WatchedCounts | null;
  /** Number of completions that the policy read without learning from them; what a monitor reads beside is in `watched.costs`. */
  readonly scoringPasses: number;
  readonly loss: number;
  /** Mean NLL of the anchor batch, which `loss` leaves out; absent in a run without one. */
  readonly anchorNll?: number;
  readonly gradientNorm: number;
  readonly blockNorms: BlockNorms;
  readonly qmass: number | null;
  /** Mean ρ of each route that has rollouts. */
  readonly ratio: Readonly<Partial<Record<Route, number>>>;
  readonly clipFraction: number;
  readonly kl: number;
  /** Mean of log π_old − log π_ref over tokens. */
  readonly drift: number;
  readonly learningRate: number;
  /** Largest difference between the sampler's and the scorer's log-probabilities. */
  readonly parity: number;
  readonly adapterHash: string;
  /** How the rollouts were sampled; absent in a run that knows no server. */
  readonly sampler?: SamplerReport;
  readonly tripwireLogp: number | null;
  readonly zeroSignal: ZeroSignal | null;
}

export interface WatchedCounts extends Pick<Watched, 'cut' | 'abstentions' | 'costs'> {
  /** Number of rollouts that the arm took for hacks. */
  readonly flagged: number;
  /** Number of rollouts on which the monitor abstained. */
  readonly abstained: number;
}

/** Mean scores of the clean sides (low) and of the hack sides (high) of the pairs, and the distance between them. */
export interface PairBand extends Cuts {
  readonly width: number;
}

/** The gate has a new direction, or has measured its old one on the pairs again. */
export interface DirectionEvent {
  readonly kind: 'direction';
  /** The first update that is routed by this direction. */
  readonly update: number;
  readonly direction: Float32Array;
  /** Mean scores of the clean sides (low) and of the hack sides (high) of the pairs under this direction. */
  readonly pairCuts: Cuts | null;
}

/** One row of the gate ledger. */
export interface RolloutRecord {
  readonly rollout: Rollout;
  /** The grader's reward. */
  readonly reward: number;
  /** The score of the arm's monitor; null where it abstained, and for an arm without one. */
  readonly suspicion: number | null;
  /** Whether the arm took the rollout for a hack; null for an arm without a monitor. */
  readonly flagged: boolean | null;
  /** The reward that the arm made of it; null for an arm that changes no rewards. */
  readonly learnedReward: number | null;
  /** What the arm's screen hook said; null for an arm without that hook. */
  readonly screening: Screening | null;
  readonly advantage: number;
  readonly trained: boolean;
  /** The score, or the mean score of the tokens. */
  readonly score: number | null;
  /** One score per token; null unless the arm's condense hook gave them. */
  readonly tokenScores: Float64Array | null;
  readonly cuts: Cuts | null;
  /** The route, or the commonest route of the tokens; null for a rollout of a skipped group. */
  readonly route: Route | null;
  /** One route, or one per token; null for a rollout of a skipped group. */
  readonly routes: readonly Route[] | null;
  /** Log-probabilities under the policy that sampled: by the scorer, or by the sampler for a rollout of a skipped group. */
  readonly logps: Float32Array | null;
  readonly ratio: number | null;
  readonly k3: number | null;
  readonly norms: BlockNorms | null;
  /** The features that the arm saw, or the rows that it kept of them; null for an arm that asks for none and for a rollout of a skipped group. */
  readonly features: Float32Array | null;
}

export interface RolloutsEvent {
  readonly kind: 'rollouts';
  readonly update: number;
  readonly records: readonly RolloutRecord[];
}

/** Retain-heal, or a step that makes the deletion last, has run: `losses` holds the mean NLL of its completions before each step. */
export interface HealEvent {
  readonly kind: 'heal';
  readonly update: number;
  readonly losses: readonly number[];
  /** Which step made the deletion last, the length of what was learned, and how far the deployed block moved; absent for retain-heal. */
  readonly lasting?: { readonly step: string; readonly learned: number; readonly moved: number };
}

export interface StopEvent {
  readonly kind: 'stop';
  readonly update: number;
  readonly reason: 'finished' | 'tripwire';
  readonly detail: string;
}

export type TrainEvent = Expectation | DirectionEvent | StepEvent | RolloutsEvent | HealEvent | StopEvent;
