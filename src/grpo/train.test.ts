import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, task, tinyVocabulary, tinyWith } from '../../test/grpo/tiny-policy.ts';
import { AdamW, type Scope } from '../engine/index.ts';
import { Gate } from '../gates/index.ts';
import { Shards } from '../parallel/index.ts';
import { type Arm, seesNothing } from './arm.ts';
import { gateArm } from './arms/gate.ts';
import type { Policy } from './policy.ts';
import { policySampler } from './sampler.ts';
import { Trainer } from './train.ts';

const quality = { pairedAccuracy: 1, auroc: 1, wrongPairs: [] };

let scope: Scope;
let policy: Policy;
beforeAll(async () => {
  ({ scope, policy } = await makePolicy());
});
afterAll(() => scope[Symbol.dispose]());

function gated(refreshEvery: number | null): Arm {
  const { modules, rank } = policy.adapter;
  const gate = new Gate(
    {
      calibration: 'quantile',
      score: 'dot',
      tail: 0.25,
      keepTail: null,
      keepOnly: 'any',
      halfLife: null,
      bufferRows: 8,
      warmupRows: 0,
      bufferTokens: null,
    },
    { modules: modules.length, rank, data: new Float32Array(modules.length * rank).fill(1) },
  );
  const rebuild = async () => ({ quality, direction: gate.direction.data, pairCuts: gate.pairCuts });
  return gateArm({ gate, kind: 'activation', granularity: 'rollout', refreshEvery, rebuild });
}

/** A trainer whose rewards are all equal, so that every group is skipped: an update samples and learns nothing. */
function trainerOf(arm: Arm, optimiser: AdamW, updates: number): Trainer {
  const settings = tinyWith({ updates, sampling: { promptsPerStep: 1, group: 2, maxNewTokens: 1 } });
  const context = {
    policy,
    optimiser,
    arm,
    sampler: policySampler(policy, settings.compute),
    tasks: [task('a')],
    grader: { grade: async (rollouts: readonly unknown[]) => new Float32Array(rollouts.length) },
    settings,
    stopTokens: [0],
    vocabulary: tinyVocabulary,
    pool: null,
    shards: Shards.alone,
    decode: () => '',
    showPrompt: () => '',
    enter: () => {},
  };
  return new Trainer({ context, tripwireSet: [], heal: null });
}

/** The direction's age in every step event, and whether the event reports the quality of a new direction. */
async function agesOf(trainer: Trainer): Promise<{ ages: (number | null)[]; fresh: boolean[] }> {
  const [ages, fresh]: [(number | null)[], boolean[]] = [[], []];
  for await (const event of trainer.train()) {
    if (event.kind !== 'step') continue;
    ages.push(event.directionAge);
    fresh.push(event.direction !== null);
  }
  return { ages, fresh };
}

describe('the age of the direction', () => {
  it.each([
    { what: 'rebuilt every third update', arm: () => gated(3), ages: [0, 1, 2, 0, 1, 2, 0] },
    { what: 'rebuilt at every update', arm: () => gated(1), ages: [0, 0, 0, 0] },
    { what: 'built once', arm: () => gated(null), ages: [0, 1, 2, 3, 4] },
    { what: 'of an arm without one', arm: () => ({ sees: seesNothing }), ages: [null, null, null] },
  ])('$what', async ({ arm, ages }) => {
    using optimiser = new AdamW(policy.adapter.parameters);
    const found = await agesOf(trainerOf(arm(), optimiser, ages.length));
    expect(found.ages).toEqual(ages);
    expect(found.fresh).toEqual(ages.map((age) => age === 0));
  });

  it('goes on from a saved state', async () => {
    using optimiser = new AdamW(policy.adapter.parameters);
    const first = trainerOf(gated(4), optimiser, 3);
    await agesOf(first);
    const state = await first.state();
    expect(state).toMatchObject({ update: 3, directionAge: 2 });
    const second = trainerOf(gated(4), optimiser, 6);
    second.restore(state);
    expect((await agesOf(second)).ages).toEqual([3, 0, 1]);
  });
});
