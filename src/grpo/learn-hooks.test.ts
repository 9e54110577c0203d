/** The hooks around learning: routes and gradients, in whole updates of a tiny policy. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, joined, plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import type { Route } from '../adapters/index.ts';
import { type Parameter, readFloats } from '../engine/index.ts';
import type { Arm, Routing } from './arm.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const routed = (routes: readonly (readonly Route[])[]): Routing => ({
  routes,
  scores: null,
  cuts: null,
  bufferRows: 0,
});
const three = ['keep', 'absorb', 'route'] as const;
/** A norm so large that nothing is clipped: AdamW then gets the gradients as they are. */
const unclipped = { changes: { optimiser: { maxGradientNorm: 1e9 } } };

const gradientsOf = (parameters: readonly Parameter[]) =>
  joined(parameters.map(({ gradient }) => readFloats(gradient)));

async function change(
  parameters: readonly Parameter[],
  what: 'value' | 'gradient',
  to: (x: number, at: number) => number,
): Promise<void> {
  let at = 0;
  for (const { [what]: tensor } of parameters) {
    const start = at;
    const data = await readFloats(tensor);
    tensor.device.write(
      tensor,
      data.map((x, i) => to(x, start + i)),
    );
    at += data.length;
  }
}

describe('the route hook', () => {
  it('is awaited, and routes whole rollouts', async () => {
    const arm: Arm = {
      ...plainArm,
      async route({ rollouts, advantages, step }) {
        await sleep(5);
        expect([rollouts.length, advantages.length, step]).toEqual([8, 8, 0]);
        return { ...routed(rollouts.map((_, i) => [three[i % 3]])), scores: rollouts.map((_, i) => i), bufferRows: 3 };
      },
    };
    const { outcome, gradients } = await lab.step(arm);
    expect(outcome.routing.routes.flat().slice(0, 4)).toEqual(['keep', 'absorb', 'route', 'keep']);
    expect(outcome.routing).toMatchObject({ scores: [0, 1, 2, 3, 4, 5, 6, 7], bufferRows: 3 });
    expect(outcome.result?.leaks).toEqual({ keep: 0, route: 0 });
    const inputs = lab.inputsOf(outcome);
    expect(gradients).toEqual(await lab.gradients(inputs));
    const absorbed = await lab.gradients({ ...inputs, routes: inputs.routes.map(() => ['absorb']) });
    expect(furthest(gradients, absorbed)).toBeGreaterThan(1e-4);
  });

  it.each([
    { route: 'keep', still: 'quarantine', moves: 'deployed' },
    { route: 'route', still: 'deployed', moves: 'quarantine' },
  ] as const)('teaches one block alone where everything is $route', async ({ route, still, moves }) => {
    const { outcome } = await lab.step({ ...plainArm, route: ({ rollouts }) => routed(rollouts.map(() => [route])) });
    expect(outcome.result?.blockNorms[still]).toBe(0);
    expect(outcome.result?.blockNorms[moves]).toBeGreaterThan(1e-3);
  });

  it('routes token by token', async () => {
    const byToken = (length: number, i: number): Route[] => Array.from({ length }, (_, t) => three[(i + t) % 3]);
    const arm: Arm = {
      ...plainArm,
      route: async ({ rollouts }) => routed(rollouts.map(({ length }, i) => byToken(length, i))),
    };
    const { outcome, gradients } = await lab.step(arm);
    expect(outcome.routing.routes).toEqual(outcome.rollouts.map(({ tokens }, i) => byToken(tokens.length, i)));
    const inputs = lab.inputsOf(outcome);
    expect(gradients).toEqual(await lab.gradients(inputs));
    const turned = inputs.rollouts.map(({ tokens }, i) => byToken(tokens.length, i + 1));
    expect(furthest(gradients, await lab.gradients({ ...inputs, routes: turned }))).toBeGreaterThan(1e-4);
  });

  it('one route beside routes by token is the route of every token', async () => {
    const mixed = (length: number, i: number): Route[] =>
      i % 2 === 0 ? ['route'] : Array.from({ length }, (): Route => 'keep');
    const { outcome, gradients } = await lab.step({
      ...plainArm,
      route: ({ rollouts }) => routed(rollouts.map(({ length }, i) => mixed(length, i))),
    });
    const spelled = lab
      .inputsOf(outcome)
      .rollouts.map(({ tokens }, i) => Array.from(tokens, (): Route => (i % 2 === 0 ? 'route' : 'keep')));
    expect(outcome.rollouts.some(({ tokens }) => tokens.length > 2)).toBe(true);
    expect(gradients).toEqual(await lab.gradients({ ...lab.inputsOf(outcome), routes: spelled }));
  });

  it.each([
    ['a route too few', () => routed([['absorb']]), 'expected 8 answers, one per rollout, found 1.'],
    ['no routes for a rollout', () => routed(Array(8).fill([])), 'one per token, found 0.'],
    [
      'more routes than tokens',
      () => routed(Array.from({ length: 8 }, () => Array<Route>(20).fill('keep'))),
      'one per token, found 20.',
    ],
  ])('%s stops the run by name', async (_, route, message) => {
    await expect(lab.step({ ...plainArm, route })).rejects.toThrow(/^hook route of the arm: /);
    await expect(lab.step({ ...plainArm, route })).rejects.toThrow(message);
  });
});

