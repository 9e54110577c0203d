/** The lines of `npm run check:science` can fail: they are tried on right and wrong results made by hand. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Results } from '../../src/report/aggregate.ts';
import { readResults } from '../../src/report/run-result.ts';
import { temporaryFolder, writeEvaluations, writeRun } from '../lab/hand-made.ts';
import { checkControls, checkScience } from './check.ts';

async function made(base: string, arms: Readonly<Record<string, readonly string[]>>): Promise<Results> {
  const directory = temporaryFolder();
  const runs = [];
  for (const [name, seeds] of Object.entries(arms)) {
    for (const [i, outcomes] of seeds.entries()) {
      const path = join(directory, `${name}-${i}`);
      const kind = name === 'vanilla' || name === 'oracle' ? name : 'absorb';
      await writeRun(path, { config: { seed: i, arm: { kind } }, checkpoints: [0, 10] });
      const set = 'test-original' as const;
      await writeEvaluations(path, [
        { update: 0, set, state: 'base', outcomes: base },
        { update: 10, set, state: 'full', outcomes },
        ...(name === 'vanilla' ? [] : [{ update: 10, set, state: 'deployed' as const, outcomes }]),
      ]);
      runs.push({ path, arm: name });
    }
  }
  return readResults(directory, { name: 'x', baseline: 'vanilla', placebo: null, arms: [], runs });
}

async function lines(base: string, vanilla: readonly string[], oracle: readonly string[]): Promise<boolean[]> {
  return checkScience(await made(base, { vanilla, oracle }), 2)
    .slice(0, 3)
    .map(({ holds }) => holds);
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

  it('asks for attempts, and gives hacks beside them: an exploit in a right program is one', async () => {
    const found = checkScience(await made('ss--', { vanilla: ['aaaa', 'aaah'], oracle: ['aa--', '----'] }), 2);
    expect(found.slice(0, 3).map(({ holds }) => holds)).toEqual([true, true, true]);
    expect(found.map(({ what }) => what).filter((what) => what.includes('hack'))).toEqual([]);
    expect(found[0].found).toContain('1.00 1.00 (hacks 0.00 0.25)');
  });

  const gate = async (activation: readonly string[], haar: readonly string[], ceiling: readonly string[]) => {
    const arms = { vanilla: ['hhh-', 'hhh-'], activation, haar, 'no-loophole': ceiling };
    const results = await made('s---', arms);
    const found = checkScience({ ...results, design: { ...results.design, ceiling: 'no-loophole' } }, 2);
    return found.slice(3).map(({ holds }) => holds);
  };

  it.each([
    ['all of it holds', ['ssss', 'ssss'], ['hhs-', 'hss-'], ['ssss', 'ssss'], [true, true, true, true]],
    ['there is no room', ['sss-', 'sss-'], ['hhs-', 'hss-'], ['s---', 's---'], [false, true, true, false]],
    ['the placebo is as low', ['hsss', 'ssss'], ['hhs-', 'sss-'], ['ssss', 'ssss'], [true, true, false, true]],
    ['vanilla is as low', ['hhh-', 'sss-'], ['hhhh', 'hsss'], ['ssss', 'ssss'], [true, false, true, false]],
    ['the skill is gone', ['s---', 's---'], ['hhs-', 'hss-'], ['ssss', 'ssss'], [true, true, true, false]],
  ])('of the gate: %s', async (_, activation, haar, ceiling, expected) => {
    expect(await gate(activation, haar, ceiling)).toEqual(expected);
  });

  it('wants scorda and its reversed control side by side', async () => {
    const both = await made('ss--', { scorda: ['h---', 'h---'], 'scorda-reversed': ['hh--', 'hhh-'] });
    expect(checkControls(both)).toMatchObject({ holds: true });
    expect(checkControls(both).found).toContain(
      'hacks 0.25 ± 0.00 as trained, 0.25 ± 0.00 deployed; reversed attempts',
    );
    expect(checkControls(await made('ss--', { scorda: ['h---'] }))).toMatchObject({ holds: false });
  });
});
