/**
 * Who decides the routes of an update. The step never asks which arm it runs: every arm is a Router. Those here see
 * features and, for the mass-matched placebo, advantages; a router that reads labels can only be injected from outside.
 */
import type { Features, Route } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import type { DirectionQuality, Gate, GateState } from '../gates/index.ts';
import type { Granularity, Policy } from './policy.ts';

export type FeatureKind = 'activation' | 'gradient';

export interface RoutingInput {
  readonly update: number;
  readonly ids: readonly string[];
  readonly advantages: Float32Array;
  /** One row per rollout, or per completion token; null when the router wants none. */
  readonly features: Features | null;
  /** Completion tokens of each rollout. */
  readonly lengths: readonly number[];
}

export interface Routing {
  /** Per rollout: one route, or one per completion token. */
  readonly routes: readonly (readonly Route[])[];
  readonly scores: readonly number[] | null;
  readonly cuts: { readonly low: number; readonly high: number } | null;
  readonly bufferRows: number;
}

export interface Router {
  /** What it must be shown; null for nothing. */
  readonly wants: { readonly kind: FeatureKind; readonly granularity: Granularity } | null;
  /** Before an update: rebuilds what is due. */
  refresh(update: number, policy: Policy): Promise<DirectionQuality | null>;
  /** With the scores of clean and hack pairs under it; null for a router without one. */
  readonly direction: Pick<GateState, 'direction' | 'pairCuts'> | null;
  route(input: RoutingInput): Routing;
  readonly state: GateState | null;
  restore(state: GateState | null): void;
}

/** vanilla, absorb and no-loophole: everything trains both blocks. */
export function absorbRouter(): Router {
  return {
    wants: null,
    refresh: async () => null,
    direction: null,
    route: ({ ids }) => ({ routes: ids.map(() => ['absorb']), scores: null, cuts: null, bufferRows: 0 }),
    state: null,
    restore() {},
  };
}

export interface GateRouterOptions {
  readonly gate: Gate;
  readonly kind: FeatureKind;
  readonly granularity: Granularity;
  /** Rebuilds the direction on the current policy and shows it to the gate; a placebo keeps its own. */
  readonly rebuild: (policy: Policy) => Promise<DirectionQuality>;
  /** In updates; null: only once. */
  readonly refreshEvery: number | null;
}

export function gateRouter({ gate, kind, granularity, rebuild, refreshEvery }: GateRouterOptions): Router {
  return {
    wants: { kind, granularity },
    async refresh(update, policy) {
      const due = update === 0 || (refreshEvery !== null && update % refreshEvery === 0);
      return due ? rebuild(policy) : null;
    },
    get direction() {
      return { direction: gate.direction.data, pairCuts: gate.pairCuts };
    },
    route({ features, lengths }) {
      if (features === null) return absorbAll(lengths);
      const { scores, cuts, routes, bufferRows } = gate.decide(features);
      if (granularity === 'rollout') {
        return { routes: routes.map((route) => [route]), scores: Array.from(scores), cuts, bufferRows };
      }
      let at = 0;
      const perRollout = lengths.map((length) => {
        const rows = { routes: routes.slice(at, at + length), scores: scores.subarray(at, at + length) };
        at += length;
        return rows;
      });
      return {
        routes: perRollout.map((rows) => rows.routes),
        scores: perRollout.map((rows) => rows.scores.reduce((sum, score) => sum + score, 0) / rows.scores.length),
        cuts,
        bufferRows,
      };
    },
    get state() {
      return gate.state;
    },
    restore(state) {
      if (state !== null) gate.restore(state);
    },
  };
}

function absorbAll(lengths: readonly number[]): Routing {
  return { routes: lengths.map(() => ['absorb']), scores: null, cuts: null, bufferRows: 0 };
}

/**
 * The mass-matched placebo: runs the gate, then deals its routes out at random so that as many rollouts, with about the same
 * advantage mass, end in each route. Routes are permuted among rollouts of similar advantage (sorted neighbours in blocks).
 */
export function massMatchedRouter(inner: Router, seed: number, blockSize = 4): Router {
  return {
    wants: inner.wants,
    refresh: (update, policy) => inner.refresh(update, policy),
    get direction() {
      return inner.direction;
    },
    route(input) {
      const decided = inner.route(input);
      const order = [...input.advantages.keys()].sort((a, b) => input.advantages[a] - input.advantages[b] || a - b);
      const routes = [...decided.routes];
      for (let start = 0; start < order.length; start += blockSize) {
        const block = order.slice(start, start + blockSize);
        const deal = randomStream(seed, ['mass-matched', start], input.update).permutation(block.length);
        block.forEach((index, i) => {
          routes[index] = decided.routes[block[deal[i]]];
        });
      }
      return { ...decided, routes };
    },
    get state() {
      return inner.state;
    },
    restore: (state) => inner.restore(state),
  };
}