describe('the gradient hook', () => {
  it('sees the summed gradients, and what it leaves is what AdamW takes', async () => {
    const plain = await lab.step(plainArm, unclipped);
    let seen: Float32Array = new Float32Array();
    const halved = await lab.step(
      {
        ...plainArm,
        async gradient(parameters) {
          expect(parameters).toBe(lab.policy.adapter.parameters);
          seen = await gradientsOf(parameters);
          await change(parameters, 'gradient', (g) => g / 2);
        },
      },
      unclipped,
    );
    expect(seen).toEqual(await lab.gradients(lab.inputsOf(halved.outcome)));
    expect(seen).toEqual(plain.gradients);
    expect(halved.gradients).toEqual(plain.gradients.map((g) => g / 2));
    expect(
      furthest(
        halved.moments,
        plain.moments.map((m) => m / 2),
      ),
    ).toBeLessThan(1e-9);
    expect(Math.max(...plain.moments.map(Math.abs))).toBeGreaterThan(1e-5);
    const [one, other] = [plain.outcome.result, halved.outcome.result];
    expect(other?.gradientNorm).toBeCloseTo((one?.gradientNorm ?? 0) / 2, 6);
    for (const block of ['deployed', 'quarantine'] as const) {
      expect(other?.blockNorms[block]).toBeCloseTo((one?.blockNorms[block] ?? 0) / 2, 6);
    }
    expect(other).toMatchObject({ loss: one?.loss, rollouts: one?.rollouts });
  });

  it('makes them again on the same rollouts, where the parameters are: g1 + γ/ε (g2 − g1)', async () => {
    const [epsilon, gamma] = [0.05, 0.5];
    let first: Float32Array = new Float32Array();
    let second: Float32Array = new Float32Array();
    const arm: Arm = {
      ...plainArm,
      async gradient(parameters, again) {
        first = await gradientsOf(parameters);
        const norm = Math.hypot(...first);
        const before = await joined(parameters.map(({ value }) => readFloats(value)));
        await change(parameters, 'value', (x, at) => x + (epsilon * first[at]) / norm);
        await again();
        second = await gradientsOf(parameters);
        await change(parameters, 'value', (_, at) => before[at]);
        await change(parameters, 'gradient', (g, at) => first[at] + (gamma / epsilon) * (g - first[at]));
      },
    };
    const { outcome, gradients, passes } = await lab.step(arm, unclipped);
    expect(passes.learn).toBe(2);
    const inputs = lab.inputsOf(outcome);
    const here = await lab.gradients(inputs);
    const norm = Math.hypot(...here);
    const there = await lab.gradients(inputs, { moved: here.map((g) => (epsilon * g) / norm) });
    expect(first).toEqual(here);
    expect(furthest(second, there)).toBeLessThan(1e-7);
    expect(furthest(here, there)).toBeGreaterThan(1e-4);
    const expected = here.map((g, i) => g + (gamma / epsilon) * (there[i] - g));
    expect(furthest(gradients, expected)).toBeLessThan(1e-6);
    expect(furthest(gradients, here)).toBeGreaterThan(1e-4);
    const plain = await lab.step(plainArm, unclipped);
    expect(outcome.result).toMatchObject({
      loss: plain.outcome.result?.loss,
      rollouts: plain.outcome.result?.rollouts,
    });
  });

  it('again, without a move, gives the same gradients and not their sum', async () => {
    const plain = await lab.step(plainArm);
    const twice = await lab.step({ ...plainArm, gradient: (_, again) => again() });
    expect(twice.gradients).toEqual(plain.gradients);
    expect(twice.values).toEqual(plain.values);
    expect(twice.passes.learn).toBe(2 * plain.passes.learn);
  });

  it('keeps to the routes of the update', async () => {
    const route: Arm['route'] = ({ rollouts }) => routed(rollouts.map((_, i) => [three[i % 3]]));
    const plain = await lab.step({ ...plainArm, route });
    const again = await lab.step({ ...plainArm, route, gradient: (_, makeAgain) => makeAgain() });
    expect(again.gradients).toEqual(plain.gradients);
  });

  it('is called once in every epoch', async () => {
    const seen: Float32Array[] = [];
    await lab.step(
      {
        ...plainArm,
        async gradient(parameters) {
          seen.push(await gradientsOf(parameters));
        },
      },
      { changes: { loss: { epochs: 3 } } },
    );
    expect(seen).toHaveLength(3);
    expect(furthest(seen[0], seen[1])).toBeGreaterThan(1e-5);
  });

  it('is not called where nothing is learned', async () => {
    let called = 0;
    const arm: Arm = {
      ...plainArm,
      async gradient() {
        called++;
      },
    };
    await lab.step(arm, { rewards: Array(8).fill(0) });
    expect(called).toBe(0);
    await lab.step(arm);
    expect(called).toBe(1);
  });
});
