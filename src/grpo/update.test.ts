import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  makePolicy,
  rollouts as makeRollouts,
  type SettingsChanges,
  tinySettings,
  tinyWith,
} from '../../test/grpo/tiny-policy.ts';
import type { Route } from '../adapters/index.ts';
import { steerAdapter } from '../adapters/index.ts';
import { AdamW, readFloats, type Scope, type Tensor } from '../engine/index.ts';
import { average } from '../stats/index.ts';
import { seesNothing } from './arm.ts';
import { retainHeal } from './heal.ts';
import { type Policy, scoreRollouts } from './policy.ts';
import type { GrpoSettings } from './settings.ts';
import {
  accumulateGradients,
  learningRateAt,
  readBlockNorms,
  tokenWeight,
  type UpdateInputs,
  type UpdateResult,
  updatePolicy,
} from './update.ts';

let scope: Scope;
let policy: Policy;
let inputs: UpdateInputs;
const mixed: Route[] = ['keep', 'absorb', 'route', 'absorb', 'route', 'keep', 'keep', 'absorb'];

beforeAll(async () => {
  ({ scope, policy } = await makePolicy());
  const rollouts = makeRollouts(2, 4);
  const { logps: logpBase } = await scoreRollouts(policy, rollouts, () => 'base', tinySettings.compute);
  const { logps } = await scoreRollouts(policy, rollouts, () => 1, tinySettings.compute);
  inputs = {
    rollouts,
    advantages: Float32Array.of(1, -1, 0.5, -0.5, 2, -1, -1.5, 0.5),
    logpOld: logps.map((own) => own.map((logp, t) => logp + (t % 2 === 0 ? 0.3 : -0.1))),
    logpBase,
    routes: mixed.map((route) => [route]),
  };
});
afterAll(() => scope[Symbol.dispose]());

async function gradientsOf(changed: Partial<UpdateInputs> = {}, changes: SettingsChanges = {}) {
  using optimiser = new AdamW(policy.adapter.parameters);
  optimiser.zeroGradients();
  const own = { ...inputs, ...changed };
  const result = await accumulateGradients(policy, optimiser, own, tinyWith(changes));
  const gradients = await Promise.all(policy.adapter.parameters.map(({ gradient }) => readFloats(gradient)));
  return { ...result, gradients: gradients.flatMap((own) => Array.from(own)), norms: await readBlockNorms(policy) };
}

function furthest(a: readonly number[], b: readonly number[]): number {
  return a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);
}

it('the learning rate follows a cosine to 0, or stays, after the warm-up', () => {
  const rates = (schedule: 'cosine' | 'constant') => {
    const settings = tinyWith({ optimiser: { learningRate: 8, warmupUpdates: 2, schedule }, updates: 6 });
    return [0, 1, 2, 4, 6, 60].map((step) => Math.round(1000 * learningRateAt(settings, step)) / 1000);
  };
  expect(rates('cosine')).toEqual([4, 8, 8, 4, 0, 0]);
  expect(rates('constant')).toEqual([4, 8, 8, 8, 8, 8]);
});

