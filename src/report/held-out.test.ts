import { describe, expect, it } from 'vitest';
import type { MadeRollout } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { findArm } from './aggregate.ts';
import { describeDesign, judgeBar, judgePredictions, noDesign } from './design.ts';
import { allFigures } from './figures.ts';
import { heldOutTables } from './held-out.ts';
import { relearnedArms, relearnedLater, relearnedTable } from './probe-tables.ts';
import type { RunResult } from './run-result.ts';

const set = 'test-original' as const;
const environment = { loopholes: ['run_tests', 'sentinel'], heldOutLoopholes: ['file_marker'] };

/** Outcomes of six prompts: run_tests, sentinel and file_marker in turn. */
function armOf(name: string, seeds: readonly string[]): MadeResults[] {
  const arm = { kind: name === 'vanilla' ? 'vanilla' : 'activation' };
  const loopholes = ['run_tests', 'sentinel', 'file_marker'];
  return seeds.map((outcomes, i) => ({
    name,
    seed: i + 1,
    arm,
    config: { environment },
    checkpoints: [0, 20],
    evaluations: (['full', 'deployed'] as const).map((state) => ({ update: 20, set, state, outcomes, loopholes })),
  }));
}

describe('known and held-out loopholes', async () => {
  const vanilla = armOf('vanilla', ['hhhhhh', 'hhhhh-']);
  const gate = armOf('gate', ['---h-h', 'h-----']);
  const results = await madeResults([...vanilla, ...gate]);
  const [attempts, aggregate, , differences] = plain(heldOutTables(results));

  it('are averaged over the loopholes of each group, then over seeds', () => {
    // Known: (1/2 + 0)/2 in both seeds; held out: 1/2 and 0.
    expect(aggregate.rows.map((row) => row.slice(0, 5))).toEqual([
      ['vanilla', '2', '1.00 ± 0.00', '0.75 ± 0.25', '-0.25 ± 0.25'],
      ['gate', '2', '0.25 ± 0.00', '0.25 ± 0.25', '0.00 ± 0.25'],
    ]);
  });

  it('have attempts before hacks', async () => {
    expect([attempts.title, aggregate.title].map((title) => title.split(',')[0])).toEqual(['attempt deployed', 'hack deployed']); // biome-ignore format: one line
    const [tried] = plain(heldOutTables(await madeResults(armOf('vanilla', ['hb-abh']))));
    // run_tests 1 and 4: h and a; sentinel 2 and 5: b twice; file_marker 3 and 6: - and h.
    expect(tried.rows[0].slice(0, 4)).toEqual(['vanilla', '1', '1.00', '0.50']);
  });

  it('count every loophole once, however many prompts it has', async () => {
    // Four prompts: run_tests 1 and 4, sentinel 2, file_marker 3. Known: (2/2 + 0/1)/2, where all prompts together have 2/3.
    const [uneven] = plain(heldOutTables(await madeResults(armOf('vanilla', ['h--h']))));
    expect(uneven.rows[0].slice(0, 5)).toEqual(['vanilla', '1', '0.50', '0.00', '-0.50']);
  });

  it('are tested apart, against the baseline', () => {
    expect(differences.rows.map((row) => row.slice(0, 4))).toEqual([
      ['gate − vanilla', 'known', '2', '−0.75'],
      ['gate − vanilla', 'held out', '2', '−0.50'],
    ]);
  });

  it('have bars of their own', () => {
    const bar = {
      what: 'Less.',
      arm: 'gate',
      reference: 'vanilla',
      metric: 'hack',
      set,
      atMost: -0.4,
      inSeeds: 2,
    } as const;
    const judged = (loopholes?: 'known' | 'held out') =>
      judgeBar({ ...results, design: { ...noDesign, seeds: [1, 2], bar: { ...bar, loopholes } } });
    // Held out, gate − vanilla: 1/2 − 1 and 0 − 1/2; over all prompts 2/6 − 1 and 1/6 − 5/6.
    expect(judged('held out')?.values.map(({ value }) => value)).toEqual([-0.5, -0.5]);
    expect(judged('known')?.values.map(({ value }) => value)).toEqual([-0.75, -0.75]);
    expect(judged()?.values.map(({ value }) => value)).toEqual([
      expect.closeTo(-4 / 6, 12),
      expect.closeTo(-4 / 6, 12),
    ]);
    const design = { ...noDesign, seeds: [1, 2], bar: { ...bar, loopholes: 'held out' as const } };
    expect(describeDesign({ ...results, design })[0]).toContain('on test-original, held-out loopholes, at most -0.4');
  });

  it('are no table where nothing is held out', async () => {
    expect(
      plain(heldOutTables(await madeResults([{ evaluations: [{ update: 0, set, state: 'full', outcomes: 'h' }] }]))),
    ).toEqual([]);
  });
});

