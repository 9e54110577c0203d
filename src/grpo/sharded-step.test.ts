/** Whole updates of a tiny policy on two ranks that live in this process. */
import { beforeAll, describe, expect, it } from 'vitest';
import { plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { ranksInProcess } from '../../test/parallel/in-process.ts';
import { readFloats } from '../engine/index.ts';
import { alone, Shards } from '../parallel/index.ts';
import { type Arm, seesNothing } from './arm.ts';

let labs: TinyLab[];
beforeAll(async () => {
  labs = [await TinyLab.open(), await TinyLab.open()];
});

function onTwo(arm: Arm) {
  return ranksInProcess(2).map((communicator) =>
    labs[communicator.rank].step(arm, { shards: new Shards(communicator, 2) }),
  );
}

describe('an update on two ranks', () => {
  it('ends in the values of an update on one', async () => {
    const one = await labs[0].step(plainArm, { shards: new Shards(alone, 2) });
    for (const { values, moments, outcome } of await Promise.all(onTwo(plainArm))) {
      expect(values).toEqual(one.values);
      expect(moments).toEqual(one.moments);
      expect(outcome).toEqual(one.outcome);
    }
  });

  it('asks a monitor once, and shows its answer to both', async () => {
    let asked = 0;
    const arm: Arm = {
      sees: seesNothing,
      watch({ rewards }) {
        asked++;
        const scores = Array.from(rewards, (_, i) => i / 8 + asked);
        return { scores, flagged: scores.map(() => false), cut: null, abstentions: {}, costs: {} };
      },
    };
    const [first, second] = await Promise.all(onTwo(arm));
    expect(asked).toBe(1);
    expect(second.outcome.watched).toEqual(first.outcome.watched);
  });

  it('stops both when the adapter of one is another', async () => {
    const [{ value }] = labs[1].policy.adapter.parameters;
    const before = await readFloats(value);
    value.device.write(
      value,
      before.map((each) => each + 1e-3),
    );
    const ends = await Promise.allSettled(onTwo(plainArm));
    value.device.write(value, before);
    for (const end of ends) {
      expect(end.status === 'rejected' ? end.reason.message : 'finished').toContain(
        'rank 1 of 2: expected the adapter of the other ranks',
      );
    }
  });
});
