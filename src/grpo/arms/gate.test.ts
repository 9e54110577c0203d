import { describe, expect, it } from 'vitest';
import type { Route } from '../../adapters/index.ts';
import { randomStream } from '../../base/rng.ts';
import { Gate } from '../../gates/index.ts';
import { absorbAll, type ScoredRollouts, type Seen } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import type { Policy } from '../policy.ts';
import { gateArm, massMatched, type RoutingArm } from './gate.ts';
import { absorb, noLoophole, vanilla } from './plain.ts';

const gateOf = (bufferTokens: number | null, tail = 0.25) =>
  new Gate(
    {
      calibration: 'quantile',
      score: 'dot',
      tail,
      keepTail: null,
      keepOnly: 'any',
      halfLife: null,
      bufferRows: 500,
      warmupRows: 0,
      bufferTokens,
    },
    { modules: 1, rank: 1, data: Float32Array.of(1) },
  );
const armOf = (granularity: 'rollout' | 'token', refreshEvery: number | null = 5, rebuilt: number[] = []) =>
  gateArm({
    gate: gateOf(granularity === 'token' ? 8 : null),
    kind: 'activation',
    granularity,
    refreshEvery,
    rebuild: async () => {
      rebuilt.push(rebuilt.length);
      return {
        quality: { pairedAccuracy: 1, auroc: 1, wrongPairs: [] },
        direction: Float32Array.of(1),
        pairCuts: null,
      };
    },
  });

function scored(scores: readonly number[], lengths: readonly number[], step = 0): ScoredRollouts {
  const advantages = Float32Array.from(lengths, (_, i) => randomStream(step, 'advantages').normalAt(i));
  return {
    step,
    rollouts: lengths.map(
      (length, member): Seen => ({
        id: `${step + 1}-0-${member}`,
        step,
        group: 0,
        member,
        sampled: 'full',
        truncated: false,
        length,
        text: null,
      }),
    ),
    advantages,
    features: { rows: scores.length, modules: 1, rank: 1, data: Float32Array.from(scores) },
  };
}

/** Has an arm condense the rows of each rollout, and then choose the routes. */
function routeTokens(arm: RoutingArm, { features, ...rest }: ScoredRollouts) {
  let at = 0;
  const condensed = rest.rollouts.map(({ length }) => {
    at += length;
    const data = features?.data.subarray(at - length, at) ?? new Float32Array();
    const own = arm.condense?.({ rows: length, modules: 1, rank: 1, data });
    if (own === undefined) throw new Error('the arm condenses nothing');
    return own;
  });
  return arm.route({ ...rest, features: null, condensed });
}

describe('gates as arms', () => {
  it('rebuild at the first update and at every cadence; once where there is none', async () => {
    const policy = {} as Policy;
    for (const [cadence, expected] of [
      [5, 3],
      [null, 1],
      [1, 12],
    ] as const) {
      // biome-ignore format: cases
      const rebuilt: number[] = [];
      const arm = armOf('rollout', cadence, rebuilt);
      for (let step = 0; step < 12; step++) await arm.refresh(step, policy);
      expect(rebuilt).toHaveLength(expected);
    }
  });

  it('one route per rollout, or one per token with the mean as the rollout’s score', async () => {
    const { routes } = await armOf('rollout').route(scored([1, 2, 3, 4], [9, 9, 9, 9]));
    expect(routes).toEqual([['keep'], ['absorb'], ['absorb'], ['route']]);
    const byToken = await routeTokens(armOf('token'), scored([1, 2, 3, 4], [3, 1]));
    // Three tokens share the weight of the first rollout, so that a quarter of all weight is reached between 2 and 3.
    expect(byToken.routes).toEqual([['keep', 'keep', 'absorb'], ['route']]);
    expect(byToken.cuts).toEqual({ low: 2.5, high: 4 });
    expect(byToken.scores).toEqual([2, 4]);
    expect(byToken.bufferRows).toBe(2);
  });

  it('without features, or without a gate, everything is absorbed', async () => {
    const nothing = { ...scored([], [1, 2]), features: null };
    expect((await armOf('rollout').route(nothing)).routes).toEqual([['absorb'], ['absorb']]);
    expect(absorbAll(2)).toEqual({ routes: [['absorb'], ['absorb']], scores: null, cuts: null, bufferRows: 0 });
    for (const { open } of [vanilla, absorb, noLoophole]) {
      expect(await open({}, {} as ArmTools)).toEqual({ sees: { features: null, text: false } });
    }
  });

  it('sees the features it was made for and no text, and goes on from a saved state', async () => {
    const arm = armOf('token');
    expect(arm.sees).toEqual({ features: { kind: 'activation', granularity: 'token' }, text: false });
    await routeTokens(arm, scored([1, 2, 3, 4], [2, 2]));
    const other = armOf('token');
    other.restore(arm.save());
    expect(other.save()).toEqual(arm.save());
    const next = scored([0, 5, 2.5], [3], 1);
    expect(await routeTokens(other, next)).toEqual(await routeTokens(arm, next));
  });
});

