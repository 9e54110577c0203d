import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, task, tinySettings } from '../../test/grpo/tiny-policy.ts';
import { AdamW, type Scope } from '../engine/index.ts';
import { Gate } from '../gates/index.ts';
import type { Policy } from './policy.ts';
import { absorbRouter, gateRouter, type Router } from './router.ts';
import { Trainer } from './train.ts';

const quality = { pairedAccuracy: 1, auroc: 1, wrongPairs: [] };

let scope: Scope;
let policy: Policy;
beforeAll(async () => {
  ({ scope, policy } = await makePolicy());
});
afterAll(() => scope[Symbol.dispose]());

function gated(refreshEvery: number | null): Router {
  const { modules, rank } = policy.adapter;
  const gate = new Gate(
    { calibration: 'quantile', score: 'dot', tail: 0.25, keepTail: null, halfLife: null, bufferRows: 8, warmupRows: 0 },
    { modules: modules.length, rank, data: new Float32Array(modules.length * rank).fill(1) },
  );
  return gateRouter({ gate, kind: 'activation', granularity: 'rollout', refreshEvery, rebuild: async () => quality });
}

/** Every reward is equal, so every group is skipped: an update samples and learns nothing. */
function trainerOf(router: Router, optimiser: AdamW, updates: number): Trainer {
  const context = {
    policy,
    optimiser,
    router,
    tasks: [task('a')],
    grader: { grade: async (rollouts: readonly unknown[]) => new Float32Array(rollouts.length) },
    settings: { ...tinySettings, updates, promptsPerStep: 1, group: 2, maxNewTokens: 1 },
    pool: null,
    decode: () => '',
    pace: {},
    enter: () => {},
  };
  return new Trainer({ context, reference: [], heal: null });
}

/** Of every step event: the age, and whether it says the quality of a new direction. */
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
    { what: 'rebuilt every third update', router: () => gated(3), ages: [0, 1, 2, 0, 1, 2, 0] },
    { what: 'rebuilt at every update', router: () => gated(1), ages: [0, 0, 0, 0] },
    { what: 'built once', router: () => gated(null), ages: [0, 1, 2, 3, 4] },
    { what: 'of an arm without one', router: () => absorbRouter(), ages: [null, null, null] },
  ])('$what', async ({ router, ages }) => {
    using optimiser = new AdamW(policy.adapter.parameters);
    const found = await agesOf(trainerOf(router(), optimiser, ages.length));
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