describe('passes', () => {
  it('a prompt shared by rollouts of one route gives what unshared prompts give, for any size of a pass', async () => {
    const shared = await gradientsOf();
    const apart = await gradientsOf({ rollouts: inputs.rollouts.map((rollout, group) => ({ ...rollout, group })) });
    const small = await gradientsOf({}, { compute: { tokensPerPass: 1 } });
    for (const other of [apart, small]) {
      expect(furthest(other.gradients, shared.gradients)).toBeLessThan(1e-6);
      expect(other.loss).toBeCloseTo(shared.loss, 6);
    }
    expect(Math.max(...shared.gradients.map(Math.abs))).toBeGreaterThan(1e-3);
  });

  it('rollouts one by one add up to all of them', async () => {
    const all = await gradientsOf();
    const sum = new Array<number>(all.gradients.length).fill(0);
    for (let i = 0; i < inputs.rollouts.length; i++) {
      const one = await gradientsOf({
        rollouts: [inputs.rollouts[i]],
        advantages: inputs.advantages.slice(i, i + 1),
        logpOld: [inputs.logpOld[i]],
        logpBase: [inputs.logpBase[i]],
        routes: [inputs.routes[i]],
      });
      one.gradients.forEach((value, at) => {
        sum[at] += value;
      });
    }
    expect(furthest(sum, all.gradients)).toBeLessThan(1e-6);
  });

  it('routes by token that are all one route give that route', async () => {
    const byRollout = await gradientsOf();
    const routes = inputs.rollouts.map(({ tokens }, i) => Array.from(tokens, () => mixed[i]));
    // With routes by token the prompt is always absorbed, so the two kinds of routes agree only for absorbed rollouts.
    const absorbed = await gradientsOf({ routes: routes.map((own) => own.map(() => 'absorb')) });
    const same = await gradientsOf({ routes: mixed.map(() => ['absorb']) });
    expect(furthest(absorbed.gradients, same.gradients)).toBeLessThan(1e-6);
    expect(furthest(byRollout.gradients, same.gradients)).toBeGreaterThan(1e-4);
    const byToken = await gradientsOf({ routes });
    expect(furthest(byToken.gradients, same.gradients)).toBeGreaterThan(1e-4);
    expect(byToken.leaks).toEqual({ keep: null, route: null });
  });
});

describe('blocks', () => {
  const all = (route: Route) => ({ routes: mixed.map((): Route[] => [route]) });

  it.each(['branch', 'parameter'] as const)('learn by their route alone, detached by %s', async (detach) => {
    const keep = await gradientsOf(all('keep'), { loss: { detach } });
    expect(keep.norms.quarantine).toBe(0);
    expect(keep.norms.deployed).toBeGreaterThan(1e-3);
    expect(keep.leaks).toEqual({ keep: 0, route: null });
    const route = await gradientsOf(all('route'), { loss: { detach } });
    expect(route.norms.deployed).toBe(0);
    expect(route.norms.quarantine).toBeGreaterThan(1e-3);
    expect(route.leaks).toEqual({ keep: null, route: 0 });
    const absorb = await gradientsOf(all('absorb'), { loss: { detach } });
    expect(Math.min(absorb.norms.deployed, absorb.norms.quarantine)).toBeGreaterThan(1e-3);
    expect(absorb.leaks).toEqual({ keep: null, route: null });
    expect((await gradientsOf({}, { loss: { detach } })).leaks).toEqual({ keep: 0, route: 0 });
    for (const { norms } of keep.rollouts) expect(norms.quarantine).toBe(0);
    for (const { norms } of route.rollouts) expect(norms.deployed).toBe(0);
  });

  it('the KL of a routed rollout trains the deployed block only where the config says so', async () => {
    const noSurrogate = { advantages: new Float32Array(8) };
    const same = await gradientsOf({ ...all('route'), ...noSurrogate }, { loss: { klRoute: 'same' } });
    expect(same.norms.deployed).toBe(0);
    const apart = await gradientsOf({ ...all('route'), ...noSurrogate }, { loss: { klRoute: 'absorb' } });
    const absorbed = await gradientsOf({ ...all('absorb'), ...noSurrogate }, { loss: { klRoute: 'same' } });
    expect(furthest(apart.gradients, absorbed.gradients)).toBeLessThan(1e-7);
    expect(apart.norms.deployed).toBeGreaterThan(1e-4);
    expect(apart.leaks.route).toBe(0);
    const kept = await gradientsOf({ ...all('keep'), ...noSurrogate }, { loss: { klRoute: 'absorb' } });
    expect(kept.norms.quarantine).toBe(0);
  });
});

describe('weights', () => {
  it('Dr.GRPO divides by constants, classic GRPO by the length of the rollout', () => {
    const [rollout] = inputs.rollouts;
    expect(tokenWeight(rollout, tinySettings)).toBe(1 / (4 * 2 * 8));
    expect(tokenWeight(rollout, tinyWith({ loss: { kind: 'classic' } }))).toBe(1 / (4 * 2 * rollout.tokens.length));
  });
});