describe('the mass-matched placebo', () => {
  const hacks = 24;
  /** Three groups of eight whose hacks all have the same advantage and the highest scores, then as many clean rollouts in the same groups. */
  const update = (step: number): ScoredRollouts => {
    const own = scored(
      Array.from({ length: 64 }, (_, i) => (i < hacks ? 10 + i : -i)),
      new Array(64).fill(3),
      step,
    );
    return { ...own, advantages: Float32Array.from({ length: 64 }, (_, i) => (i < hacks ? 1.5 : i < 44 ? 0.5 : -1)) };
  };
  const signsOf = (routes: readonly (readonly Route[])[], { advantages }: ScoredRollouts) =>
    routes.map(([route], i) => `${route} ${Math.sign(advantages[i])}`).sort();

  it('gives each route to as many rollouts of each sign as before', async () => {
    for (let step = 0; step < 5; step++) {
      const own = update(step);
      const gated = await armOf('rollout').route(own);
      const dealt = await massMatched(armOf('rollout'), 1).route(own);
      expect(signsOf(dealt.routes, own)).toEqual(signsOf(gated.routes, own));
      expect((await massMatched(armOf('rollout'), 1).route(own)).routes).toEqual(dealt.routes);
      expect((await massMatched(armOf('rollout'), 2).route(own)).routes).not.toEqual(dealt.routes);
    }
  });

  it('forgets who deserved them: hacks of one advantage are routed as often as other praised rollouts', async () => {
    let [routed, rollouts] = [0, 0];
    for (let step = 0; step < 40; step++) {
      const own = update(step);
      const { routes } = await armOf('rollout').route(own);
      // The gate itself routes hacks alone: 16 of the 24.
      expect(routes.map(([route]) => route === 'route').lastIndexOf(true)).toBeLessThan(hacks);
      const dealt = (await massMatched(armOf('rollout'), 1).route(own)).routes;
      routed += dealt.slice(0, hacks).filter(([route]) => route === 'route').length;
      rollouts += hacks;
    }
    // 16 of 44 praised rollouts, dealt out evenly; five standard errors.
    const even = 16 / 44;
    expect(Math.abs(routed / rollouts - even)).toBeLessThan(5 * Math.sqrt((even * (1 - even)) / rollouts));
  });

  it('by token: every rollout keeps its length, and each route as many tokens of each sign as before', async () => {
    const lengths = Array.from({ length: 16 }, (_, i) => 1 + (i % 5));
    const own = scored(
      Array.from({ length: lengths.reduce((sum, length) => sum + length, 0) }, (_, i) => Math.sin(7 * i)),
      lengths,
    );
    const gated = (await routeTokens(armOf('token'), own)).routes;
    const dealt = (await routeTokens(massMatched(armOf('token'), 1), own)).routes;
    const tokens = (routes: readonly (readonly Route[])[]) =>
      routes.flatMap((row, i) => row.map((route) => `${route} ${Math.sign(own.advantages[i])}`)).sort();
    expect(dealt.map(({ length }) => length)).toEqual(lengths);
    expect(tokens(dealt)).toEqual(tokens(gated));
    expect(new Set(dealt.flat()).size).toBe(3);
    expect(dealt).not.toEqual(gated);
  });
});
