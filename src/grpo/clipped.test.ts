/** What an update reports about the tokens of each rollout, for ratios chosen by hand. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, rollouts as makeRollouts, tinySettings, tinyWith } from '../../test/grpo/tiny-policy.ts';
import { AdamW, type Scope } from '../engine/index.ts';
import { type Policy, scoreRollouts } from './policy.ts';
import { accumulateGradients, type UpdateInputs } from './update.ts';

/** ρ of every token, one row per rollout. */
const ratios = [
  [1, 1],
  [1.19, 1.21, 1],
  [0.79, 0.81, 1.25, 1.45],
  [0.5, 2, 1.5, 0.6, 0.9],
];
// The k3 of a token whose reference is twice as likely: 2 − ln 2 − 1.
const k3 = 0.306853;

let scope: Scope;
let policy: Policy;
let inputs: UpdateInputs;
beforeAll(async () => {
  ({ scope, policy } = await makePolicy());
  const rollouts = makeRollouts(1, 4);
  const { logps } = await scoreRollouts(policy, rollouts, () => 1, tinySettings.compute);
  inputs = {
    rollouts,
    advantages: Float32Array.of(1, -1, 2, -2),
    logpOld: logps.map((own, i) => own.map((logp, t) => logp - Math.log(ratios[i][t]))),
    logpBase: logps.map((own) => own.map((logp) => logp + Math.log(2))),
    routes: rollouts.map(() => ['absorb']),
  };
});
afterAll(() => scope[Symbol.dispose]());

async function reports(clip: number, tokensPerPass = tinySettings.compute.tokensPerPass) {
  using optimiser = new AdamW(policy.adapter.parameters);
  optimiser.zeroGradients();
  const settings = tinyWith({ loss: { clip }, compute: { tokensPerPass } });
  return (await accumulateGradients(policy, optimiser, inputs, settings)).rollouts;
}

describe('the report of an update', () => {
  it('has tokens for every ratio chosen', () => {
    expect(inputs.rollouts.map(({ tokens }) => tokens.length)).toEqual(ratios.map((own) => own.length));
  });

  it.each([
    { clip: 0.2, clipped: [0, 1 / 3, 3 / 4, 4 / 5] },
    { clip: 0.3, clipped: [0, 0, 1 / 4, 4 / 5] },
    { clip: 0.05, clipped: [0, 2 / 3, 1, 1] },
    { clip: 3, clipped: [0, 0, 0, 0] },
  ])('the share of tokens whose ratio is further than $clip from 1, either side', async ({ clip, clipped }) => {
    expect((await reports(clip)).map((own) => own.clipped)).toEqual(clipped);
    expect((await reports(clip, 1)).map((own) => own.clipped)).toEqual(clipped);
  });

  it('the mean ratio and the mean k3 of each rollout', async () => {
    const found = await reports(0.2);
    const expected = [1, 3.4 / 3, 4.3 / 4, 5.5 / 5];
    found.forEach((own, i) => {
      expect(own.ratio).toBeCloseTo(expected[i], 4);
      expect(own.k3).toBeCloseTo(k3, 4);
    });
  });
});
