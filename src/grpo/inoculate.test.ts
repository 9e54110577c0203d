/** Phase 1 of an inoculation adapter: its schedule and its control against numbers worked by hand, and what it teaches. */
import { describe, expect, it } from 'vitest';
import { furthest, joined } from '../../test/grpo/tiny-lab.ts';
import { makePolicy, tokens } from '../../test/grpo/tiny-policy.ts';
import { readFloats, Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import type { Arm } from './arm.ts';
import type { ArmTools } from './arm-tools.ts';
import { inoculationAdapter } from './arms/inoculation-adapter.ts';
import { inoculationRate, randomiseMoves, teachQuarantine } from './inoculate.ts';
import type { Policy } from './policy.ts';

describe('the schedule', () => {
  it.each([
    // 100 steps: the warm-up of 30 is cut to 10, then 90 steps to zero.
    [0, 30, 100, 0.1],
    [9, 30, 100, 1],
    [10, 30, 100, 1],
    [55, 30, 100, 0.5],
    [99, 30, 100, 1 / 90],
    // 1,000 steps: all 30 are warm-up.
    [14, 30, 1000, 0.5],
    [515, 30, 1000, 0.5],
    // 4 steps: one of warm-up, three down.
    [0, 30, 4, 1],
    [2, 30, 4, 2 / 3],
    [0, 0, 4, 1],
  ])('step %i with %i of warm-up among %i has a share of %f', (step, warmup, total, share) => {
    expect(inoculationRate(step, warmup, total)).toBeCloseTo(share, 12);
  });
});

describe('the random control', () => {
  it('is as far from where it began, tensor by tensor, and elsewhere', async () => {
    const device = createReferenceDevice();
    using scope = new Scope(device);
    // The moves are (3, 4) of length 5, (0, −2) of length 2, and none.
    const began = [Float32Array.of(1, 1), Float32Array.of(0.5, 7), Float32Array.of(6, 6)];
    const now = [Float32Array.of(4, 5), Float32Array.of(0.5, 5), Float32Array.of(6, 6)];
    const tensors = now.map((data, i) => scope.from(data, [2], `factor ${i}`));
    await randomiseMoves(tensors, began, 1);
    const after = await Promise.all(tensors.map((tensor) => readFloats(tensor)));
    const moves = after.map((own, i) => Math.hypot(own[0] - began[i][0], own[1] - began[i][1]));
    expect(furthest(moves, [5, 2, 0])).toBeLessThan(1e-5);
    expect(furthest(after[0], now[0])).toBeGreaterThan(0.1);
    await randomiseMoves(tensors.slice(0, 1), began, 1);
    expect(furthest(await readFloats(tensors[0]), after[0])).toBeLessThan(1e-5);
  });
});

const demonstrations = [0, 1, 2].map((group) => ({
  group,
  prompt: tokens(`p${group}`, 4),
  tokens: tokens(`d${group}`, 5),
}));

const read = ({ adapter }: Policy, block: 'deployed' | 'quarantine') =>
  joined(adapter.blockValues(block).map((value) => readFloats(value)));

describe('phase 1', () => {
  it('teaches the quarantine alone', async () => {
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    const [deployed, quarantine] = [await read(policy, 'deployed'), await read(policy, 'quarantine')];
    const own = { seed: 1, epochs: 4, learningRate: 0.05, batch: 2, warmupSteps: 0, tokensPerPass: 512 };
    const losses = await teachQuarantine(policy, demonstrations, own);
    expect(losses).toHaveLength(4 * 2);
    expect(Math.min(...losses.slice(-2))).toBeLessThan(0.7 * Math.min(...losses.slice(0, 2)));
    expect(await read(policy, 'deployed')).toEqual(deployed);
    expect(furthest(await read(policy, 'quarantine'), quarantine)).toBeGreaterThan(0.01);
  });

  const openOn = (policy: Policy, scope: Scope, settings: object, more: Partial<ArmTools> = {}): Promise<Arm> | Arm => {
    const told: string[] = [];
    const tools = {
      ...{ seed: 1, policy, scope, tokensPerPass: 512, demonstrations: { pool: [], pairs: demonstrations } },
      countBait: async () => ({ took: 3, of: 8 }),
      tell: async (message: string) => void told.push(message),
      ...more,
    };
    return inoculationAdapter.open(settings, tools as unknown as ArmTools);
  };

  it('leaves gradients of the deployed block alone and sets those of the quarantine to zero', async () => {
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    const gradients = (block: 'deployed' | 'quarantine') => policy.adapter.blockGradients(block);
    for (const gradient of [...gradients('deployed'), ...gradients('quarantine')]) {
      gradient.device.write(
        gradient,
        Float32Array.from({ length: gradient.size }, (_, i) => i + 1),
      );
    }
    const arm = await openOn(policy, scope, { leastRate: 0 });
    await arm.gradient?.(policy.adapter.parameters, () => Promise.reject(new Error('no second pass')));
    const [kept, frozen] = await Promise.all(
      (['deployed', 'quarantine'] as const).map((block) => joined(gradients(block).map((own) => readFloats(own)))),
    );
    expect(new Set(frozen)).toEqual(new Set([0]));
    expect(Math.min(...kept)).toBe(1);
  });

  it('is refused where it does not elicit the hack, and recorded where it does', async () => {
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    const strict = await openOn(policy, scope, { leastRate: 0.4 });
    await expect(strict.prepare?.(policy)).rejects.toThrow(
      'pre-train the quarantine: expected a share of at least 0.4 of completions that take the bait of their loophole (arm.leastRate), found 0.375 (3 of 8 completions take the bait).',
    );
    const arm = await openOn(policy, scope, { leastRate: 0.375 });
    expect(await arm.prepare?.(policy)).toEqual([
      {
        kind: 'expectation',
        name: 'the quarantine elicits the hack',
        holds: true,
        detail:
          'after 3 demonstrations it elicits 0.375 (3 of 8 completions take the bait), at least 0.375 were asked for',
      },
    ]);
    expect(arm.save?.().json).toMatchObject({ demonstrations: 3, elicited: { took: 3, of: 8 }, control: null });
  });

  it('cannot begin without demonstrations', async () => {
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    expect(() => openOn(policy, scope, { demonstrations: 'pool' })).toThrow(
      'config, key arm.demonstrations: expected hacks among the demonstrations of a pool, found none.',
    );
  });

  it('is not repeated, and a quarantine that changed since stops the run', async () => {
    const { scope, policy } = await makePolicy();
    using _scope = scope;
    const first = await openOn(policy, scope, { leastRate: 0 });
    await first.prepare?.(policy);
    const saved = first.save?.();
    if (saved === undefined) throw new Error('nothing was saved');
    const values = await read(policy, 'quarantine');
    const second = await openOn(
      policy,
      scope,
      { leastRate: 0 },
      { countBait: () => Promise.reject(new Error('again')) },
    );
    second.restore?.(saved);
    expect(await second.prepare?.(policy)).toEqual([]);
    const [value] = policy.adapter.blockValues('quarantine');
    value.device.kernels.affine(value, value, 2, 0);
    await second.settle?.(policy);
    expect(await read(policy, 'quarantine')).toEqual(values);
    value.device.kernels.affine(value, value, 2, 0);
    await expect(second.prepare?.(policy)).rejects.toThrow('as phase 1 left them, bit for bit, found other values.');
  });
});
