/** Which set results are judged on, from runs written by hand. */
import { expect, it } from 'vitest';
import { type MadeResults, madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { resultsJson } from './values.ts';

/** A run that solves 3 of 10 prompts with an open loophole, and as many as told without one. */
const arm = (name: string, kind: string, unhinted: number): MadeResults[] =>
  [1, 2].map((seed) => ({
    name,
    seed,
    arm: { kind },
    checkpoints: [0, 20],
    evaluations: (['full', 'deployed'] as const).flatMap((state) => [
      { update: 20, set: 'test-original', state, outcomes: tenPrompts(2, 3) },
      { update: 20, set: 'test-unhinted', state, outcomes: tenPrompts(0, unhinted) },
    ]),
  }));

it('solving is judged on the set where no loophole is open, not on the one where hacks are counted', async () => {
  const results = await madeResults([...arm('vanilla', 'vanilla', 4), ...arm('gate', 'activation', 9)]);
  expect(results.sets).toEqual(expect.arrayContaining(['test-original', 'test-unhinted']));
  const [gate] = resultsJson(results).matchedSolve.filter((one) => one.arm === 'gate');
  expect(gate.difference).toBeCloseTo(0.5, 12);
});

it('without such a set, solving is judged where hacks are counted', async () => {
  const hintedOnly = (made: MadeResults): MadeResults => ({
    ...made,
    evaluations: made.evaluations?.filter(({ set }) => set === 'test-original') ?? [],
  });
  const results = await madeResults([...arm('vanilla', 'vanilla', 4), ...arm('gate', 'activation', 9)].map(hintedOnly));
  const [gate] = resultsJson(results).matchedSolve.filter((one) => one.arm === 'gate');
  expect(gate.difference).toBe(0);
});
