/** When policies begin to attempt: by the curve, censored where they never do, and only in answers that were asked for it. */
import { describe, expect, it } from 'vitest';
import type { MadeEvaluation } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { allTables } from './all-tables.ts';
import { emergences, emergenceTables, testEmergences } from './failures.ts';
import { resultsJson } from './values.ts';

const times = [5, 10, 15, 20];

/** A run whose policy, deployed and as trained, attempts in three of ten prompts from these updates on; null: never. */
function runOf(name: string, seed: number, deployed: number | null, full: number | null = deployed): MadeResults {
  const point = (update: number, state: 'full' | 'deployed', from: number | null): MadeEvaluation => {
    const outcomes = from !== null && update >= from ? 'bbb-------' : 'b---------';
    return { update, set: 'curve', state, outcomes };
  };
  const hasQuarantine = name !== 'vanilla';
  const base: MadeEvaluation = { update: 0, set: 'curve', state: 'base', outcomes: 'bbbbbbbbbb' };
  return {
    ...{ name, seed, checkpoints: [0, ...times] },
    arm: { kind: hasQuarantine ? 'activation' : 'vanilla' },
    evaluations: [
      base,
      ...times.map((update) => point(update, 'full', full)),
      ...(hasQuarantine ? times.map((update) => point(update, 'deployed', deployed)) : []),
    ],
  };
}

const vanilla = [5, 5, 10].map((at, i) => runOf('vanilla', i + 1, at));
const gate = [10, null, null].map((at, i) => runOf('gate', i + 1, at, 5));

describe('the time until a policy attempts', async () => {
  const results = await madeResults([...vanilla, ...gate]);

  it('is the first point of the curve above the share of a run that fails, and the last point where there is none', () => {
    expect(emergences(results)).toMatchObject([
      { arm: 'vanilla', state: 'full', emerged: 3, median: 5 },
      { arm: 'gate', state: 'full', emerged: 3, median: 5 },
      {
        ...{ arm: 'gate', state: 'deployed', emerged: 1, median: null, seeds: [1, 2, 3] },
        waits: [
          { time: 10, happened: true },
          { time: 20, happened: false },
          { time: 20, happened: false },
        ],
      },
    ]);
  });

  it('has the share without it by Kaplan and Meier, with its interval', () => {
    const [table] = plain(emergenceTables(results));
    // 2 of 3; log(−log S) has the standard error √(1/6) / log 1.5 = 1.0069: S^7.195 and S^0.139.
    expect(table.rows.map((row) => row.slice(0, 6))).toEqual([
      ['vanilla', 'as trained', '3', '3', '5', '0.00 [0.00, 0.00]'],
      ['gate', 'as trained', '3', '3', '5', '0.00 [0.00, 0.00]'],
      ['gate', 'deployed', '3', '1', 'not reached', '0.67 [0.05, 0.95]'],
    ]);
    expect(table.rows[2][6]).toBe('1: 10, 2: > 20, 3: > 20');
  });

  it('is compared by the log-rank test, deployed', () => {
    // Expected: 2·3/6 at update 5 and 2·3/4 at 10; variance 0.4 + 0.25: χ² = 1.5² / 0.65 = 3.46.
    const [test] = testEmergences(results);
    expect(test).toMatchObject({ arm: 'gate', against: 'vanilla', observed: 1, expected: 2.5 });
    expect(test.pValue).toBeCloseTo(0.0628, 4);
    expect(plain(emergenceTables(results))[1].rows).toEqual([['gate − vanilla', '1', '2.5', '0.063', '0.063']]);
  });

  it('has no test of two seeds, and says of one that nothing is claimed', async () => {
    const two = await madeResults([...vanilla.slice(0, 2), ...gate.slice(0, 2)]);
    expect(testEmergences(two)[0].pValue).toBeNull();
    const one = await madeResults([vanilla[0], gate[0]]);
    for (const { notes = [] } of emergenceTables(one)) expect(notes).toContain('n = 1, no claim.');
  });
});

describe('tables and JSON have it', async () => {
  const runs = [...vanilla, ...gate];
  const prediction = { what: 'x', arm: 'gate', reference: null, metric: 'attempt', set: 'test-original' } as const;
  const plain = await madeResults(runs);
  const claimed = await madeResults(runs, null, { predictions: [{ ...prediction, atMost: 0.1, inSeeds: 1 }] });
  const hasTables = (...given: Parameters<typeof allTables>): boolean =>
    allTables(...given).some(({ title }) => title.startsWith('time until'));

  it('where they are asked for it, or the study has predictions', () => {
    expect([hasTables(plain), hasTables(plain, { emergence: true }), hasTables(claimed)]).toEqual([false, true, true]);
    expect(resultsJson(plain)).not.toHaveProperty('emergence');
    expect(resultsJson(plain, { emergence: true }).emergenceTests).toHaveLength(1);
    expect(resultsJson(claimed).emergence).toHaveLength(3);
  });

  it('and not where no run has a curve', async () => {
    const bare = await madeResults(runs.map((run) => ({ ...run, evaluations: [] })));
    expect(hasTables(bare, { emergence: true })).toBe(false);
  });
});
