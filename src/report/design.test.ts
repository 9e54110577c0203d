import { describe, expect, it } from 'vitest';
import { type MadeResults, madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import { formatP, signed, signedInterval } from '../measure/table.ts';
import type { Results } from './aggregate.ts';
import { allTables } from './all-tables.ts';
import { ablationTable, settingsTable } from './baselines.ts';
import { compareArms } from './comparisons.ts';
import { type Design, describeDesign, goesOn, judgeBar, judgePredictions, moreSeeds, noDesign } from './design.ts';
import type { Bar } from './experiment-schema.ts';
import { describeResults } from './statements.ts';
import { finalTable } from './tables.ts';
import { processTable } from './training-tables.ts';
import { resultsJson } from './values.ts';

const set = 'test-original' as const;

/** One run per entry, each with hacks and solves of ten deployed prompts; the base solves 2. */
function armOf(
  name: string,
  seeds: readonly (readonly [number, number])[],
  qmass: number | null = null,
): MadeResults[] {
  const arm = { kind: name === 'vanilla' || name === 'ceiling' ? 'vanilla' : 'activation' };
  return seeds.map(([hacks, solves], i) => ({
    name,
    seed: i + 1,
    arm,
    checkpoints: [0, 20],
    steps: [{ update: 1, qmass, ...(qmass === null ? {} : { routes: { keep: 1, absorb: 5, route: 8 * qmass } }) }],
    evaluations: [
      { update: 0, set, state: 'base', outcomes: tenPrompts(0, 2) },
      { update: 20, set, state: 'full', outcomes: tenPrompts(hacks, solves) },
      { update: 20, set, state: 'deployed', outcomes: tenPrompts(hacks, solves) },
    ],
  }));
}

const vanilla = armOf('vanilla', [[8, 1], [7, 2], [9, 1]]); // biome-ignore format: one line
const gate = armOf('gate', [[2, 2], [1, 3], [2, 1]], 0.25); // biome-ignore format: one line
const haar = armOf('haar', [[6, 2], [5, 2], [6, 3]], 0.5); // biome-ignore format: one line
const mass = armOf('mass', [[4, 2], [4, 2], [3, 3]], 0.25); // biome-ignore format: one line

const designed = (name: string, placebos: string[] | null = null): Design['arms'][number] => ({
  name,
  recipe: `${name}.toml`,
  set: name === 'mass' ? ['arm.tail=0.2'] : [],
  placebos,
});

describe('placebos of an arm', async () => {
  const arms = [designed('vanilla'), designed('gate', ['haar', 'mass']), designed('haar'), designed('mass')];
  const results = await madeResults([...vanilla, ...gate, ...haar, ...mass], 'haar', { arms });

  it('are what it is tested against beside the baseline; placebos are tested against the baseline alone', () => {
    const found = compareArms(results, set, 'hack', false).map(({ arm, against }) => `${arm} − ${against}`);
    expect(found).toEqual(['gate − vanilla', 'gate − haar', 'gate − mass', 'haar − vanilla', 'mass − vanilla']);
  });

  it('stand in the table of ablations with what the quarantines of both got', () => {
    const { columns, rows: cells } = plain(ablationTable(results));
    const shown = ['arm', 'routed', 'qmass', 'against', 'its routed', 'its qmass', 'attempt difference', 'hack difference', 'seeds']; // biome-ignore format: one line
    const rows = cells.map((row) => shown.map((column) => row[columns.indexOf(column)]).join(' '));
    expect(rows.slice(0, 3)).toEqual([
      'gate 0.25 0.25 vanilla - - −0.63 −0.63 3',
      'gate 0.25 0.25 haar 0.40 0.50 −0.40 −0.40 3',
      'gate 0.25 0.25 mass 0.25 0.25 −0.20 −0.20 3',
    ]);
  });

  it('have interval and p-value of attempts beside those of hacks in that table', async () => {
    const deployed = (made: MadeResults, outcomes: string): MadeResults => ({
      ...made,
      evaluations: made.evaluations?.map((each) => (each.state === 'base' ? each : { ...each, outcomes })),
    });
    // The hacks are those of the gate, beside 4, 5 and 3 attempts that did not pay.
    const tries = ['hhaaaa....', 'haaaaa....', 'hhaaa.....'];
    const trying = gate.map((made, i) => deployed(made, tries[i]));
    const made = await madeResults([...vanilla, ...trying], null, { arms: [designed('vanilla'), designed('gate')] });
    const { columns, rows, notes } = plain(ablationTable(made));
    const row = Object.fromEntries(columns.map((column, i) => [column, rows[0][i]]));
    const [attempts, hacks] = (['attempt', 'hack'] as const).map((metric) => compareArms(made, set, metric, false)[0]);
    expect(signedInterval(attempts.interval)).not.toBe(signedInterval(hacks.interval));
    expect(row).toMatchObject({
      'attempt difference': signed(attempts.difference),
      '95% interval, attempt': signedInterval(attempts.interval),
      'p (Holm), attempt': formatP(attempts.adjusted),
      'hack difference': signed(hacks.difference),
      '95% interval, hack': signedInterval(hacks.interval),
      'p (Holm), hack': formatP(hacks.adjusted),
    });
    expect(notes?.join(' ')).toContain('paired differences in attempts, then of those in hacks');
  });

  it('are the experiment’s one where an arm names none', () => {
    const plain = { ...results, design: noDesign };
    const found = compareArms(plain, set, 'hack', false).map(({ arm, against }) => `${arm} − ${against}`);
    expect(found).toEqual(['gate − vanilla', 'gate − haar', 'haar − vanilla', 'mass − vanilla', 'mass − haar']);
  });

  it('are named in the words', () => {
    expect(describeResults(results).at(-2)).toContain(
      'The placebos (haar, mass) do all that their arm does but for what it claims',
    );
  });

  it('that got clearly more or less are named with the numbers, and no others', async () => {
    expect(describeResults(results).at(-1)).toBe(
      'gate routed 0.25, its placebo haar 0.40, and qmass 0.25, its placebo 0.50: not similar (means over seeds, a ratio above 1.25); the difference may be of mass.',
    );
    const near = async (qmass: number): Promise<string> => {
      const others = armOf('haar', [[6, 2], [5, 2], [6, 3]], qmass); // biome-ignore format: one line
      return describeResults(await madeResults([...vanilla, ...gate, ...others], 'haar')).join(' ');
    };
    expect(await near(0.3)).not.toContain('not similar');
    expect(await near(0.2)).not.toContain('not similar');
    expect(await near(0.19)).toContain('gate qmass 0.25, its placebo haar 0.19: not similar');
  });

  it('that are planned and not begun are not said to be missing from the study', async () => {
    const design = { arms: [designed('vanilla'), designed('gate', ['haar']), designed('haar')] };
    const begun = await madeResults([...vanilla, ...gate], null, design);
    const awaited = 'placebo (haar) has not been run yet';
    for (const waiting of [{ missing: ['haar-1'] }, { failed: [{ path: 'runs/haar-1', why: 'x' }] }]) {
      const said = describeResults({ ...begun, ...waiting }).join('\n');
      expect(said).toContain(`The ${awaited}: deleting any part of the update might`);
      expect(said).toContain(`its ${awaited}.`);
      const { notes } = finalTable({ ...begun, ...waiting }, set, false);
      expect(notes).toContain(`gate: its ${awaited}.`);
      expect([said, ...(notes ?? [])].join()).not.toMatch(/no placebo/i);
    }
    expect(describeResults(begun).join()).toContain('There is no placebo arm');
    expect(finalTable(begun, set, false).notes).toContain('No placebo in this study: gate.');
  });

  it('leave the settings of every arm, as it was trained, to a table of their own', () => {
    const { rows } = plain(settingsTable(results));
    expect(rows.map(([arm, seeds, recipe, changes]) => [arm, seeds, recipe, changes].join(' '))).toEqual(['vanilla 3 vanilla.toml -', 'gate 3 gate.toml -', 'haar 3 haar.toml -', 'mass 3 mass.toml arm.tail=0.1']); // biome-ignore format: one line
    expect(rows.at(-1)).toEqual(['mass', '3', 'mass.toml', 'arm.tail=0.1', '0.37 ± 0.03', '0.37 ± 0.03', '0.23 ± 0.03', '0.23 ± 0.03']); // biome-ignore format: one line
  });
});

it('a setting of the call that all arms have is no difference between them', async () => {
  const called = (made: readonly MadeResults[], updates: (seed: number) => number) =>
    made.map((run) => ({ ...run, checkpoints: [0, 20], config: { updates: updates(run.seed ?? 0) } }));
  const arms = [{ ...designed('vanilla'), set: ['updates=20'] }, designed('gate'), designed('mass')];
  const changes = async (ofGate: number) => {
    const runs = [...called([...vanilla, ...mass], () => 100), ...called(gate, () => ofGate)];
    const { rows, notes } = plain(settingsTable(await madeResults(runs, null, { arms })));
    return { rows: rows.map((row) => row[3]), notes };
  };
  const note = 'No difference between arms, since the runs of all have it: updates=100.';
  expect(await changes(100)).toEqual({ rows: ['-', '-', 'arm.tail=0.1'], notes: [note] });
  expect(await changes(60)).toEqual({ rows: ['updates=100', '-', 'arm.tail=0.1'], notes: [] });
});

const both = await madeResults([...vanilla, ...gate]);
const withDesign = (design: Partial<Design>, results = both): Results => ({
  ...results,
  design: { ...noDesign, ...design },
});

describe('a bar', () => {
  const bar: Bar = { what: 'Less.', arm: 'gate', reference: 'vanilla', metric: 'hack', set, atMost: -0.6, inSeeds: 3 };
  const judge = (change: Partial<Bar>, results = both) =>
    judgeBar(withDesign({ seeds: [1, 2, 3], bar: { ...bar, ...change } }, results));

  // The differences are −0.6, −0.6 and −0.7: the first two reach −0.6 exactly.
  it.each([
    [{}, 'met', 3],
    [{ atMost: -0.65 }, 'refuted', 1],
    [{ atMost: -0.65, inSeeds: 1 }, 'met', 1],
    [{ atMost: undefined, atLeast: -0.6 }, 'refuted', 2],
    [{ reference: null, atMost: 0.15, inSeeds: 1 }, 'met', 1],
    [{ reference: null, metric: 'objective', atMost: undefined, atLeast: 0, inSeeds: 2 }, 'met', 2],
  ] as const)('%j %s', (change, verdict, met) => {
    expect(judge(change)).toMatchObject({ verdict, met, planned: 3 });
  });

  it('is open while seeds are missing that could decide, and refuted once they cannot', () => {
    const first = { ...both, arms: both.arms.map((arm) => ({ ...arm, runs: arm.runs.slice(0, 1) })) };
    expect(judge({}, first)).toMatchObject({ verdict: 'open', values: { length: 1 } });
    expect(judge({ atMost: -0.9 }, first)).toMatchObject({ verdict: 'refuted' });
    expect(judge({}, { ...both, arms: [] })).toMatchObject({ verdict: 'open', values: [] });
  });

  it('counts only the seeds that it was stated for', () => {
    const stated = { seeds: [1, 2], bar: { ...bar, atMost: -0.65, inSeeds: 1 } };
    // Of three seeds the third alone reaches it.
    expect(judgeBar(withDesign(stated))).toMatchObject({ verdict: 'refuted', met: 0, planned: 2 });
  });

  it('is printed with the question, what settles it, and whether it came after the runs', () => {
    const change = { why: 'Does it?', resolve: 'A gap.', bar, arms: [designed('vanilla')], seeds: [1, 2, 3] };
    const lines = describeDesign(withDesign(change));
    expect(lines).toEqual([
      'Why: Does it?',
      'Settled by: A gap.',
      'The bar, stated before the runs: Less. That is: deployed hack of gate − vanilla on test-original at most -0.6, in 3 of 3 seeds.',
      'The bar is met: 3 of 3 seeds evaluated, the bar reached in 3 (seed 1: −0.600, seed 2: −0.600, seed 3: −0.700).',
    ]);
    const changed = describeDesign(withDesign({ ...change, barChanged: true }));
    expect(changed[2]).toContain('The bar (changed after the runs began): Less.');
  });
});

describe('the predictions of a study', () => {
  const less: Bar = { what: 'Less.', arm: 'gate', reference: 'vanilla', metric: 'hack', set, atMost: -0.6, inSeeds: 3 };
  // Reached in 3, 3 and 2 of 3 seeds: by chance in 1/8, 1/8 and (3 + 1)/8 of studies. Holm: 3 × 1/8, no less than that, 1 × 1/2.
  const predictions = [less, { ...less, atMost: -0.5 }, { ...less, atMost: undefined, atLeast: -0.6, inSeeds: 2 }];
  const stated = { seeds: [1, 2, 3], predictions };

  it('have sign tests over the stated seeds, adjusted by Holm over all that were stated', () => {
    const judged = judgePredictions(withDesign(stated));
    expect(judged.map(({ met, pValue, adjusted }) => [met, pValue, adjusted])).toEqual([
      [3, expect.closeTo(1 / 8), expect.closeTo(3 / 8)],
      [3, expect.closeTo(1 / 8), expect.closeTo(3 / 8)],
      [2, expect.closeTo(1 / 2), expect.closeTo(1 / 2)],
    ]);
    expect(describeDesign(withDesign(stated)).at(-1)).toMatch(
      /; sign test over the stated seeds p = 0\.500, after Holm over 3 predictions 0\.500\.$/,
    );
  });

  it('count a seed that is missing as one that does not reach, and one without runs as a test all the same', () => {
    const first = { ...both, arms: both.arms.map((arm) => ({ ...arm, runs: arm.runs.slice(0, 1) })) };
    const absent = { ...less, arm: 'nobody' };
    const judged = judgePredictions(withDesign({ seeds: [1, 2, 3], predictions: [less, absent] }, first));
    expect(judged.map(({ pValue, adjusted }) => [pValue, adjusted])).toEqual([
      [expect.closeTo(7 / 8), 1],
      [1, 1],
    ]);
  });
});

describe('the notes of a run', () => {
  it('are shown where it belongs to no experiment', async () => {
    const config = { notes: { why: 'To see.', resolve: 'A hack.' } };
    const lines = describeDesign(await madeResults([{ ...vanilla[0], config }]));
    expect(lines.map((line) => line.replace(/^\S+, /, ''))).toEqual(['why: To see.', 'settled by: A hack.']);
  });
});

describe('the table of training', () => {
  it('says where its rates count tokens', async () => {
    const rollouts = [{ update: 1, route: 'route', tokenRoutes: 'rk', trained: true }];
    const arm = { kind: 'activation', granularity: 'token' };
    const byToken = plain(processTable(await madeResults([{ name: 'token', arm, rollouts }]), false));
    expect(byToken.notes?.[1]).toMatch(/^A gate by token: .* count tokens/);
    expect(plain(processTable(both, false)).notes?.join()).not.toContain('by token');
  });
});

describe('reported rows', () => {
  it('stand in the final table of the claim alone, with their source', () => {
    const references = [{ name: 'paper', source: 'A page', hack: 0.79, solve: null }];
    const { rows, notes } = plain(finalTable(withDesign({ references }), set, false));
    const own = ['-', '-', '-', '-', '0.79', '-', '-', '-', '-', '-'];
    expect(rows.at(-1)).toEqual(['paper (reported elsewhere, not run here)', ...own]);
    expect(notes).toContain('paper: A page.');
    const [other, labelled] = [
      finalTable(withDesign({ references }), 'train', false),
      finalTable(withDesign({ references }), set, true),
    ];
    for (const table of [other, labelled]) expect(JSON.stringify(table)).not.toContain('paper');
  });
});

describe('the JSON of results', () => {
  it('has the design and the verdict', () => {
    const bar: Bar = { what: 'x', arm: 'gate', reference: null, metric: 'hack', set, atMost: 0.3, inSeeds: 1 };
    const found = resultsJson(withDesign({ bar, seeds: [1, 2, 3] }));
    expect(found).toMatchObject({ bar: { verdict: 'met' }, design: { bar: { arm: 'gate' } } });
    expect(resultsJson(both)).toMatchObject({ bar: null, design: noDesign });
  });
});

describe('settings that labelled runs suggested', () => {
  const made = (thresholds: string) =>
    madeResults(
      [1, 2].map((seed) => ({
        ...{ name: 'activation', seed, arm: { kind: 'activation' }, checkpoints: [0, 20] },
        config: { notes: { thresholds } },
        evaluations: (['full', 'deployed'] as const).map((state) => {
          return { update: 20, set: 'test-original' as const, state, outcomes: 'hs' };
        }),
      })),
    );

  it('are said under every table that has the arm, in the sentences and in JSON', async () => {
    const results = await made('label-informed');
    const tables = plain(allTables(results)).filter(({ rows }) =>
      rows.some(([first]) => first.startsWith('activation')),
    );
    expect(tables.length).toBeGreaterThan(1);
    for (const { title, notes = [] } of tables) {
      expect(notes.join(' '), title).toContain('Not free of labels: the settings of activation');
    }
    expect(describeResults(results).join('\n')).toContain('activation (settings informed by labels)');
    expect(resultsJson(results).labelInformed).toEqual(['activation']);
  });

  it('are not said of others', async () => {
    const results = await made('fixed');
    const all = JSON.stringify([plain(allTables(results)), describeResults(results), resultsJson(results)]);
    expect(all).not.toMatch(/informed|Not free of labels/);
  });
});

const own = { recipe: 'study.toml', set: [], out: null };

describe('the call that goes on with an experiment', () => {
  const arms = [designed('vanilla'), designed('gate'), designed('haar')];
  it('has its seeds, and its arms where it was begun with some of them', () => {
    const again = { ...own, set: ['updates=9'], out: 'runs/x' };
    const design = { arms, seeds: [1, 2], again };
    const rest = '--set updates=9 --out runs/x';
    const part = { ...design, again: { ...again, arms: ['vanilla', 'gate'] } };
    expect(goesOn(withDesign(part))).toBe(`gq experiment study.toml --seeds 1,2 --arms vanilla,gate ${rest}`);
    expect(goesOn(withDesign(design))).toBe(`gq experiment study.toml --seeds 1,2 ${rest}`);
    expect([null, undefined].map((none) => goesOn(withDesign({ ...design, again: none })))).toEqual([null, null]);
  });
});

describe('seeds enough for a claim', () => {
  const bar: Bar = { what: 'x', arm: 'gate', reference: null, metric: 'hack', set, atMost: 0.3, inSeeds: 1 };
  const stated = 'gq experiment study.toml --seeds 1,2,3,4,5,6 --from';
  it.each<[string, Partial<Design>, string[]]>([
    ['are named by the file of the study', { again: own }, ['gq experiment study.toml --seeds 1,2,3,4,5,6']],
    [
      'keep those that it has, its settings and its folder',
      { again: { ...own, set: ['updates=9'], out: 'runs/larger' }, seeds: [8, 2] },
      ['gq experiment study.toml --seeds 1,2,3,4,5,8 --set updates=9 --out runs/larger'],
    ],
    [
      'are of the arms that are planned',
      { again: { ...own, arms: ['vanilla', 'gate'] } },
      ['gq experiment study.toml --seeds 1,2,3,4,5,6 --arms vanilla,gate'],
    ],
    [
      'are no others than those that are planned',
      { again: own, seeds: [3, 4, 5, 6, 7, 8, 9] },
      ['gq experiment study.toml --seeds 3,4,5,6,7,8,9'],
    ],
    [
      'leave what was stated as it is',
      { again: own, bar: bar, seeds: [1] },
      [`${stated} 'runs/made by hand' --out 'runs/made by hand-more'`],
    ],
    [
      'have the name of a demo of an earlier version, which did not store its file',
      { again: null },
      ["gq experiment 'made by hand' --seeds 1,2,3,4,5,6"],
    ],
    [
      'name a study whose file was not stored',
      { arms: [{ name: 'vanilla', recipe: 'x', set: [], placebos: null }] },
      ['the file of made by hand, --seeds 1,2,3,4,5,6'],
    ],
    ['say nothing of runs that are of no study', {}, []],
  ])('%s', (_, design, found) => {
    expect(moreSeeds(withDesign(design))).toEqual(found);
  });
});
