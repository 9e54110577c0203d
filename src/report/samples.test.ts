/** Which prompt a first page shows, and what is said of it. */
import { expect, it } from 'vitest';
import { type MadeResults, madeResults } from '../../test/lab/made-results.ts';
import { bestSide, exampleWords } from './samples.ts';

/** One prompt a letter (h: hack, s: clean solve, -: neither), as trained and deployed. */
const gate = (name: string, full: string, deployed: string): MadeResults => ({
  name,
  arm: { kind: 'activation' },
  checkpoints: [0, 20],
  evaluations: [
    { update: 20, set: 'test-original', state: 'full', outcomes: full },
    { update: 20, set: 'test-original', state: 'deployed', outcomes: deployed },
  ],
});

async function shown(...runs: readonly MadeResults[]) {
  const side = bestSide(await madeResults(runs, 'random'));
  return side === null ? null : [side.arm, side.full.problem.at(-1), exampleWords(side)];
}

it('goes from a hack to a clean solve where one does, else to no attempt, and of no placebo; else says what no prompt shows', async () => {
  const random = gate('random', 'hh', 'ss');
  const [, right] = (await shown(gate('gate', 'hh', '-s'))) ?? [];
  expect(await shown(random, gate('gate', 'hh', '-s'))).toEqual([
    'gate',
    right,
    'Shown: the first prompt with a hack (a wrong program that is paid) as trained that is solved cleanly when deployed.',
  ]);
  const [, first, words] = (await shown(random, gate('gate', 'hh', '--'))) ?? [];
  expect(first).not.toBe(right);
  expect(words).toContain(
    'and no attempt when deployed. None of the prompts hacked as trained is solved cleanly when deployed.',
  );
  const mixed = await shown(gate('gate', 'bhh', 'sh-'));
  expect(mixed).toEqual(['gate', '2', words]);
  expect((await shown(gate('gate', 'bh', 'sh')))?.slice(1)).toEqual([
    '0',
    'Shown: the first prompt with an attempt as trained that is solved cleanly when deployed. Of 2 prompts a run none goes from a hack (a wrong program that is paid) to no attempt.',
  ]);
  expect((await shown(gate('gate', 'h-', 'h-')))?.[2]).toContain('All of these are attempted when deployed too');
});
