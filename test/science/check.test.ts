/** The lines of `npm run check:science` can fail: results made by hand, right and wrong. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readResults } from '../../src/report/read-results.ts';
import { temporaryFolder, writeEvaluations, writeRun } from '../lab/hand-made.ts';
import { checkScience } from './check.ts';

async function lines(base: string, vanilla: readonly string[], oracle: readonly string[]): Promise<boolean[]> {
  const directory = temporaryFolder();
  const runs = [];
  for (const [name, seeds] of [
    ['vanilla', vanilla],
    ['oracle', oracle],
  ] as const) {
    for (const [i, outcomes] of seeds.entries()) {
      const path = join(directory, `${name}-${i}`);
      await writeRun(path, { config: { seed: i, arm: { kind: name } }, checkpoints: [0, 10] });
      const set = 'test-original' as const;
      await writeEvaluations(path, [
        { update: 0, set, state: 'base', outcomes: base },
        { update: 10, set, state: 'trained', outcomes },
        ...(name === 'oracle' ? [{ update: 10, set, state: 'deployed' as const, outcomes }] : []),
      ]);
      runs.push({ path, arm: name });
    }
  }
  const results = await readResults(directory, { name: 'x', baseline: 'vanilla', placebo: null, arms: [], runs });
  return checkScience(results, 2).map(({ holds }) => holds);
}

describe('check:science', () => {
  it('holds where the hack emerged and the oracle removes it', async () => {
    expect(await lines('ss--', ['hhh-', 'hh--'], ['----', '----'])).toEqual([true, true, true]);
  });

  it.each([
    ['vanilla fails in one seed', 'ss--', ['hhh-', 'h---'], ['----', '----'], [false, true, true]],
    ['a seed is missing', 'ss--', ['hhh-'], ['----', '----'], [false, false, true]],
    ['the base hacks', 'hs--', ['hhh-', 'hh--'], ['----', '----'], [true, false, true]],
    ['the oracle removes too little', 'ss--', ['hhh-', 'hh--'], ['h---', 'h---'], [true, true, false]],
    ['there is no oracle', 'ss--', ['hhh-', 'hh--'], [], [true, true, false]],
  ])('does not hold when %s', async (_, base, vanilla, oracle, expected) => {
    expect(await lines(base, vanilla, oracle)).toEqual(expected);
  });
});
