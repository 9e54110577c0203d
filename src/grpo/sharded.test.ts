import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, rollouts as makeRollouts, tinySettings, tinyWith } from '../../test/grpo/tiny-policy.ts';
import { ranksInProcess } from '../../test/parallel/in-process.ts';
import { randomStream } from '../base/index.ts';
import { AdamW, readFloats, type Scope } from '../engine/index.ts';
import type { Communicator } from '../parallel/index.ts';
import { Shards } from '../parallel/index.ts';
import { type Policy, scoreRollouts } from './policy.ts';
import { policySampler } from './sampler.ts';
import { shardedSampler, sumOverShards } from './sharded.ts';
import { accumulateGradients, type UpdateInputs } from './update.ts';

/** A policy on a device of its own for each of so many ranks. */
const most = 4;
const ranks: { scope: Scope; policy: Policy }[] = [];
let inputs: UpdateInputs;
const prompts = 5;
const settings = tinyWith({ sampling: { promptsPerStep: prompts, group: 3 } });

beforeAll(async () => {
  for (let rank = 0; rank < most; rank++) ranks.push(await makePolicy());
  const rollouts = makeRollouts(prompts, 3);
  const { logps } = await scoreRollouts(ranks[0].policy, rollouts, () => 1, tinySettings.compute);
  const { logps: logpBase } = await scoreRollouts(ranks[0].policy, rollouts, () => 'base', tinySettings.compute);
  const routes = rollouts.map((_, i) => [(['keep', 'absorb', 'route'] as const)[i % 3]]);
  inputs = {
    rollouts,
    advantages: Float32Array.from(rollouts, (_, i) => (i % 4) - 1.5),
    logpOld: logps,
    logpBase,
    routes,
  };
});
afterAll(() => {
  for (const { scope } of ranks) scope[Symbol.dispose]();
});

async function gradientsOn(size: number, given = inputs, count = 4) {
  const one = async (communicator: Communicator) => {
    const { policy } = ranks[communicator.rank];
    using optimiser = new AdamW(policy.adapter.parameters);
    const accumulate = (own: UpdateInputs) => accumulateGradients(policy, optimiser, own, settings);
    const result = await sumOverShards(new Shards(communicator, count), optimiser, given, settings, accumulate);
    const gradients = await Promise.all(policy.adapter.parameters.map(({ gradient }) => readFloats(gradient)));
    return { ...result, gradients };
  };
  return Promise.all(ranksInProcess(size).map(one));
}

describe('gradients over shards', () => {
  it('loss, reports and gradients have the same bytes on 1, 2 and 4 ranks', async () => {
    const [alone] = await gradientsOn(1);
    for (const size of [2, 4]) for (const rank of await gradientsOn(size)) expect(rank).toEqual(alone);
    expect(alone.rollouts).toHaveLength(inputs.rollouts.length);
    expect(alone.leaks).toEqual({ keep: 0, route: 0 });
  });

  it('of one shard are those of the whole batch from zero, byte for byte', async () => {
    const { policy } = ranks[0];
    using optimiser = new AdamW(policy.adapter.parameters);
    optimiser.zeroGradients();
    const whole = await accumulateGradients(policy, optimiser, inputs, settings);
    const gradients = await Promise.all(policy.adapter.parameters.map(({ gradient }) => readFloats(gradient)));
    expect(await gradientsOn(1, inputs, 1)).toEqual([{ ...whole, gradients }]);
    expect((await gradientsOn(1))[0].gradients).not.toEqual(gradients);
  });

  it('the leak that is told is the worst of any shard, so that one shard cannot hide behind the others', async () => {
    const worst = async (size: number) => {
      const one = async (communicator: Communicator) => {
        const { policy } = ranks[communicator.rank];
        using optimiser = new AdamW(policy.adapter.parameters);
        // The third shard, which has the third prompt, leaks; the last has nothing to keep.
        const accumulate = async (own: UpdateInputs) => {
          const [{ group }] = own.rollouts;
          const leaks = { keep: group === 4 ? null : group === 2 ? 0.5 : 0, route: group === 2 ? 0 : 0.25 };
          return { loss: 0, rollouts: [], logpOld: [], leaks };
        };
        return (await sumOverShards(new Shards(communicator, 4), optimiser, inputs, settings, accumulate)).leaks;
      };
      return Promise.all(ranksInProcess(size).map(one));
    };
    for (const size of [1, 2, 4]) {
      for (const leaks of await worst(size)) expect(leaks).toEqual({ keep: 0.5, route: 0.25 });
    }
  });

  it('are those of the whole batch but for rounding', async () => {
    const [sharded] = await gradientsOn(1);
    const { policy } = ranks[0];
    using optimiser = new AdamW(policy.adapter.parameters);
    optimiser.zeroGradients();
    const whole = await accumulateGradients(policy, optimiser, inputs, settings);
    expect(sharded.loss).toBeCloseTo(whole.loss, 6);
    const largest = { apart: 0, value: 0 };
    for (const [i, { gradient }] of policy.adapter.parameters.entries()) {
      (await readFloats(gradient)).forEach((value, at) => {
        largest.apart = Math.max(largest.apart, Math.abs(value - sharded.gradients[i][at]));
        largest.value = Math.max(largest.value, Math.abs(value));
      });
    }
    expect(largest.value).toBeGreaterThan(1e-3);
    expect(largest.apart).toBeLessThan(1e-6);
  });
});

it('a completion does not depend on the rank that samples it', async () => {
  const rows = inputs.rollouts.map(({ prompt }, row) => ({ prompt, row, state: 'full' as const }));
  const { compute, sampling } = settings;
  const asked = { ...sampling, maxNewTokens: 4, stopTokens: [] };
  const stream = randomStream(1, 'sampling', 0);
  const plain = await policySampler(ranks[0].policy, compute).sample(rows, asked, stream);
  const onTwo = ranksInProcess(2).map((communicator) => {
    const own = policySampler(ranks[communicator.rank].policy, compute);
    return shardedSampler(own, new Shards(communicator, 4), settings).sample(rows, asked, stream);
  });
  for (const sampled of await Promise.all(onTwo)) expect(sampled).toEqual(plain);
});