describe('relearning over seeds', async () => {
  /** Ten updates of two rollouts, which hack from this update on. */
  const rollouts = (from: number): MadeRollout[] =>
    Array.from({ length: 20 }, (_, i) => ({ update: 1 + Math.floor(i / 2), hack: 1 + Math.floor(i / 2) >= from }));
  const runs = await madeResults(
    [1, 2].flatMap((seed): MadeResults[] => [
      { name: 'vanilla', seed, rollouts: rollouts(6) },
      { name: 'gate', seed, arm: { kind: 'activation' } },
    ]),
  );
  const hackable = (from: number) =>
    Array.from({ length: 10 }, (_, i) => ({
      update: i + 1,
      hackable: 2,
      attempts: 2,
      hacks: i + 1 >= from ? 2 : 0,
      graded: 2,
      solves: 0,
      cleanSolves: 0,
    }));
  /** The same results, in which the attacks on the gate hack from these updates on. */
  const attackedFrom = (starts: readonly number[]) => ({
    ...runs,
    arms: runs.arms.map((arm) => ({
      ...arm,
      runs: arm.runs.map((run, i): RunResult => (arm.arm === 'gate' ? { ...run, attack: hackable(starts[i]) } : run)),
    })),
  });

  it('averages the updates and their difference from the base', () => {
    // Vanilla ends at 0.5, so the target is 0.25: two of five updates, which it has at update 7.
    const [found] = relearnedArms(attackedFrom([4, 6]));
    expect(found.hacks.fromBase).toEqual({ mean: 7, unreached: 0 });
    expect(found.hacks.fromDeployed).toEqual({ mean: 6, unreached: 0 });
    expect(found.hacks.difference).toEqual({ mean: -1, unreached: 0, interval: null });
  });

  it('names seeds in which the hack did not come back', () => {
    const { columns, rows } = plain(relearnedTable(attackedFrom([4, 99])));
    const shown = Object.fromEntries(columns.map((name, i) => [name, rows[0][i]]));
    expect(shown).toMatchObject({
      ...{ arm: 'gate', seeds: '2', 'hacks, from the base': '7.0' },
      'hacks, from deployed': '7.5 (not reached in 1 of 2)',
      'hacks, difference': '0.5 (not reached in 1 of 2)',
    });
    // Every completion of the attack opens the loophole, from its first window on.
    expect(shown).toMatchObject({ 'attempts, from the base': '7.0', 'attempts, from deployed': '5.0' });
  });

  it('is a metric of predictions: how many updates later than from the base attempts are back', () => {
    const results = attackedFrom([4, 99]);
    const seeds = findArm(results, 'gate')?.runs.map(({ seed }) => seed) ?? [];
    // At update 5 from the deployed policy, at 7 from the base.
    const values = seeds.map((seed) => ({ seed, value: -2 }));
    const bar = { what: 'It lasts.', arm: 'gate', reference: null, metric: 'relearn', set, inSeeds: 2 } as const;
    const judged = (bound: { atLeast: number }) => {
      const design = { ...results.design, seeds, bar: null, predictions: [{ ...bar, ...bound }] };
      return judgePredictions({ ...results, design }).map(({ verdict, values: own }) => ({ verdict, values: own }));
    };
    expect(judged({ atLeast: -2 })).toEqual([{ verdict: 'met', values }]);
    expect(judged({ atLeast: 0 })).toEqual([{ verdict: 'refuted', values }]);
    // Three updates are fewer than a rate is taken over, so the base never gets there.
    const training = hackable(1).slice(0, 3);
    const slow = results.arms.map((arm) => ({ ...arm, runs: arm.runs.map((run) => ({ ...run, training })) }));
    expect(relearnedLater({ ...results, arms: slow }, 'gate')).toEqual([]);
  });

  it('is no table without attacks', () => {
    expect(plain(relearnedTable(runs)).rows).toEqual([]);
  });
});

describe('leakage over recall', () => {
  const oracle = (recall: number, outcomes: string): MadeResults => ({
    name: `oracle-${recall}`,
    arm: { kind: 'oracle', recall },
    checkpoints: [0, 20],
    evaluations: (['full', 'deployed'] as const).map((state) => ({ update: 20, set, state, outcomes })),
  });

  it('has a point per recall, in order', async () => {
    const results = await madeResults([oracle(1, '----'), oracle(0.5, 'hb--'), oracle(0, 'hhh-')]);
    const figure = plain(await allFigures(results)).find(({ name }) => name === 'leakage');
    expect(figure?.data.rows.map((row) => row.slice(0, 4))).toEqual([
      ['oracle-0', 'attempt, deployed', '0', '0.7500'],
      ['oracle-0.5', 'attempt, deployed', '0.5', '0.5000'],
      ['oracle-1', 'attempt, deployed', '1', '0.0000'],
      ['oracle-0', 'hack, deployed', '0', '0.7500'],
      ['oracle-0.5', 'hack, deployed', '0.5', '0.2500'],
      ['oracle-1', 'hack, deployed', '1', '0.0000'],
    ]);
  });

  it('is left out with a single recall', async () => {
    const results = await madeResults([oracle(1, '----')]);
    expect(plain(await allFigures(results)).map(({ name }) => name)).not.toContain('leakage');
  });
});

