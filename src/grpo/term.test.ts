/** A term of the loss through pooled activations: its value and its gradient against finite differences, on a tiny policy. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, rollouts as makeRollouts, tinySettings, tinyWith } from '../../test/grpo/tiny-policy.ts';
import type { Features } from '../adapters/index.ts';
import { AdamW, readFloats, type Scope } from '../engine/index.ts';
import type { Arm } from './arm.ts';
import { type Policy, poolActivations, scoreRollouts } from './policy.ts';
import { accumulateGradients, type UpdateInputs } from './update.ts';

let scope: Scope;
let policy: Policy;
let inputs: UpdateInputs;

beforeAll(async () => {
  const made = await makePolicy();
  scope = made.scope;
  // All that is trained is deployed, as in the arms that have such a term.
  policy = { ...made.policy, deployedScale: 1 };
  const rollouts = makeRollouts(2, 4);
  const { logps } = await scoreRollouts(policy, rollouts, () => 1, tinySettings.compute);
  const { logps: logpBase } = await scoreRollouts(policy, rollouts, () => 'base', tinySettings.compute);
  const advantages = Float32Array.of(1, -1, 0.5, -0.5, 2, -1, -1.5, 0.5);
  inputs = { rollouts, advantages, logpOld: logps, logpBase, routes: rollouts.map(() => ['absorb']) };
});
afterAll(() => scope[Symbol.dispose]());

/** A weight for each coordinate, none of them alike. */
const weight = (i: number): number => Math.sin(i + 1);

/** Half the squared weighted sum of a row's coordinates, so that the slope depends on the row. */
const term: NonNullable<Arm['term']> = ({ rows, data }: Features) => {
  const width = data.length / rows;
  const sums = Array.from({ length: rows }, (_, row) =>
    data.subarray(row * width, (row + 1) * width).reduce((sum, value, i) => sum + weight(i) * value, 0),
  );
  return {
    values: sums.map((sum) => sum ** 2 / 2),
    slopes: data.map((_, at) => sums[Math.floor(at / width)] * weight(at % width)),
  };
};

async function gradientsOf(arm: Pick<Arm, 'term'>, tokensPerPass = 512) {
  using optimiser = new AdamW(policy.adapter.parameters);
  optimiser.zeroGradients();
  const settings = tinyWith({ compute: { tokensPerPass } });
  const { loss } = await accumulateGradients(policy, optimiser, inputs, settings, arm);
  const gradients = await Promise.all(policy.adapter.parameters.map(({ gradient }) => readFloats(gradient)));
  return { loss, gradients };
}

/** The mean of the term over the rollouts, by the pass that scores features. */
async function meanTerm(): Promise<number> {
  const features = await poolActivations(policy, inputs.rollouts, 'rollout', 512);
  return features.reduce((sum, data) => sum + term({ rows: 1, modules: 1, rank: data.length, data }).values[0], 0) / 8;
}

describe('a term of the loss', () => {
  it('adds its mean to the loss, and its gradient to that of every module', async () => {
    const [plain, added] = [await gradientsOf({}), await gradientsOf({ term })];
    expect(added.loss - plain.loss).toBeCloseTo(await meanTerm(), 5);
    const step = 2e-3;
    const { device } = policy.decoder.head;
    const slopes: number[] = [];
    for (const [at, { value }] of policy.adapter.parameters.entries()) {
      const before = await readFloats(value);
      const index = at % before.length;
      const moved = async (by: number): Promise<number> => {
        device.write(
          value,
          before.map((one, i) => one + (i === index ? by : 0)),
        );
        return meanTerm();
      };
      const slope = ((await moved(step)) - (await moved(-step))) / (2 * step);
      device.write(value, before);
      slopes.push(slope);
      expect(added.gradients[at][index] - plain.gradients[at][index]).toBeCloseTo(slope, 3);
    }
    // Both factors of most modules feel it: the numbers compared are no zeros.
    expect(slopes.filter((slope) => Math.abs(slope) > 0.01).length).toBeGreaterThan(slopes.length / 2);
  });

  it('is the same for any size of a pass', async () => {
    const [whole, apart] = [await gradientsOf({ term }), await gradientsOf({ term }, 1)];
    expect(apart.loss).toBeCloseTo(whole.loss, 5);
    whole.gradients.forEach((own, i) => {
      own.forEach((value, j) => {
        expect(apart.gradients[i][j]).toBeCloseTo(value, 5);
      });
    });
  });

  it.each([
    ['no object', null, 'expected 8 answers, one per rollout'],
    ['a value too few', { values: [1], slopes: new Float32Array() }, 'expected'],
    ['not a number', { values: new Array(8).fill(Number.NaN), slopes: new Float32Array() }, 'expected finite values'],
    ['slopes of another size', { values: new Array(8).fill(0), slopes: new Float32Array(3) }, 'slopes: a Float32Array'],
  ])('that is wrong is refused: %s', async (_, answer, message) => {
    const wrong = { term: () => answer } as unknown as Pick<Arm, 'term'>;
    await expect(gradientsOf(wrong)).rejects.toThrow(message);
  });
});
