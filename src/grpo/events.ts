/** What training says about itself. Everything here is a function of the seed: times are kept apart, by those who listen. */
import type { BlockNorms, Route } from '../adapters/index.ts';
import type { DirectionQuality } from '../gates/index.ts';
import type { Screening } from './arm.ts';
import type { Rollout } from './rollout.ts';

export interface Expectation {
  readonly kind: 'expectation';
  readonly name: string;
  readonly holds: boolean;
  readonly detail: string;
}

/** Why an update taught the deployed block nothing. */
export interface ZeroSignal {
  readonly reason: 'every group has equal rewards' | 'every rollout was routed' | 'the gradient is zero';
  readonly groups: number;
  readonly skippedGroups: number;
  /** Rollouts that carried gradient, and those of them that were routed as a whole. */
  readonly trained: number;
  readonly routed: number;
}

export type RouteCounts = Readonly<Record<Route, number>>;

export interface StepEvent {
  readonly kind: 'step';
  /** Updates completed, this one included. */
  readonly update: number;
  readonly rollouts: number;
  readonly meanReward: number;
  readonly groups: number;
  readonly skippedGroups: number;
  readonly unhintedGroups: number;
  readonly demonstrations: number;
  readonly truncated: number;
  readonly meanTokens: number;
  /** Of the rollouts that carried gradient; by token where the gate decides by token. */
  readonly routes: RouteCounts;
  readonly cuts: { readonly low: number; readonly high: number } | null;
  readonly scores: { readonly p10: number; readonly p50: number; readonly p90: number } | null;
  readonly bufferRows: number;
  /** Updates since the direction was rebuilt; null without one. */
  readonly directionAge: number | null;
  readonly direction: DirectionQuality | null;
  readonly loss: number;
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
  readonly tripwireLogp: number | null;
  readonly zeroSignal: ZeroSignal | null;
}

/** The gate has a new direction, or shows its own to the pairs again. */
export interface DirectionEvent {
  readonly kind: 'direction';
  /** The first update that is routed by it. */
  readonly update: number;
  readonly direction: Float32Array;
  /** Mean scores of the clean and the hack pairs under it. */
  readonly pairCuts: { readonly low: number; readonly high: number } | null;
}

/** One row of the gate ledger. */
export interface RolloutRecord {
  readonly rollout: Rollout;
  /** As the grader gave it. */
  readonly reward: number;
  /** As the arm changed it; null for an arm that changes no rewards. */
  readonly learnedReward: number | null;
  /** What the arm's screen said; null for an arm without one. */
  readonly screening: Screening | null;
  readonly advantage: number;
  readonly trained: boolean;
  readonly score: number | null;
  readonly cuts: { readonly low: number; readonly high: number } | null;
  /** null for a rollout of a skipped group. Token gates: the commonest route. */
  readonly route: Route | null;
  /** One, or one per token; null for a rollout of a skipped group. */
  readonly routes: readonly Route[] | null;
  /** Of the policy that sampled: the scorer's, or the sampler's own for a rollout of a skipped group. */
  readonly logps: Float32Array | null;
  readonly ratio: number | null;
  readonly k3: number | null;
  readonly norms: BlockNorms | null;
  /** As the router saw them; null when it wants none. */
  readonly features: Float32Array | null;
}

export interface RolloutsEvent {
  readonly kind: 'rollouts';
  readonly update: number;
  readonly records: readonly RolloutRecord[];
}

/** Retain-heal ran: the mean NLL of the clean completions before each step. */
export interface HealEvent {
  readonly kind: 'heal';
  readonly update: number;
  readonly losses: readonly number[];
}

export interface StopEvent {
  readonly kind: 'stop';
  readonly update: number;
  readonly reason: 'finished' | 'tripwire';
  readonly detail: string;
}

export type TrainEvent = Expectation | DirectionEvent | StepEvent | RolloutsEvent | HealEvent | StopEvent;
