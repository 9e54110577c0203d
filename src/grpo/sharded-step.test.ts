/** Whole updates of a tiny policy on two ranks that live in this process. */
import { beforeAll, describe, expect, it } from 'vitest';
import { plainArm, TinyLab } from '../../test/grpo/tiny-lab.ts';
import { ranksInProcess } from '../../test/parallel/in-process.ts';
import type { Route } from '../adapters/index.ts';
import { readFloats } from '../engine/index.ts';
import { Gate, haarDirection } from '../gates/index.ts';
import { gateSettings, gateSettingsOf } from '../monitors/index.ts';
import { alone, type Communicator, Shards } from '../parallel/index.ts';
import { type Arm, absorbAll, seesNothing } from './arm.ts';
import { gateArm } from './arms/gate.ts';

let labs: TinyLab[];
beforeAll(async () => {
  labs = [await TinyLab.open(), await TinyLab.open()];
});

function onTwo(arm: Arm) {
  return ranksInProcess(2).map((communicator) => stepOn(communicator, arm));
}

function stepOn(communicator: Communicator, arm: Arm) {
  return labs[communicator.rank].step(arm, { shards: new Shards(communicator, 2) });
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

  it('has split moments of all rollouts, not of those of a rank', async () => {
    const route = ({ rollouts }: { readonly rollouts: readonly unknown[] }) => ({
      ...absorbAll(rollouts.length),
      routes: rollouts.map((_, i): Route[] => [i % 2 === 0 ? 'route' : 'keep']),
    });
    const stepWith = (communicator: Communicator, splitMoments: boolean) =>
      labs[communicator.rank].step(
        { ...plainArm, route },
        { shards: new Shards(communicator, 2), changes: { optimiser: { splitMoments } } },
      );
    const [one, plain] = [await stepWith(alone, true), await stepWith(alone, false)];
    expect(one.values).not.toEqual(plain.values);
    const two = await Promise.all(ranksInProcess(2).map((communicator) => stepWith(communicator, true)));
    for (const { values } of two) expect(values).toEqual(one.values);
  });

  it('sets apart alike on both, by a gate that is calibrated before the advantages', async () => {
    const { modules, rank } = labs[0].policy.adapter;
    const settings = gateSettingsOf({ kind: 'activation', ...{ calibration: 'otsu', warmupRows: 0 } });
    if (settings === null) throw new Error('no gate');
    const open = () =>
      gateArm({
        gate: new Gate(gateSettings(settings), haarDirection(modules.length, rank, 4)),
        kind: 'activation',
        granularity: 'rollout',
        rebuild: () => Promise.reject(new Error('nothing is rebuilt')),
        refreshEvery: null,
        mean: 'own',
      });
    const one = await labs[0].step(open(), { shards: new Shards(alone, 2) });
    expect(one.outcome.screening).toContain('apart');
    expect(one.outcome.screening).toContain('train');
    const [first, second] = await Promise.all(ranksInProcess(2).map((communicator) => stepOn(communicator, open())));
    expect([first.values, second.values]).toEqual([one.values, one.values]);
    expect([first.outcome, second.outcome]).toEqual([one.outcome, one.outcome]);
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
