/**
 * The bytes of training: three updates of every arm, and of every value of the config that changes an update, on the kernels that give
 * the same bytes on every machine. The hashes cover the adapter, the optimiser's moments, the features of the rollouts, and the numbers
 * in the events and in the rollouts' records. Names of fields do not count, so that a redesign that only moves and renames leaves every
 * hash as it is. Each run must also be sound. After an intended change of the algorithm, run npx vitest run test/bytes -u and add a line to LOG.md.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RolloutRecord, TrainEvent } from '../../src/grpo/events.ts';
import type { TrainerState } from '../../src/grpo/train.ts';
import { blindArms, configValues, interventionArms, oracleArm, watchedArms, watchedByOracle } from '../smoke/arms.ts';
import { Lab } from '../smoke/lab.ts';
import { expectSound, numbersIn } from '../smoke/sound.ts';

let lab: Lab;
beforeAll(async () => {
  lab = await Lab.open('plain');
}, 120_000);
afterAll(() => lab[Symbol.asyncDispose]());

function hashOf(parts: Iterable<Float32Array | Float64Array>): string {
  const hash = createHash('sha256');
  for (const { buffer, byteOffset, byteLength } of parts) hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  return hash.digest('hex').slice(0, 16);
}

/** The numbers of a value, sorted so that a renamed field does not change their order. */
const sorted = (value: unknown): Float64Array => Float64Array.from(numbersIn(value)).sort();

function recordNumbers({ rollout, ...others }: RolloutRecord): Float64Array {
  return sorted([rollout.tokens, rollout.sampledLogps, { ...others, features: null }]);
}

/** Numbers beside training that were added after the hashes were made are left out: a gate's measurements, and what scoring costs. */
function eventNumbers(event: TrainEvent): Float64Array {
  if (event.kind !== 'step') return sorted(event);
  const direction = event.direction === null ? null : { ...event.direction, band: null };
  return sorted({ ...event, meanCosine: null, direction, scoringPasses: null });
}

function byName<T>(map: ReadonlyMap<string, T>): T[] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function fingerprint(state: TrainerState, initial: TrainerState['adapter'], events: readonly TrainEvent[]) {
  const records = events.flatMap((event) => (event.kind === 'rollouts' ? event.records : []));
  return {
    adapter: hashOf(byName(new Map([...initial, ...state.adapter])).map(({ data }) => data)),
    optimiser: hashOf(byName(state.moments).flatMap(({ m, v }) => [m.data, v.data])),
    features: hashOf(records.flatMap(({ features }) => (features === null ? [] : [features]))),
    events: hashOf(events.filter(({ kind }) => kind !== 'rollouts').map(eventNumbers)),
    rollouts: hashOf(records.map(recordNumbers)),
  };
}

describe('three updates give the same bytes as ever', () => {
  const all = {
    ...blindArms,
    oracle: oracleArm,
    ...configValues,
    ...interventionArms,
    ...watchedArms,
    'penalty by oracle': watchedByOracle,
  };
  it.each(Object.entries(all))('%s', async (_, settings) => {
    let state: TrainerState | undefined;
    let initial: TrainerState['adapter'] = new Map();
    const trained = await lab.train([...settings, 'updates=3', 'device.variant=plain'], {
      finished: async ({ trainer }) => {
        state = await trainer.state();
        initial = await trainer.initialValues();
      },
    });
    if (state === undefined) throw new Error('the run told nothing of its end');
    expectSound(trained, 3);
    const heals = trained.events.filter(({ kind }) => kind === 'heal').length;
    expect(heals).toBe(settings.some((setting) => setting.startsWith('safety.heal')) ? 1 : 0);
    expect(fingerprint(state, initial, trained.events)).toMatchSnapshot();
  });
});
