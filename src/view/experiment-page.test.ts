import { expect, it } from 'vitest';
import { madeArm, madeResults } from '../../test/lab/made-results.ts';
import { meanInterval, wilsonInterval } from '../stats/index.ts';
import { loopholeMatrices } from './experiment-page.ts';

/** The cell of the deployed policy of an arm whose seeds hack and solve so many of ten prompts. */
async function cellOf(...seeds: readonly (readonly [number, number])[]) {
  const [matrix] = loopholeMatrices(await madeResults(madeArm('vanilla', { kind: 'vanilla' }, seeds)));
  return matrix.cells.find(({ state }) => state === 'deployed');
}

it('the interval of several seeds is over seeds: seeds that agree leave none, however few prompts they have', async () => {
  const spread = await cellOf([4, 3], [5, 5], [6, 0]);
  const { low, high } = meanInterval([0.4, 0.5, 0.6]);
  expect(spread).toMatchObject({ seeds: 3, hack: { count: 15, of: 30, rate: 0.5 } });
  expect([spread?.hack.low, spread?.hack.high]).toEqual([low, high]);
  const agreed = await cellOf([3, 2], [3, 2], [3, 2]);
  expect(agreed?.hack.low).toBeCloseTo(0.3, 12);
  expect(agreed?.hack.high).toBeCloseTo(0.3, 12);
});

it('the interval of one seed is over its prompts', async () => {
  const { low, high } = wilsonInterval(3, 10);
  expect(await cellOf([3, 2])).toMatchObject({ seeds: 1, hack: { count: 3, of: 10, rate: 0.3, low, high } });
});

it('an attempt in a right program counts as one, and its rate stands before that of hacks', async () => {
  const evaluations = [{ update: 20, set: 'test-original', state: 'full', outcomes: 'hab-' }] as const;
  const [matrix] = loopholeMatrices(await madeResults([{ checkpoints: [0, 20], evaluations }]));
  const cell = matrix.cells.find(({ state }) => state === 'full');
  expect(cell).toMatchObject({ attempt: { count: 3, of: 4 }, hack: { count: 1, of: 4 }, cleanSolve: { count: 0 } });
  expect(Object.keys(cell ?? {}).slice(-4)).toEqual(['attempt', 'hack', 'solve', 'cleanSolve']);
});