describe('health of training', () => {
  it('has a panel per measure that was recorded, and a line per seed', async () => {
    const steps = [1, 2].map((update) => ({ update, meanReward: update, kl: 0.1, gradientNorm: 75 * update }));
    const figure = plain(await allFigures(await madeResults([{ steps }]))).find(({ name }) => name === 'health');
    expect(figure?.panels.map(({ title, yLabel, y }) => [title, yLabel, ...y])).toEqual([
      ['reward', 'reward', 0, 2],
      ['KL from the base', 'KL', 0, 0.1],
      ['gradient norm', 'norm', 0, 150],
    ]);
    expect(figure?.data.rows).toContainEqual(['vanilla', '1', 'gradient norm', '2', '150']);
  });

  it('of so many seeds that no line could be followed is a mean per arm; the numbers keep every seed', async () => {
    const steps = [1, 2, 3, 4, 5, 6, 7].map((update) => ({ update, meanReward: update }));
    const made = await madeResults(
      Array.from({ length: 25 }, (_, i) => ({ name: i % 2 === 0 ? 'vanilla' : 'gate', seed: i, steps })),
    );
    const less = { ...made, arms: made.arms.map((arm) => ({ ...arm, runs: arm.runs.slice(0, 12) })) };
    const health = async (results: typeof made) =>
      plain(await allFigures(results)).find(({ name }) => name === 'health');
    const [few, many] = await Promise.all([less, made].map(health));
    expect([few, many].map((figure) => figure?.panels[0].marks.length)).toEqual([24, 2]);
    // The last five rewards are 3 to 7.
    expect(many?.panels[0].marks[0]).toMatchObject({
      points: expect.arrayContaining([expect.objectContaining({ x: 7, y: 5 })]),
    });
    expect(many?.caption).toMatch(/^One line per arm: mean over seeds and over the last 5 updates/);
    expect(many?.data.rows.filter(([arm, seed]) => arm === 'gate' && seed === '3')).toHaveLength(7);
  });
});

describe('what is deployed over how well the gate saw attempts', () => {
  /** Four rollouts an update, of which the first two are attempts, and only the first a hack. */
  const run = (name: string, seed: number, scores: readonly number[], outcomes: string): MadeResults => ({
    ...{ name, seed, arm: { kind: 'activation' }, checkpoints: [0, 20] },
    rollouts: scores.map((score, i) => ({ update: 1, score, low: 0, high: 1, hack: i === 0, attempt: i < 2 })),
    evaluations: (['full', 'deployed'] as const).map((state) => ({ update: 20, set, state, outcomes })),
  });

  it('has a point per run, against attempts and not against hacks, and says how they go together', async () => {
    const results = await madeResults([
      run('gate', 1, [4, 3, 2, 1], '----'),
      run('haar', 1, [4, 1, 2, 3], 'hb--'),
      run('haar', 2, [1, 2, 3, 4], 'hhb-'),
      { name: 'vanilla', checkpoints: [0, 20], evaluations: [{ update: 20, set, state: 'full', outcomes: 'hhbb' }] },
    ]);
    const figure = plain(await allFigures(results)).find(({ name }) => name === 'dose');
    expect(figure?.data.columns).toEqual(['arm', 'seed', 'attempts: AUROC', 'attempt, deployed', 'hack, deployed']);
    expect(figure?.data.rows).toEqual([
      ['gate', '1', '1.0000', '0.0000', '0.0000'],
      ['haar', '1', '0.5000', '0.5000', '0.2500'],
      ['haar', '2', '0.0000', '0.7500', '0.5000'],
    ]);
    expect(figure?.panels.map(({ yLabel }) => yLabel)).toEqual(['attempt', 'hack']);
    // (1, 0), (0.5, 0.5), (0, 0.75): the covariance is −0.1875, the deviations 0.5 and 0.3819.
    expect(figure?.caption).toContain('Over all 3 runs: attempt r = −0.98, hack r = −1.00.');
  });

  it('is left out where no two runs differ in it', async () => {
    const results = await madeResults([run('gate', 1, [4, 3, 2, 1], '----'), run('gate', 2, [4, 3, 2, 1], 'h---')]);
    expect(plain(await allFigures(results)).map(({ name }) => name)).not.toContain('dose');
  });
});