describe('updates', () => {
  const restoring = async (act: (optimiser: AdamW) => Promise<void>): Promise<Float32Array[]> => {
    const { parameters } = policy.adapter;
    const before = await Promise.all(parameters.map(({ value }) => readFloats(value)));
    using optimiser = new AdamW(parameters);
    await act(optimiser);
    const after = await Promise.all(parameters.map(({ value }) => readFloats(value)));
    parameters.forEach(({ value }, i) => {
      value.device.write(value, before[i]);
    });
    return after;
  };

  it('two epochs are two optimiser steps on one batch', async () => {
    const constant = tinyWith({ optimiser: { warmupUpdates: 0 }, updates: 1_000_000 });
    const update = (optimiser: AdamW, step: number, settings: GrpoSettings) =>
      updatePolicy({ policy, optimiser, arm: { sees: seesNothing }, settings }, inputs, step);
    const once = await restoring(async (optimiser) => {
      await update(optimiser, 0, { ...constant, loss: { ...constant.loss, epochs: 2 } });
    });
    const twice = await restoring(async (optimiser) => {
      await update(optimiser, 0, constant);
      await update(optimiser, 1, constant);
    });
    const single = await restoring(async (optimiser) => {
      await update(optimiser, 0, constant);
    });
    once.forEach((values, i) => {
      expect(furthest(Array.from(values), Array.from(twice[i]))).toBeLessThan(1e-6);
    });
    expect(furthest(Array.from(once[0]), Array.from(single[0]))).toBeGreaterThan(1e-4);
  });

  it('takes log π_old from the first pass where none is given, and confirms it before the policy changes', async () => {
    const settings = tinyWith({ optimiser: { warmupUpdates: 0 }, updates: 1_000_000, loss: { epochs: 2 } });
    const scale = (i: number): number => (mixed[i] === 'keep' ? 0 : 1);
    const { logps } = await scoreRollouts(policy, inputs.rollouts, scale, settings.compute);
    // Of two rollouts that share a pass, one has a log π_old that is not that of the pass.
    const given = logps.map((own, i) => (i === 3 ? own.map((logp) => logp + 0.1) : own));
    const unknown = given.map((own, i) => (i === 3 ? own : null));
    const update = (logpOld: UpdateInputs['logpOld'], confirm: (all: readonly Float32Array[]) => void) =>
      restoring(async (optimiser) => {
        const context = { policy, optimiser, arm: { sees: seesNothing }, settings, confirm };
        await updatePolicy(context, { ...inputs, logpOld }, 0);
      });
    const told: (readonly Float32Array[])[] = [];
    const taken = await update(unknown, (all) => void told.push(all));
    expect(told).toEqual([given]);
    expect(taken).toEqual(await update(given, () => undefined));
    const before = await Promise.all(policy.adapter.parameters.map(({ value }) => readFloats(value)));
    const refuse = (): never => {
      throw new Error('not the policy that sampled');
    };
    await expect(update(unknown, refuse)).rejects.toThrow('not the policy that sampled');
    expect(await Promise.all(policy.adapter.parameters.map(({ value }) => readFloats(value)))).toEqual(before);
  });

  it('split moments: the second are those of an update that absorbs everything, the first those of the routed one', async () => {
    const settings = tinyWith({ optimiser: { warmupUpdates: 0 }, updates: 1_000_000 });
    const momentsAfter = async (splitMoments: boolean, routes: UpdateInputs['routes']) => {
      const all: Float32Array[][] = [[], []];
      const values = await restoring(async (optimiser) => {
        const own = { ...settings, optimiser: { ...settings.optimiser, splitMoments } };
        const context = { policy, optimiser, arm: { sees: seesNothing }, settings: own };
        await updatePolicy(context, { ...inputs, routes }, 0);
        for (const { m, v } of optimiser.moments.values()) {
          all[0].push(await readFloats(m));
          all[1].push(await readFloats(v));
        }
      });
      return { first: all[0], second: all[1], values };
    };
    const absorbed = inputs.routes.map((): Route[] => ['absorb']);
    const [split, routed, natural] = [
      await momentsAfter(true, inputs.routes),
      await momentsAfter(false, inputs.routes),
      await momentsAfter(false, absorbed),
    ];
    expect(split.first).toEqual(routed.first);
    expect(split.second).toEqual(natural.second);
    expect(split.second).not.toEqual(routed.second);
    expect(split.values).not.toEqual(routed.values);
    expect(await momentsAfter(true, absorbed)).toEqual(natural);
  });

  describe('an anchor batch', () => {
    const anchors = () => inputs.rollouts.slice(0, 3).map(({ prompt, tokens }, group) => ({ group, prompt, tokens }));
    const settingsWith = (anchorWeight?: number, optimiser = {}) =>
      tinyWith({
        ...{ updates: 1_000_000, loss: { anchorWeight }, sampling: { promptsPerStep: 2 } },
        optimiser: { warmupUpdates: 0, beta1: 0, maxGradientNorm: 1e9, ...optimiser },
      });
    /** With β1 = 0 and no clipping the first moments after an update are its gradients. */
    async function gradientsAt(
      step: number,
      settings: GrpoSettings,
      changed: Partial<Policy> = {},
      routes = inputs.routes,
    ) {
      let [gradients, seconds]: number[][] = [];
      let result: UpdateResult | undefined;
      await restoring(async (optimiser) => {
        const own = { ...policy, ...changed };
        const context = { policy: own, optimiser, arm: { sees: seesNothing }, settings, anchors: anchors() };
        result = await updatePolicy(context, { ...inputs, routes }, step);
        const moments = [...optimiser.moments.values()];
        const all = async (tensors: readonly Tensor[]) =>
          (await Promise.all(tensors.map(readFloats))).flatMap((values) => Array.from(values));
        gradients = await all(moments.map(({ m }) => m));
        seconds = await all(moments.map(({ v }) => v));
      });
      if (result === undefined) throw new Error('no update');
      return { ...result, gradients, seconds };
    }
    const meanNll = async (indices: readonly number[]): Promise<number> => {
      const batch = indices.map((index) => anchors()[index]);
      const { logps } = await scoreRollouts(policy, batch, () => 0, tinySettings.compute);
      return -average(logps.map((own) => average(own)));
    };

    it('adds w times the slope of the mean NLL of clean sides in turn, to the deployed block alone', async () => {
      const [plain, anchored] = [await gradientsAt(0, settingsWith()), await gradientsAt(0, settingsWith(0.5))];
      expect([plain.anchorNll, anchored.leaks]).toEqual([null, { keep: 0, route: 0 }]);
      expect(anchored.anchorNll).toBeCloseTo(await meanNll([0, 1]), 5);
      expect(anchored.loss).toBe(plain.loss);
      expect(anchored.blockNorms.quarantine).toBe(plain.blockNorms.quarantine);
      expect(anchored.blockNorms.deployed).not.toBe(plain.blockNorms.deployed);
      // By finite differences, at the value of the deployed block whose gradient the anchors change the most.
      const added = anchored.gradients.map((value, i) => value - plain.gradients[i]);
      const at = added.reduce((most, value, i) => (Math.abs(value) > Math.abs(added[most]) ? i : most), 0);
      expect(added[at]).toBeCloseTo(0.5 * (await slopeAt(at, () => meanNll([0, 1]))), 3);
    });

    it('takes others in the next update, and begins again after the last', async () => {
      const nlls = await Promise.all(
        [
          [0, 1],
          [2, 0],
          [1, 2],
        ].map(meanNll),
      );
      for (const [step, nll] of nlls.entries())
        expect((await gradientsAt(step, settingsWith(0.5))).anchorNll).toBeCloseTo(nll, 5);
    });

    it('is learned with both blocks by an arm that deploys both', async () => {
      const both = { deployedScale: 1 };
      const [plain, anchored] = [
        await gradientsAt(0, settingsWith(), both),
        await gradientsAt(0, settingsWith(0.5), both),
      ];
      expect(anchored.blockNorms.quarantine).not.toBe(plain.blockNorms.quarantine);
      expect(anchored.leaks).toEqual(plain.leaks);
    });

    it('counts in both moments where they are split', async () => {
      const absorbed = inputs.routes.map((): Route[] => ['absorb']);
      const split = await gradientsAt(0, settingsWith(0.5, { splitMoments: true }));
      expect(split.gradients).toEqual((await gradientsAt(0, settingsWith(0.5))).gradients);
      expect(split.seconds).toEqual((await gradientsAt(0, settingsWith(0.5), {}, absorbed)).seconds);
    });

    /** The slope of a number at one of the adapter's values, which is put back. */
    async function slopeAt(at: number, measure: () => Promise<number>): Promise<number> {
      const sizes = policy.adapter.parameters.map(({ value }) => value.size);
      const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0));
      const index = starts.findLastIndex((start) => start <= at);
      const { value } = policy.adapter.parameters[index];
      const before = await readFloats(value);
      const moved = async (by: number): Promise<number> => {
        value.device.write(
          value,
          before.map((each, i) => (i === at - starts[index] ? each + by : each)),
        );
        return measure();
      };
      const slope = ((await moved(1e-2)) - (await moved(-1e-2))) / 2e-2;
      value.device.write(value, before);
      return slope;
    }
  });

  it('moments that begin anew in the middle of a run are corrected as at its start', async () => {
    const settings = tinyWith({ optimiser: { warmupUpdates: 0 }, updates: 1_000_000 });
    const twiceFrom = (step: number, momentsFrom: number) =>
      restoring(async (optimiser) => {
        const context = { policy, optimiser, arm: { sees: seesNothing }, settings, momentsFrom };
        for (const each of [step, step + 1]) await updatePolicy(context, inputs, each);
      });
    const [start, middle, uncorrected] = [await twiceFrom(0, 0), await twiceFrom(50, 50), await twiceFrom(50, 0)];
    start.forEach((values, i) => {
      expect(furthest(Array.from(values), Array.from(middle[i]))).toBeLessThan(1e-6);
    });
    expect(furthest(Array.from(start[0]), Array.from(uncorrected[0]))).toBeGreaterThan(1e-4);
  });

  describe('retain-heal', () => {
    const clean = () => inputs.rollouts.map(({ prompt, tokens }, group) => ({ group, prompt, tokens }));
    const options = { learningRate: 1e-2, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, maxNorm: 1 };
    const read = (block: 'deployed' | 'quarantine') =>
      Promise.all(policy.adapter.blockValues(block).map((tensor) => readFloats(tensor)));

    it('after training lowers the NLL, moves the deployed block, and leaves every value of the quarantine', async () => {
      const start = await read('quarantine');
      const settings = tinyWith({ optimiser: { warmupUpdates: 0 }, updates: 1_000_000 });
      await restoring(async (optimiser) => {
        await updatePolicy({ policy, optimiser, arm: { sees: seesNothing }, settings }, inputs, 0);
        const [deployed, quarantine] = [await read('deployed'), await read('quarantine')];
        // Training has moved the quarantine, so that its moments and its decay would move it again.
        expect(quarantine).not.toEqual(start);
        const { losses, expectations } = await retainHeal(policy, clean, 5, options, settings);
        expect(losses[4]).toBeLessThan(losses[0]);
        expect(expectations.map(({ holds }) => holds)).toEqual(new Array(5).fill(true));
        expect(await read('quarantine')).toEqual(quarantine);
        (await read('deployed')).forEach((values, i) => {
          expect(values).not.toEqual(deployed[i]);
        });
      });
    });

    it('stops when a value that must stay changes', async () => {
      const swapped = steerAdapter(policy.adapter, (project) => project);
      const adapter = { ...swapped, blockValues: () => policy.adapter.blockValues('deployed') };
      await restoring(async () => {
        const healing = retainHeal({ ...policy, adapter }, clean, 1, options, tinySettings);
        await expect(healing).rejects.toThrow(/retain-heal, step 1: expected a quarantine whose values stay/);
      });
    });
  });
});
