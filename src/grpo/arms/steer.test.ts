/** Steering and ablation in whole updates of a tiny policy, against forward passes changed by hand. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { furthest, plainArm, TinyLab } from '../../../test/grpo/tiny-lab.ts';
import { tokens } from '../../../test/grpo/tiny-policy.ts';
import { pairOutputDifferences } from '../../adapters/index.ts';
import { layerOutput } from '../../adapters/layer-outputs.ts';
import { readFloats, Scope } from '../../engine/index.ts';
import type { Arm, ArmDefinition } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import { type Policy, scoreRollouts, steerPolicy } from '../policy.ts';
import { ablate, leadingDirections } from './ablate.ts';
import { steer, steeringVector, sweepSteering, usualLayer } from './steer.ts';

let lab: TinyLab;
let scope: Scope;
beforeAll(async () => {
  lab = await TinyLab.open();
  scope = new Scope(lab.policy.decoder.head.device);
});
afterAll(() => {
  scope[Symbol.dispose]();
  lab[Symbol.dispose]();
});

const pairs = [0, 1, 2].map((i) => ({
  prompt: tokens(`p${i}`, 4),
  hack: tokens(`h${i}`, 6),
  clean: tokens(`c${i}`, 5),
}));

async function open(definition: ArmDefinition, settings: object, seed = 1): Promise<Arm> {
  const tools = { seed, policy: lab.policy, scope, pairs, tokensPerPass: 512, tell: async () => undefined };
  const arm = await definition.open(settings, tools as unknown as ArmTools);
  expect(await arm.prepare?.(lab.policy)).toEqual([]);
  return arm;
}

const completion = { group: 0, prompt: tokens('asked', 5), tokens: tokens('answered', 6) };
const score = async (policy: Policy, scale: number | 'base' = 1): Promise<Float32Array> =>
  (await scoreRollouts(policy, [completion], () => scale, { tokensPerPass: 512 })).logps[0];

/** The output of a layer under an arm, [tokens, 16]. */
async function outputOf(arm: Arm, layer: number): Promise<Float32Array> {
  const { name } = layerOutput(lab.policy.decoder.config, layer, 'arm.layer');
  let seen: Promise<Float32Array> | undefined;
  const watching = steerPolicy(steerPolicy(lab.policy, arm), {
    steer: (project) => (tape, x, layers, onto) => {
      const outs = project(tape, x, layers, onto);
      if (layers[0].module === name) seen = readFloats(outs[0]);
      return outs;
    },
  });
  await score(watching);
  return (await seen) ?? new Float32Array();
}

describe('steering', () => {
  it('adds α times the mean difference of the pairs to every token of one layer', async () => {
    const { decoder } = lab.policy;
    const module = layerOutput(decoder.config, 1, 'arm.layer');
    const rows = (await pairOutputDifferences(decoder, [module], pairs, 512)).get(module.name) ?? new Float32Array();
    const mean = Float32Array.from({ length: 16 }, (_, c) => (rows[c] + rows[16 + c] + rows[32 + c]) / 3);
    expect(furthest(await steeringVector(decoder, 1, pairs, 512), mean)).toBeLessThan(1e-6);
    const arm = await open(steer, { layer: 1, scale: 3 });
    const [plain, steered] = [await outputOf(plainArm, 1), await outputOf(arm, 1)];
    expect(
      furthest(
        steered,
        plain.map((h, at) => h + 3 * mean[at % 16]),
      ),
    ).toBeLessThan(1e-5);
    expect(furthest(await outputOf(arm, 0), await outputOf(plainArm, 0))).toBe(0);
  });

  it('samples, scores and learns with it; the base and the policy that is evaluated are as they were', async () => {
    const before = await score(lab.policy);
    const arm = await open(steer, { layer: 0, scale: 4 });
    const steered = steerPolicy(lab.policy, arm);
    expect(furthest(await score(steered), before)).toBeGreaterThan(1e-2);
    expect(await score(steered, 'base')).toEqual(await score(lab.policy, 'base'));
    expect(await score(lab.policy)).toEqual(before);
    // A sampler without the vector would not agree with the scorer: the parity guard of the step would stop it.
    const { outcome, gradients } = await lab.step(arm);
    expect(outcome.parity).toBeLessThan(1e-5);
    const inputs = lab.inputsOf(outcome);
    expect(gradients).toEqual(await lab.gradients(inputs, { policy: steered }));
    expect(furthest(gradients, await lab.gradients(inputs))).toBeGreaterThan(1e-4);
  });

  it('is at five ninths of the way up unless a layer is named', async () => {
    expect([36, 4, 2, 1].map((layers) => usualLayer({ layers }))).toEqual([20, 2, 1, 0]);
    const named = await open(steer, { layer: 1 });
    expect(await outputOf(await open(steer, {}), 1)).toEqual(await outputOf(named, 1));
    expect(steer.label({ layer: 3, scale: 1 })).toBe('steer layer 3 α 1');
    await expect(open(steer, { layer: 2 })).rejects.toThrow(
      'config, key arm.layer: expected a layer of the model, from 0 to 1',
    );
  });

  it('is swept over layers and scales, beside the policy without it', async () => {
    const seen: Float32Array[] = [];
    const sweep = { layers: [0, 1], scales: [1, 4], tokensPerPass: 512 };
    const cells = await sweepSteering(lab.policy, pairs, sweep, async (policy) => {
      seen.push(await score(policy));
      return { took: seen.length, of: 8 };
    });
    expect(cells).toEqual([
      { layer: null, scale: 0, took: 1, of: 8 },
      { layer: 0, scale: 1, took: 2, of: 8 },
      { layer: 0, scale: 4, took: 3, of: 8 },
      { layer: 1, scale: 1, took: 4, of: 8 },
      { layer: 1, scale: 4, took: 5, of: 8 },
    ]);
    expect(seen[0]).toEqual(await score(lab.policy));
    expect(seen[4]).toEqual(await score(steerPolicy(lab.policy, await open(steer, { layer: 1, scale: 4 }))));
  });
});

