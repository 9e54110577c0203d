/** Rollouts of one prompt with the same tokens are read once, and each has the values of a reading of its own. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makePolicy, rollouts as makeRollouts, tinySettings } from '../../test/grpo/tiny-policy.ts';
import type { Scope } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { type Policy, scoreRollouts } from './policy.ts';
import type { Rollout } from './rollout.ts';

let scope: Scope;
let policy: Policy;
/** Rows that went through the embedding, for all passes since the last look. */
let rowsRead = 0;
beforeAll(async () => {
  const device = createReferenceDevice();
  const gatherRows: typeof device.kernels.gatherRows = (out, ...inputs) => {
    if (out.shape[1] === policy.decoder.config.hiddenSize) rowsRead += out.shape[0];
    device.kernels.gatherRows(out, ...inputs);
  };
  ({ scope, policy } = await makePolicy({ ...device, kernels: { ...device.kernels, gatherRows } }));
});
afterAll(() => scope[Symbol.dispose]());

const { tokensPerPass } = tinySettings.compute;
const options = { tokensPerPass, pool: 'rollout' } as const;

describe('scoring rollouts', () => {
  // Two prompts; the tokens of the first stand under both, and under one of them twice, in each of two scales.
  const [first, second, third, fourth] = makeRollouts(2, 2);
  const under = (own: Rollout, { tokens }: Rollout): Rollout => ({ ...own, tokens });
  const copies = [first, second, under(third, first), first, fourth, under(third, first), first];
  const scales = [1, 1, 1, 0, 1, 0, 1];

  it('gives equal ones what each has alone', async () => {
    const together = await scoreRollouts(policy, copies, (i) => scales[i], options);
    for (const [i, rollout] of copies.entries()) {
      const alone = await scoreRollouts(policy, [rollout], () => scales[i], options);
      expect(together.logps[i]).toEqual(alone.logps[0]);
      expect(together.features[i]).toEqual(alone.features[0]);
    }
    expect(together.logps[0]).not.toEqual(together.logps[3]);
    expect(together.logps[0]).not.toEqual(together.logps[2]);
  });

  it('reads them once, and has each of them kept', async () => {
    const kept: number[] = [];
    const keep = ({ data }: { data: Float32Array }, index: number) => {
      kept.push(index);
      return data.slice();
    };
    rowsRead = 0;
    await scoreRollouts(policy, [first, second], () => 1, options);
    const once = rowsRead;
    await scoreRollouts(policy, [first, second, first, second, first], () => 1, { ...options, keep });
    expect(once).toBeGreaterThan(0);
    expect(rowsRead).toBe(2 * once);
    expect(kept.sort()).toEqual([0, 1, 2, 3, 4]);
  });
});
