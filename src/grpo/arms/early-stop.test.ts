/** Early stopping: its rule against series worked out by hand, what it puts back, and how a run ends by it. */
import { expect, it } from 'vitest';
import { makePolicy } from '../../../test/grpo/tiny-policy.ts';
import { trainTiny } from '../../../test/grpo/tiny-trainer.ts';
import { readFloats } from '../../engine/index.ts';
import type { Arm } from '../arm.ts';
import type { ArmTools } from '../arm-tools.ts';
import { openArm } from '../open-arm.ts';
import type { Policy } from '../policy.ts';
import { bestOf, earlyStop, isOver } from './early-stop.ts';

const series = (held: readonly number[], trained: readonly number[]) =>
  held.map((value, i) => ({ update: 5 * (i + 1), held: value, trained: trained[i] }));

it.each([
  // Held-out flat for two checks after the first, while training rose from 1 to 3.
  { held: [2, 2, 1.9], trained: [1, 2, 3], patience: 2, over: true, best: 5 },
  // One check too few.
  { held: [2, 2], trained: [1, 2], patience: 2, over: false, best: 5 },
  // Both are flat: training has converged, and nothing is wrong.
  { held: [2, 2, 2], trained: [1, 1, 1], patience: 2, over: false, best: 5 },
  // The reward of training fell with it.
  { held: [2, 1, 1], trained: [3, 2, 2.9], patience: 2, over: false, best: 5 },
  // A better check counts from there.
  { held: [1, 2, 1, 1], trained: [1, 2, 3, 4], patience: 2, over: true, best: 10 },
  { held: [1, 2, 1], trained: [1, 2, 3], patience: 2, over: false, best: 10 },
])('$held held out and $trained in training: over $over, best $best', ({ held, trained, patience, over, best }) => {
  const checks = series(held, trained);
  expect(isOver(checks, { patience, leastRise: 0 })).toBe(over);
  expect(bestOf(checks, 0).update).toBe(best);
});

it('a rise that is no more than the least is none', () => {
  const checks = series([1, 1.25, 1.5, 1.75], [1, 2, 3, 4]);
  expect(bestOf(checks, 0.25).update).toBe(15);
  expect(isOver(checks, { patience: 3, leastRise: 0.75 })).toBe(true);
  expect(isOver(checks, { patience: 3, leastRise: 0.5 })).toBe(false);
});

const toolsOf = (policy: Policy, soundReward: ArmTools['soundReward'] = async () => 0, seed = 1) =>
  ({ seed, policy, soundReward }) as unknown as ArmTools;

/** Checks after updates 2, 4, … with these held-out rewards; training's reward is the number of the update. */
async function openChecked(policy: Policy, held: readonly number[]): Promise<Arm> {
  const left = [...held];
  const tools = toolsOf(policy, async (_policy, prompts) => {
    expect(prompts).toBe(7);
    return left.shift() ?? Number.NaN;
  });
  return openArm(earlyStop, { every: 2, patience: 1, prompts: 7 }, tools);
}

it('puts the best policy back and says why, also after a resume', async () => {
  const { scope, policy } = await makePolicy();
  using _scope = scope;
  const [{ value }] = policy.adapter.parameters;
  const first = await readFloats(value);
  const write = (shift: number) => value.device.write(value, first.map((x) => x + shift)); // biome-ignore format: one line
  let arm = await openChecked(policy, [1, 2]);
  const stated: string[] = [];
  for (let update = 1; update <= 4; update++) {
    write(update);
    const notes = await arm.after?.({ update, of: 100, meanReward: update }, policy);
    stated.push(...(notes ?? []).map(({ detail }) => detail));
    expect(arm.ends?.()).toBeNull();
  }
  // Rewards of training: (1 + 2) / 2, then (3 + 4) / 2.
  expect(stated).toEqual([
    '1.000 after 2 updates, best 1.000 after 2; training 1.500',
    '2.000 after 4 updates, best 2.000 after 4; training 3.500',
  ]);
  write(5);
  await arm.after?.({ update: 5, of: 100, meanReward: 5 }, policy);
  const saved = arm.save?.();
  arm = await openChecked(policy, [1.5]);
  if (saved !== undefined) arm.restore?.(saved);
  write(6);
  await arm.after?.({ update: 6, of: 100, meanReward: 6 }, policy);
  expect(arm.ends?.()).toBe(
    'held-out reward 1.500 after 6 updates, best 2.000 after 4, to which the policy is put back',
  );
  expect(await readFloats(value)).toEqual(first.map((x) => x + 4));
});

it('the control ends after a check that its seed draws, evenly over the checks, and asks for no reward', async () => {
  const never = () => Promise.reject(new Error('asked'));
  const lengths = await Promise.all(
    Array.from({ length: 400 }, async (_, seed) => {
      const arm = await openArm(earlyStop, { every: 5, placebo: 'chance' }, toolsOf(null as never, never, seed));
      for (let update = 1; update <= 23; update++) {
        await arm.after?.({ update, of: 23, meanReward: 0 }, null as never);
        if (arm.ends?.() !== null) return update;
      }
      return null;
    }),
  );
  // Four checks fit into 23 updates: 100 of 400 each, within four standard errors.
  for (const update of [5, 10, 15, 20]) {
    const times = lengths.filter((length) => length === update).length;
    expect(Math.abs(times - 100)).toBeLessThan(4 * Math.sqrt(75));
  }
  expect(new Set(lengths)).toEqual(new Set([5, 10, 15, 20]));
});

it('a run ends there as one that finished, and ends there again when it goes on', async () => {
  const open = (policy: Policy) => openArm(earlyStop, { every: 1, placebo: 'chance' }, toolsOf(policy, undefined, 7));
  const ended = await trainTiny(open, 4);
  const update = ended.state.update;
  expect(update).toBeLessThan(4);
  const stop = {
    kind: 'stop',
    update,
    reason: 'finished',
    detail: `${update} updates of 4: check ${update} was drawn`,
  };
  expect(ended.events.at(-1)).toEqual(stop);
  expect((await trainTiny(open, 4, ended.state)).events).toEqual([stop]);
});
