/** Trusted prompts alone: which rollouts are flagged, worked out by hand, and what an update learns from then. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { furthest, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { type Arm, type ArmTools, openArm, type SeenRollouts } from '../grpo/index.ts';
import { builtinCuts } from './cuts.ts';
import { watchedArms } from './kinds.ts';
import { blindMonitors, builtinRemedies } from './registry.ts';
import { untrustedMonitor } from './untrusted.ts';

let lab: TinyLab;
beforeAll(async () => {
  lab = await TinyLab.open();
});
afterAll(() => lab[Symbol.dispose]());

const tools = (seed: number) => ({ seed, policy: lab.policy, labels: null }) as unknown as ArmTools;

/** Two rollouts of each of six prompts, whose soundness is given. */
async function flags(settings: object, sound: readonly boolean[], step = 0, seed = 1) {
  const monitor = await untrustedMonitor.open(settings, tools(seed));
  expect(monitor.sees).toEqual({ features: null, text: false, sound: true });
  const rollouts = sound.flatMap((own, group) => [0, 1].map((member) => ({ group, member, sound: own })));
  return monitor.score({ step, rollouts } as unknown as SeenRollouts);
}

it('flags every rollout of a prompt that is not sound, and no other', async () => {
  const sound = [true, false, false, true, false, false];
  expect(await flags({}, sound)).toEqual([0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1]);
  expect(await flags({}, [false, false])).toEqual([1, 1, 1, 1]);
});

it('the placebo trusts as many prompts of each update, whichever they are', async () => {
  const sound = [true, false, false, true, false, false];
  const dealt = (step: number, own = sound, seed = 1) => flags({ placebo: 'dealt' }, own, step, seed);
  const updates = await Promise.all(Array.from({ length: 600 }, (_, step) => dealt(step)));
  for (const own of updates) {
    expect(own.filter((flag) => flag === 0)).toHaveLength(4);
    for (let at = 0; at < 12; at += 2) expect(own[at]).toBe(own[at + 1]);
  }
  // Each prompt is trusted in a third of the updates: four standard errors of 600 / 3.
  for (let group = 0; group < 6; group++) {
    const times = updates.filter((own) => own[2 * group] === 0).length;
    expect(Math.abs(times - 200)).toBeLessThan(4 * Math.sqrt((600 * 2) / 9));
  }
  // Only how many are sound matters, and the seed and the update.
  expect(await dealt(3, [false, true, true, false, false, false])).toEqual(updates[3]);
  expect(await dealt(3)).toEqual(updates[3]);
  expect(await dealt(3, sound, 2)).not.toEqual(updates[3]);
  expect([{}, { placebo: 'dealt' }].map((own) => untrustedMonitor.label(own))).toEqual([
    'untrusted prompts',
    'dealt untrusted prompts',
  ]);
});

const kinds = () => watchedArms({ monitors: blindMonitors, cuts: builtinCuts, remedies: builtinRemedies });

async function armOf(settings: object): Promise<Arm> {
  const definition = kinds().find(({ kind }) => kind === 'screen');
  if (definition === undefined) throw new Error('no screen');
  return openArm(definition, settings, tools(1));
}

it('a screen by it learns from sound prompts alone', async () => {
  const arm = await armOf({ monitor: { kind: 'untrusted' } });
  // A seed whose first update has one prompt of each sort.
  const changes = { seed: 3 };
  const { outcome, gradients } = await lab.step(arm, { changes });
  const sound = outcome.rollouts.map(({ hackable }) => !hackable);
  expect(sound.filter(Boolean)).toHaveLength(4);
  expect(outcome.trained).toEqual([...sound.keys()].filter((i) => sound[i]));
  // Rewards of the two groups: 3 0 1 0 and 0 2 0 0, less their means 1 and 0.5.
  const advantages = [2, -1, 0, -1, -0.5, 1.5, -0.5, -0.5];
  expect(Array.from(outcome.advantages)).toEqual(advantages.map((value, i) => (sound[i] ? value : 0)));
  const inputs = lab.inputsOf(outcome);
  expect(furthest(await lab.gradients(inputs, { changes }), gradients)).toBe(0);
  expect(Math.hypot(...gradients)).toBeGreaterThan(0);
});
