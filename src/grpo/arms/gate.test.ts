import { describe, expect, it } from 'vitest';
import type { Route } from '../adapters/index.ts';
import { randomStream } from '../base/rng.ts';
import { Gate } from '../gates/index.ts';
import { commonestRoute, explainZero } from './report.ts';
import { absorbRouter, gateRouter, massMatchedRouter, type RoutingInput } from './router.ts';
import type { StepOutcome } from './step.ts';
import { Tripwire } from './tripwire.ts';

const gateOf = (tail = 0.25) =>
  new Gate(
    { calibration: 'quantile', score: 'dot', tail, keepTail: null, halfLife: null, bufferRows: 500, warmupRows: 0 },
    { modules: 1, rank: 1, data: Float32Array.of(1) },
  );
const routerOf = (granularity: 'rollout' | 'token', refreshEvery: number | null = 5, rebuilt: number[] = []) =>
  gateRouter({
    gate: gateOf(),
    kind: 'activation',
    granularity,
    refreshEvery,
    rebuild: async () => {
      rebuilt.push(rebuilt.length);
      return { pairedAccuracy: 1, auroc: 1, wrongPairs: [] };
    },
  });

function input(scores: readonly number[], lengths: readonly number[], update = 0): RoutingInput {
  const advantages = Float32Array.from(lengths, (_, i) => randomStream(update, 'advantages').normalAt(i));
  return {
    update,
    ids: lengths.map((_, i) => `${i}`),
    advantages,
    features: { rows: scores.length, modules: 1, rank: 1, data: Float32Array.from(scores) },
    lengths,
  };
}

describe('gate routers', () => {
  it('rebuild at the first update and at every cadence; once where there is none', async () => {
    const policy = {} as Parameters<ReturnType<typeof routerOf>['refresh']>[1];
    for (const [cadence, expected] of [
      [5, 3],
      [null, 1],
      [1, 12],
    ] as const) {
      // biome-ignore format: cases
      const rebuilt: number[] = [];
      const router = routerOf('rollout', cadence, rebuilt);
      for (let update = 0; update < 12; update++) await router.refresh(update, policy);
      expect(rebuilt).toHaveLength(expected);
    }
  });

  it('one route per rollout, or one per token with the mean as the rollout’s score', () => {
    const { routes } = routerOf('rollout').route(input([1, 2, 3, 4], [9, 9, 9, 9]));
    expect(routes).toEqual([['keep'], ['absorb'], ['absorb'], ['route']]);
    const byToken = routerOf('token').route(input([1, 2, 3, 4], [3, 1]));
    expect(byToken.routes).toEqual([['keep', 'absorb', 'absorb'], ['route']]);
    expect(byToken.scores).toEqual([2, 4]);
    expect(byToken.bufferRows).toBe(4);
  });

  it('without features, or without a gate, everything is absorbed', () => {
    const nothing = { ...input([], [1, 2]), features: null };
    expect(routerOf('rollout').route(nothing).routes).toEqual([['absorb'], ['absorb']]);
    expect(absorbRouter().route(nothing)).toMatchObject({ routes: [['absorb'], ['absorb']], scores: null });
    expect(absorbRouter()).toMatchObject({ wants: null, state: null, direction: null });
  });
});

describe('the mass-matched placebo', () => {
  it('keeps the counts of the routes and about their advantage mass, and forgets who deserved them', () => {
    const scores = Array.from({ length: 64 }, (_, i) => randomStream(9, 'scores').normalAt(i));
    const mass = (routes: readonly (readonly Route[])[], { advantages }: RoutingInput, wanted: Route): number =>
      routes.reduce((sum, [route], i) => sum + (route === wanted ? Math.abs(advantages[i]) : 0), 0);
    let moved = 0;
    for (let update = 0; update < 5; update++) {
      const own = input(scores, new Array(64).fill(3), update);
      const gated = routerOf('rollout').route(own);
      const dealt = massMatchedRouter(routerOf('rollout'), 1).route(own);
      for (const wanted of ['keep', 'absorb', 'route'] as const) {
        const count = (routes: readonly (readonly Route[])[]): number =>
          routes.filter(([route]) => route === wanted).length;
        expect(count(dealt.routes)).toBe(count(gated.routes));
        expect(mass(dealt.routes, own, wanted)).toBeGreaterThan(0.8 * mass(gated.routes, own, wanted));
        expect(mass(dealt.routes, own, wanted)).toBeLessThan(1.2 * mass(gated.routes, own, wanted));
      }
      moved += dealt.routes.filter(([route], i) => route !== gated.routes[i][0]).length;
      expect(massMatchedRouter(routerOf('rollout'), 1).route(own).routes).toEqual(dealt.routes);
    }
    expect(moved).toBeGreaterThan(40);
  });
});

describe('why an update taught nothing', () => {
  const outcome = (trained: number, routes: Route[][], deployed: number): StepOutcome =>
    ({
      trained: Array.from({ length: trained }, (_, i) => i),
      skippedGroups: [true, trained === 0],
      routing: { routes, scores: null, cuts: null, bufferRows: 0 },
      result: trained === 0 ? null : { blockNorms: { deployed, quarantine: 1 } },
    }) as unknown as StepOutcome;

  it.each([
    [
      outcome(0, [], 0),
      { reason: 'every group has equal rewards', groups: 2, skippedGroups: 2, trained: 0, routed: 0 },
    ],
    [outcome(2, [['route'], ['route', 'route']], 0), { reason: 'every rollout was routed', trained: 2, routed: 2 }],
    [outcome(2, [['route'], ['absorb']], 0), { reason: 'the gradient is zero', trained: 2, routed: 1 }],
  ])('%#', (given, expected) => {
    expect(explainZero(given)).toMatchObject(expected);
  });

  it('is silent when something was taught', () => {
    expect(explainZero(outcome(2, [['route'], ['absorb']], 0.5))).toBeNull();
  });

  it('a rollout’s route is the commonest of its tokens', () => {
    expect(commonestRoute(['route'])).toBe('route');
    expect(commonestRoute(['keep', 'route', 'keep'])).toBe('keep');
    expect(commonestRoute(['keep', 'absorb'])).toBe('absorb');
  });
});

describe('the tripwire', () => {
  it('trips on two values in a row far below the best, and not on one', () => {
    const wire = new Tripwire(5);
    for (const value of [-2, -1, -6.5, -1.5, -6.5]) {
      wire.watch(value, 'text');
      expect(wire.state.tripped).toBeNull();
    }
    wire.watch(-7, 'the last text');
    expect(wire.state.tripped).toContain('last sample: the last text');
    expect(wire.state.tripped).toContain('best -1');
  });

  it('a value that is not finite is a strike, and its state can be taken up again', () => {
    const wire = new Tripwire(5);
    wire.watch(Number.NaN, 'a');
    const other = new Tripwire(5);
    other.restore(wire.state);
    other.watch(Number.NEGATIVE_INFINITY, 'b');
    expect(other.state).toMatchObject({ best: null, strikes: 2 });
    expect(other.state.tripped).not.toBeNull();
  });
});