describe('ablation', () => {
  it('takes the leading right singular vectors of the differences', () => {
    // Rows (3, 4, 0) and (6, 8, 0) point along (0.6, 0.8, 0), with a singular value of √125; (0, 0, 2) is the second direction.
    const rows = Float32Array.of(3, 4, 0, 6, 8, 0, 0, 0, 2);
    const found = leadingDirections(rows, 3, 3, 2);
    expect(furthest(found.map(Math.abs), [0.6, 0.8, 0, 0, 0, 1])).toBeLessThan(1e-6);
    expect(found[0] * found[1]).toBeGreaterThan(0);
    expect(() => leadingDirections(rows, 3, 3, 3)).toThrow(
      'config, key arm.rank: expected at most as many directions as the differences of the pairs span, found 3 of 2.',
    );
  });

  it.each(['none', 'random'] as const)(
    'leaves nothing along its directions after the layer, placebo %s',
    async (placebo) => {
      const arm = await open(ablate, { layers: [1], rank: 2, placebo });
      const [plain, ablated] = [await outputOf(plainArm, 1), await outputOf(arm, 1)];
      const removed = plain.map((h, i) => h - ablated[i]);
      // What was removed is orthogonal to what is left, at every token, and spans two directions at most.
      const dot = (a: Float32Array, b: Float32Array, t: number): number =>
        Array.from({ length: 16 }, (_, c) => a[16 * t + c] * b[16 * t + c]).reduce((sum, value) => sum + value, 0);
      const tokensSeen = plain.length / 16;
      for (let t = 0; t < tokensSeen; t++) expect(dot(removed, ablated, t)).toBeCloseTo(0, 4);
      expect(Math.max(...removed.map(Math.abs))).toBeGreaterThan(0.05);
      expect(() => leadingDirections(removed, tokensSeen, 16, 3)).toThrow('found 3 of 2.');
      const { outcome } = await lab.step(arm);
      expect(outcome.parity).toBeLessThan(1e-5);
    },
  );

  it('by random directions follows the seed, and knows nothing of the pairs', async () => {
    const outputs = [1, 1, 2].map(async (seed) =>
      outputOf(await open(ablate, { layers: [0, 1], placebo: 'random' }, seed), 1),
    );
    const [one, same, other] = await Promise.all(outputs);
    expect(same).toEqual(one);
    expect(furthest(one, other)).toBeGreaterThan(1e-3);
    expect(furthest(one, await outputOf(await open(ablate, { layers: [0, 1] }), 1))).toBeGreaterThan(1e-3);
    expect(ablate.label({ layers: [0, 1], placebo: 'random', rank: 3 })).toBe('ablate random layers 0 1 rank 3');
  });
});
