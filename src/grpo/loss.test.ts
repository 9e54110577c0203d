import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readFloats, Scope, Tape } from '../engine/index.ts';
import { createReferenceDevice } from '../engine/reference/index.ts';
import { groupAdvantages } from './advantage.ts';
import { tokenLoss } from './loss.ts';

const row = fc.record({
  logp: fc.double({ min: -6, max: -0.01, noNaN: true }),
  old: fc.double({ min: -6, max: -0.01, noNaN: true }),
  reference: fc.double({ min: -6, max: -0.01, noNaN: true }),
  advantage: fc.double({ min: -3, max: 3, noNaN: true }),
  weight: fc.double({ min: 0, max: 1, noNaN: true }),
});

it('the token loss is the plain sum over tokens', async () => {
  const device = createReferenceDevice();
  await fc.assert(
    fc.asyncProperty(
      fc.array(row, { minLength: 1, maxLength: 12 }),
      fc.double({ min: 0.05, max: 0.5, noNaN: true }),
      async (rows, clip) => {
        using scope = new Scope(device);
        using tape = new Tape(device);
        const column = (name: keyof (typeof rows)[number]) =>
          scope.from(
            Float32Array.from(rows, (each) => each[name]),
            [rows.length],
            name,
          );
        const names = { logp: column('logp'), logpOld: column('old'), logpBase: column('reference') };
        const parts = { ...names, advantage: column('advantage'), weight: column('weight') };
        const { loss, ratio, k3 } = tokenLoss(tape, parts, { clip, klWeight: 0.3 });
        let expected = 0;
        const f = Math.fround;
        rows.forEach((each) => {
          const r = Math.exp(f(each.logp) - f(each.old));
          const delta = f(each.reference) - f(each.logp);
          const a = f(each.advantage);
          const clipped = Math.min(1 + clip, Math.max(1 - clip, r));
          expected += f(each.weight) * (-Math.min(r * a, clipped * a) + 0.3 * (Math.exp(delta) - delta - 1));
        });
        const [found] = await readFloats(loss);
        expect(Math.abs(found - expected)).toBeLessThan(1e-4 * Math.max(1, Math.abs(expected)));
        expect((await readFloats(k3)).every((value) => value >= -1e-6)).toBe(true);
        expect((await readFloats(ratio)).every((value) => value > 0)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

it('advantages: the group mean is taken off; classic divides by the deviation; equal rewards are skipped', () => {
  const rewards = Float32Array.of(3.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0, 0.5, 3.5, 0);
  const { values, skipped } = groupAdvantages(rewards, 4, 'dr');
  expect(Array.from(values.slice(0, 4))).toEqual([2.25, -0.75, -0.75, -0.75]);
  expect(Array.from(values.slice(4, 8))).toEqual([0, 0, 0, 0]);
  expect(skipped).toEqual([false, true, false]);
  const classic = groupAdvantages(rewards, 4, 'classic').values;
  const deviation = Math.sqrt((2.25 ** 2 + 3 * 0.75 ** 2) / 4);
  expect(classic[0]).toBeCloseTo(2.25 / (deviation + 1e-4), 5);
  expect(classic.slice(4, 8)).toEqual(new Float32Array(4));
  const floored = groupAdvantages(rewards, 4, 'classic', null, 2).values;
  expect(floored[0]).toBeCloseTo(2.25 / (2 + 1e-4), 5);
  expect(groupAdvantages(rewards, 4, 'classic', null, 0.5 * deviation).values.slice(0, 4)).toEqual(classic.slice(0, 4));
  expect(groupAdvantages(rewards, 4, 'dr', null, 2).values).toEqual(values);
  expect(values.slice(8).reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 6);
});
