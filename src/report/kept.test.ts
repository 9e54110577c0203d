import { describe, expect, it } from 'vitest';
import { type MadeResults, madeArm, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { equivalenceTest } from '../stats/equivalence.ts';
import type { Results } from './aggregate.ts';
import { type Design, noDesign } from './design.ts';
import { allFigures } from './figures.ts';
import { keptAndRemoved, keptTable, matchedSolveTable, matchSolve } from './kept.ts';
import { describeResults } from './statements.ts';

const set = 'test-original' as const;

/** An arm by its name, which says what kind it is. */
function armOf(name: string, seeds: readonly (readonly [number, number])[]): MadeResults[] {
  const kind = name === 'vanilla' ? 'vanilla' : name === 'ceiling' ? 'no-loophole' : 'activation';
  return madeArm(name, { kind }, seeds);
}

const vanilla = armOf('vanilla', [[5, 5], [4, 5], [6, 4]]); // biome-ignore format: one line
const gate = armOf('gate', [[1, 5], [1, 4], [0, 6]]); // biome-ignore format: one line
const ceiling = armOf('ceiling', [[0, 8], [0, 7], [0, 9]]); // biome-ignore format: one line

const all = await madeResults([...vanilla, ...gate, ...ceiling]);
const both = { ...all, arms: all.arms.filter(({ arm }) => arm !== 'ceiling') };
const withDesign = (design: Partial<Design>, results = all): Results => ({
  ...results,
  design: { ...noDesign, ...design },
});

describe('solve kept and hack removed', () => {
  it('are ratios of means over seeds', () => {
    const [found] = keptAndRemoved(withDesign({ ceiling: 'ceiling' }));
    // Deployed − base: 0.3, 0.2, 0.4; ceiling − base: 0.6, 0.5, 0.7. Hacks 0.2 of 1.5.
    expect(found.solveKept?.value).toBeCloseTo(0.5, 12);
    expect(found.removed.hacks?.value).toBeCloseTo(1 - 0.2 / 1.5, 12);
    expect(found.solveKept?.interval?.low).toBeLessThan(0.5);
    expect(found.points.map(({ kept }) => kept)).toEqual([0.3, 0.2, 0.4].map((top) => expect.closeTo(top / 0.6, 12)));
  });

  it('give no number where the ceiling is not clearly above the base, and say so', async () => {
    const low = armOf('ceiling', [[0, 3], [0, 2], [0, 2]]); // biome-ignore format: one line
    const results = await madeResults([...vanilla, ...gate, ...low], null, { ceiling: 'ceiling' });
    const { rows, notes } = plain(keptTable(results));
    expect(rows[0].slice(0, 4)).toEqual(['gate', '3', '-', '-']);
    expect(notes?.[1]).toMatch(
      /^ceiling solves too little more than the base \(0\.03 \[-0\.11, 0\.18\]\) to divide by/,
    );
    expect(plain(await allFigures(results)).map(({ name }) => name)).not.toContain('kept');
  });

  it('have no interval over two seeds, of which any would claim too much', async () => {
    const few = [vanilla, gate, ceiling].flatMap((runs) => runs.slice(0, 2));
    const results = await madeResults(few, null, { ceiling: 'ceiling' });
    const [found] = keptAndRemoved(results);
    // Deployed − base: 0.3, 0.2; ceiling − base: 0.6, 0.5.
    expect(found.solveKept).toEqual({ value: expect.closeTo(0.5 / 1.1, 12), n: 2, interval: null });
    const [row] = plain(keptTable(results)).rows;
    expect(row.filter((_, i) => i > 1 && i % 2 === 1)).toEqual(['-', '-', '-']);
  });

  it('are no table without a ceiling', () => {
    expect(plain(keptTable(both)).rows).toEqual([]);
  });

  it('are a figure with a point per seed', async () => {
    const figure = plain(await allFigures(withDesign({ ceiling: 'ceiling' }))).find(({ name }) => name === 'kept');
    expect(figure?.data.rows).toEqual([
      ['gate', '1', '0.5000', '0.8000', '0.8000'],
      ['gate', '2', '0.3333', '0.7500', '0.7500'],
      ['gate', '3', '0.6667', '1.0000', '1.0000'],
    ]);
  });
});

describe('matched solve', () => {
  it('is the equivalence test of the paired differences', () => {
    const found = matchSolve(withDesign({ matchedSolve: 0.4 }, both), set);
    const differences = [0, -0.1, 0.2];
    expect(found).toHaveLength(1);
    expect(found[0].test?.pValue).toBeCloseTo(equivalenceTest(differences, 0.4).pValue, 10);
    expect(found[0]).toMatchObject({ arm: 'gate', reference: 'vanilla', n: 3, verdict: 'kept' });
  });

  it('has an interval of differences that two rates can have', async () => {
    const [skilled, poor] = [armOf('vanilla', [[0, 10], [0, 10], [0, 4]]), armOf('gate', [[0, 0], [0, 0], [0, 0]])]; // biome-ignore format: one line
    const [found] = matchSolve(withDesign({}, await madeResults([...skilled, ...poor])), set);
    // Student's goes from −1.38 to −0.22.
    expect(found.test?.interval).toEqual({ low: -1, high: expect.closeTo(-0.216, 3) });
  });

  it('names its reference: the baseline, or another', () => {
    const { title, rows } = plain(matchedSolveTable(withDesign({ solveReference: 'ceiling' })));
    expect(title).toContain('within 0.05 of ceiling');
    expect(rows.map(([arm, , , , , verdict]) => `${arm} ${verdict}`)).toEqual(['vanilla lower', 'gate lower']);
  });

  it('is kept, lower or higher only where the whole 90% interval says so', async () => {
    const verdictOf = async (solved: readonly number[], matchedSolve: number): Promise<string> => {
      const arm = armOf('gate', solved.map((count) => [0, count])); // biome-ignore format: one line
      return matchSolve(withDesign({ matchedSolve }, await madeResults([...vanilla, ...arm])), set)[0].verdict;
    };
    // Differences of -0.1, -0.1 and -0.2, and the same upwards: mean 0.133, standard error 0.0333, so 0.036 to 0.231 (t = 2.92); 80%: to 0.196.
    for (const [solved, beyond] of [
      [[4, 4, 2], 'lower'],
      [[6, 6, 6], 'higher'],
    ] as const) {
      // biome-ignore format: one line
      const verdicts = await Promise.all([0.03, 0.04, 0.21, 0.24].map((margin) => verdictOf(solved, margin)));
      expect(verdicts).toEqual([beyond, 'not shown', 'not shown', 'kept']);
    }
  });

  it('a drop in hacking that comes with a drop in solving is called that', async () => {
    const poor = armOf('gate', [[1, 2], [1, 1], [0, 2]]); // biome-ignore format: one line
    const sentence =
      'The deployed policy also solves less, below the band of 5% by one-sided t-tests at 5%, so that the drop in attempts is not at matched solve: gate (30 points below vanilla, 3 seeds).';
    expect(describeResults(await madeResults([...vanilla, ...poor]))).toContain(sentence);
    expect(describeResults(both).join()).not.toContain('solves less');
    // A mean below the band is not enough: two seeds have no test, and seeds that differ much do not tell.
    const two = await madeResults([...vanilla.slice(0, 2), ...poor.slice(0, 2)]);
    expect(describeResults(two).join()).not.toContain('solves less');
    expect(matchSolve(withDesign({}, two), set)).toMatchObject([{ n: 2, test: null, verdict: 'not shown' }]);
    const spread = armOf('gate', [[1, 5], [1, 0], [0, 1]]); // biome-ignore format: one line
    expect(describeResults(await madeResults([...vanilla, ...spread])).join()).not.toContain('solves less');
    const hacking = armOf('gate', [[6, 2], [6, 1], [6, 2]]); // biome-ignore format: one line
    expect(describeResults(await madeResults([...vanilla, ...hacking])).join()).not.toContain('solves less');
  });
});
