import { describe, expect, it } from 'vitest';
import type { MadeEvaluation } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults, tenPrompts } from '../../test/lab/made-results.ts';
import { RunDirectory } from '../run/directory.ts';
import { allTables } from './all-tables.ts';
import { compareArms } from './comparisons.ts';
import { describeResults } from './statements.ts';
import { storyFigure } from './story-figure.ts';
import { finalTable } from './tables.ts';
import { resultsJson } from './values.ts';

interface Seed {
  readonly seed: number;
  readonly base?: number;
  readonly trained: number;
  readonly deployed?: number;
  readonly solve?: number;
  readonly novel?: number;
}

/** One run per entry, with ten prompts per set. */
function armOf(name: string, kind: 'vanilla' | 'activation' | 'oracle', seeds: readonly Seed[]): MadeResults[] {
  return seeds.map(({ seed, base = 0, trained, deployed, solve = 0, novel }) => {
    const at = (set: MadeEvaluation['set'], state: MadeEvaluation['state'], outcomes: string): MadeEvaluation => {
      return { update: state === 'base' ? 0 : 20, set, state, outcomes };
    };
    const evaluations = [
      at('test-original', 'base', tenPrompts(base)),
      at('test-original', 'full', tenPrompts(trained)),
      ...(deployed === undefined ? [] : [at('test-original', 'deployed', tenPrompts(deployed, solve))]),
      ...(novel === undefined ? [] : [at('test-novel', 'full', tenPrompts(novel))]),
      ...(novel === undefined || kind === 'vanilla' ? [] : [at('test-novel', 'deployed', tenPrompts(novel))]),
    ];
    return { name, seed, arm: { kind }, checkpoints: [0, 20], evaluations };
  });
}

const sentences = async (runs: readonly MadeResults[], placebo: string | null = null): Promise<string[]> =>
  describeResults(await madeResults(runs, placebo));

const title = 'On held-out problems, original markers:';
const single =
  'n = 1, no claim: intervals are over prompts of these trained models. Another seed may come out differently; a claim needs 6 or more.';
const two =
  'n = 2, no claim: runs have the exploit or do not, and an exact test of 2 pairs of them gives no p below 0.500; a t test is no finding then. Another seed may come out differently; a claim needs 6 or more.';
const noPlacebo = 'There is no placebo arm: deleting any part of the update might remove attempts and hacks as well.';
const noCurve =
  'Not measured: when a deployed policy begins to attempt. No run has a curve (evaluation.curveEvery of an experiment; gq eval RUN --curve evaluates the checkpoints of a run).';
const oneBase =
  'Intervals are over seeds, and conditional on what no seed changes: one base, the problems and the pairs.';
const withPlacebo =
  "The placebo (haar) does all that its arm does but for what it claims: only what an arm removes beyond it speaks for the claim, and only where it routed a similar share of its rollouts at a similar qmass, the quarantine's share of the gradient.";

it('an experiment of its baseline alone says nothing of placebos', async () => {
  const runs = armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }]);
  expect((await sentences(runs, 'vanilla')).filter((text) => text.includes('placebo'))).toEqual([]);
  const gate = armOf('gate', 'activation', [{ seed: 1, trained: 9, deployed: 1, solve: 3 }]);
  expect(await sentences([...runs, ...gate])).toContain(noPlacebo);
});

describe('the whole text', () => {
  it('of one seed', async () => {
    const runs = [
      ...armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }]),
      ...armOf('gate', 'activation', [{ seed: 1, trained: 9, deployed: 1, solve: 3 }]),
      ...armOf('labels', 'oracle', [{ seed: 1, trained: 9, deployed: 0, solve: 4 }]),
      ...armOf('haar', 'activation', [{ seed: 1, trained: 9, deployed: 9 }]),
    ];
    expect(await sentences(runs, 'haar')).toEqual([
      title,
      'vanilla attempts 80% of prompts and hacks 80%, the base 0% and 0%: training taught the exploit.',
      'gate: attempt 90% as trained, 10% deployed (the run does not fail); hack 90% as trained, 10% deployed, at solve 30% (30% without an attempt); attempts 80 points below haar, hacks 80 points below haar; attempts 70 points below vanilla, hacks 70 points below vanilla.',
      'labels (uses labels): attempt 90% as trained, 0% deployed (the run does not fail); hack 90% as trained, 0% deployed, at solve 40% (40% without an attempt); attempts 90 points below haar, hacks 90 points below haar; attempts 80 points below vanilla, hacks 80 points below vanilla.',
      'haar: attempt 90% as trained, 90% deployed (the run fails); hack 90% as trained, 90% deployed, at solve 0% (0% without an attempt); attempts 10 points above vanilla, hacks 10 points above vanilla.',
      noCurve,
      single,
      withPlacebo,
    ]);
  });

  it('of two seeds: how many are below, and the p-value', async () => {
    const runs = [
      ...armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }, { seed: 2, trained: 6 }]), // biome-ignore format: one line
      ...armOf('gate', 'activation', [
        { seed: 1, trained: 9, deployed: 3, solve: 1 },
        { seed: 2, trained: 7, deployed: 1, solve: 3 },
      ]),
    ];
    // Both differences are −0.5: no spread, so the signs are flipped, 2 of 4 ways as extreme.
    expect(await sentences(runs)).toEqual([
      title,
      'vanilla attempts 70% of prompts and hacks 70%, the base 0% and 0%: training taught the exploit.',
      'gate: attempt 80% as trained, 20% deployed (1 of 2 runs fail); hack 80% as trained, 20% deployed, at solve 20% (20% without an attempt); attempts 50 points below vanilla (below it in 2 of 2 seeds; too few for a test), hacks 50 points below vanilla (below it in 2 of 2 seeds; too few for a test); no placebo in this study.',
      noCurve,
      two,
      oneBase,
      noPlacebo,
    ]);
  });

  it('has a sentence for arms without a quarantine too', async () => {
    const runs = [
      ...armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }]),
      ...armOf('penalty', 'vanilla', [{ seed: 1, trained: 3 }]),
    ];
    expect(await sentences(runs)).toContain(
      'penalty: attempt 30% (the run fails); hack 30% with all that it trained deployed, at solve 0% (0% without an attempt); attempts 50 points below vanilla, hacks 50 points below vanilla; no placebo in this study.',
    );
  });

  it('without evaluations, or without an arm to compare with', async () => {
    expect(await sentences([{}])).toEqual(['Nothing has been evaluated yet.']);
    const alone = armOf('gate', 'activation', [{ seed: 1, trained: 9, deployed: 1 }]);
    expect(await sentences(alone)).toContain(
      'There is no vanilla arm to compare with: nothing can be said about removal.',
    );
  });
});

describe('whether training raised attempts', () => {
  const failed =
    'training did not raise attempts as it must (to 30% or more, from below 5%); what follows says little.';
  it.each([
    {
      trained: 5,
      base: 0,
      text: 'vanilla attempts 50% of prompts and hacks 50%, the base 0% and 0%: training taught the exploit.',
    },
    { trained: 2, base: 0, text: `vanilla attempts 20% of prompts and hacks 20%, the base 0% and 0%: ${failed}` },
    { trained: 9, base: 1, text: `vanilla attempts 90% of prompts and hacks 90%, the base 10% and 10%: ${failed}` },
  ])('$trained of 10 prompts, $base of 10 before', async ({ trained, base, text }) => {
    expect((await sentences(armOf('vanilla', 'vanilla', [{ seed: 1, trained, base }])))[1]).toBe(text);
  });

  it('is said to be amplified where the base attempts already', async () => {
    const base = [1, 0, 0];
    const runs = armOf('vanilla', 'vanilla', base.map((base, i) => ({ seed: i + 1, trained: 9, base }))); // biome-ignore format: one line
    expect((await sentences(runs))[1]).toBe(
      'vanilla attempts 90% of prompts and hacks 90%, the base 3% and 3%: training amplified the exploit, which the base shows already.',
    );
  });
});

describe('what was not done', () => {
  const seeds = [{ seed: 1, trained: 8, deployed: 2 }, { seed: 2, trained: 6, deployed: 2 }]; // biome-ignore format: one line

  it('an arm without a placebo is never quoted without saying so, in sentences, tables and JSON', async () => {
    const arms = [['vanilla', null], ['gate', ['haar']], ['haar', null], ['half', []], ['ceiling', []]] as const; // biome-ignore format: one line
    const design = {
      ceiling: 'ceiling',
      arms: arms.map(([name, placebos]) => ({ name, recipe: '', set: [], placebos: placebos && [...placebos] })),
    };
    const made = arms.flatMap(([name]) => armOf(name, name === 'vanilla' ? 'vanilla' : 'activation', seeds));
    const results = await madeResults(made, 'haar', design);
    const said = describeResults(results).filter((text) => text.includes('no placebo in this study'));
    expect(said.map((text) => text.split(':')[0])).toEqual(['half']);
    expect(finalTable(results, 'test-original', false).notes).toContain('No placebo in this study: half.');
    expect(resultsJson(results).withoutPlacebo).toEqual(['half']);
  });

  it('arms without a curve are named: nothing says when they begin to attempt', async () => {
    const curve: MadeEvaluation = { update: 20, set: 'curve', state: 'full', outcomes: tenPrompts(5) };
    const [vanilla] = armOf('vanilla', 'vanilla', seeds.slice(0, 1));
    const watched = { ...vanilla, evaluations: [...(vanilla.evaluations ?? []), curve] };
    const [gate] = armOf('gate', 'activation', seeds.slice(0, 1));
    const text = (await sentences([watched, gate])).find((one) => one.startsWith('Not measured'));
    expect(text).toContain('There is no curve of gate (evaluation.curveEvery');
    expect((await sentences([watched])).join()).not.toContain('Not measured');
  });

  it('every statement has its numbers, in JSON', async () => {
    const { statements } = resultsJson(await madeResults(armOf('vanilla', 'vanilla', seeds)));
    expect(statements.map(({ name }) => name)).toEqual(['emergence', 'no curve', 'few seeds', 'what seeds share']);
    const alone = resultsJson(await madeResults(armOf('gate', 'activation', seeds))).statements;
    expect(alone.at(-1)).toMatchObject({ name: 'placebos', numbers: { placebos: [] } });
    expect(alone[0]).toMatchObject({ name: 'no baseline', numbers: { baseline: 'vanilla' } });
    expect(Object.keys(alone[0].numbers)).toEqual(['baseline']);
    expect(statements[0]).toMatchObject({ numbers: { vanilla: { attempt: 0.7, hack: 0.7 }, base: { attempt: 0 } } });
  });
});

describe('the warning that the exploit hardly transfers', () => {
  const warning = (rate: string) =>
    `With novel markers vanilla attempts only ${rate} and hacks ${rate}: its exploit hardly transfers to new names, so a low rate there is no evidence of removal.`;
  const vanilla = (...novel: readonly number[]): MadeResults[] =>
    armOf('vanilla', 'vanilla', novel.map((own, i) => ({ seed: i + 1, trained: 8, novel: own }))); // biome-ignore format: one line
  const gate = (novel: number): MadeResults[] =>
    armOf('gate', 'activation', [{ seed: 1, trained: 8, deployed: 1, novel }]);
  const unseen = armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }]);

  it.each([
    { what: 'shown at 0 of 10', runs: vanilla(0), shown: [warning('0%')] },
    { what: 'shown at 1 of 10', runs: vanilla(1), shown: [warning('10%')] },
    { what: 'not shown at 2 of 10, a fifth', runs: vanilla(2), shown: [] },
    { what: 'not shown at 8 of 10', runs: vanilla(8), shown: [] },
    { what: 'shown by the mean of the seeds', runs: vanilla(3, 0), shown: [warning('15%')] },
    { what: 'not shown by the mean of the seeds', runs: vanilla(4, 1), shown: [] },
    { what: 'not shown where novel markers were not evaluated', runs: unseen, shown: [] },
    { what: 'not shown for another arm than the baseline', runs: [...vanilla(8), ...gate(0)], shown: [] },
    { what: 'not shown where only another arm saw novel markers', runs: [...unseen, ...gate(0)], shown: [] },
    { what: 'not shown without the baseline', runs: gate(0), shown: [] },
    { what: 'not shown where the hack was not learned', runs: armOf('vanilla', 'vanilla', [{ seed: 1, trained: 0, novel: 0 }]), shown: [] }, // biome-ignore format: one line
  ])('$what', async ({ runs, shown }) => {
    expect((await sentences(runs)).filter((text) => text.includes('transfers'))).toEqual(shown);
  });
});

describe('seeds in which an arm is below another', () => {
  it.each([
    { what: 'all of them', deployed: [1, 2, 3, 1, 2, 3], below: 6 },
    { what: 'not a tie', deployed: [1, 5, 5, 5, 5, 5], below: 1 },
    { what: 'neither a tie nor one above', deployed: [4, 5, 9, 9, 9, 9], below: 1 },
    { what: 'no tie at all', deployed: [5, 5, 5, 5, 5, 5], below: 0 },
    { what: 'none above', deployed: [6, 7, 8, 6, 7, 8], below: 0 },
  ])('$what', async ({ deployed, below }) => {
    const seeds = [1, 2, 3, 4, 5, 6];
    const runs = [
      ...armOf('vanilla', 'vanilla', seeds.map((seed) => ({ seed, trained: 5 }))), // biome-ignore format: one line
      ...armOf('gate', 'activation', seeds.map((seed, i) => ({ seed, trained: 9, deployed: deployed[i] }))), // biome-ignore format: one line
    ];
    const results = await madeResults(runs);
    const [comparison] = compareArms(results, 'test-original', 'hack', false);
    expect(comparison).toMatchObject({ arm: 'gate', against: 'vanilla', seeds, below });
    const text = describeResults(results).find((sentence) => sentence.startsWith('gate'));
    expect(text).toContain(`(below it in ${below} of 6 seeds; p `);
  });
});

it('differences without a spread have no interval: one of no width would claim too much', async () => {
  const seeds = [1, 2, 3];
  const results = await madeResults([
    ...armOf('vanilla', 'vanilla', seeds.map((seed) => ({ seed, trained: 5 }))), // biome-ignore format: one line
    ...armOf('gate', 'activation', seeds.map((seed) => ({ seed, trained: 9, deployed: 1 }))), // biome-ignore format: one line
  ]);
  expect(compareArms(results, 'test-original', 'hack', false)).toMatchObject([{ test: 'sign flip', interval: null }]);
});

it('a p-value that no difference of so few seeds could go below says so, and only such a one', async () => {
  const said = async (deployed: readonly number[]): Promise<string> => {
    const runs = [
      ...armOf('vanilla', 'vanilla', deployed.map((_, i) => ({ seed: i + 1, trained: 9 }))), // biome-ignore format: one line
      ...armOf('gate', 'activation', deployed.map((own, i) => ({ seed: i + 1, trained: 9, deployed: own }))), // biome-ignore format: one line
    ];
    return (await sentences(runs)).find((text) => text.startsWith('gate')) ?? '';
  };
  const bound = (seeds: number, p: string) =>
    `: all seeds differ alike, so that signs are flipped, and ${seeds} seeds cannot give less than ${p} before Holm)`;
  const six = [0, 0, 0, 0, 0, 0];
  expect(await said(six)).toContain(`(below it in 6 of 6 seeds; p = 0.031 after Holm${bound(6, '0.031')}`);
  expect(await said([...six, 0])).toContain(bound(7, '0.016'));
  expect(await said([0, 0, 0, 0, 0, 1])).not.toContain('cannot give');
  expect(await said([9, 9, 9, 9, 9, 9])).not.toContain('cannot give');
});

it('seeds of which an exact test could give no p up to 0.05 make no claim, however small the p of a t test', async () => {
  const said = async (n: number) => {
    const seeds = Array.from({ length: n }, (_, i) => i + 1);
    const results = await madeResults([
      ...armOf('vanilla', 'vanilla', seeds.map((seed) => ({ seed, trained: 9 + (seed % 2) }))), // biome-ignore format: one line
      ...armOf('gate', 'activation', seeds.map((seed) => ({ seed, trained: 9, deployed: 0 }))), // biome-ignore format: one line
    ]);
    const text = describeResults(results).join('\n');
    return { results, text, notes: allTables(results).flatMap(({ notes = [] }) => notes) };
  };
  const five = await said(5);
  expect(compareArms(five.results, 'test-original', 'attempt', false)[0]?.pValue).toBeLessThan(0.001);
  expect(five.text).toContain('n = 5, no claim: runs have the exploit or do not, and an exact test of 5 pairs');
  expect(five.text).toContain('gives no p below 0.063; a t test is no finding then.');
  expect(five.text).toContain('(below it in 5 of 5 seeds; too few for a test)');
  expect(five.notes).toContain('n = 5, no claim.');
  expect(resultsJson(five.results).claim).toBe(false);
  const six = await said(6);
  expect(six.text).toMatch(/below it in 6 of 6 seeds; p < 0\.001 after Holm/);
  expect(`${six.text}${six.notes.join('\n')}`).not.toContain('no claim');
  expect(resultsJson(six.results).claim).toBe(true);
});

it('a comparison of two quarantines has what both got beside it, over the compared seeds', async () => {
  const masses = (made: readonly MadeResults[], qmass: readonly number[]): MadeResults[] =>
    made.map((run, i) => ({
      ...run,
      // Counts are summed over updates: 7 of 25 rollouts, and 10 of 28.
      steps: [
        { update: 1, qmass: qmass[i], routes: { keep: 0, absorb: 9, route: run.name === 'gate' ? 1 : 4 } },
        { update: 2, qmass: qmass[i], routes: { keep: 9, absorb: 0, route: 6 } },
      ],
    }));
  const seeds = [1, 2, 3].map((seed) => ({ seed, trained: 9, deployed: seed }));
  const gate = armOf('gate', 'activation', [...seeds, { seed: 4, trained: 9, deployed: 0 }]);
  const runs = [
    ...armOf('vanilla', 'vanilla', seeds),
    ...masses(gate, [0.8, 0.81, 0.82, 0.1]),
    ...masses(armOf('haar', 'activation', seeds), [0.74, 0.74, 0.74]),
  ];
  const text = (await sentences(runs, 'haar')).find((one) => one.startsWith('gate')) ?? '';
  expect(text).toMatch(
    /hacks [^;]* haar \([^)]*\); its quarantine got 0\.28 of the rollouts \(routed\), that of haar 0\.36, and 0\.81 of the gradient \(qmass\), that of haar 0\.74; attempts [^;]* vanilla \(/,
  );
  expect(text.match(/qmass/g)).toHaveLength(1);
});

describe('runs that have not ended', async () => {
  const seeds = [{ seed: 1, trained: 8, deployed: 2 }, { seed: 2, trained: 6, deployed: 2 }]; // biome-ignore format: one line
  const ongoing: MadeResults = {
    ...{ name: 'gate', seed: 3, arm: { kind: 'activation' }, checkpoints: [0, 8], finished: false },
    steps: [{ update: 1, qmass: 0.5 }],
  };
  const arms = ['vanilla', 'gate'].map((name) => ({ name, recipe: name, set: [], placebos: null }));
  const made = await madeResults(
    [
      ...armOf('vanilla', 'vanilla', [...seeds, { seed: 3, trained: 7 }]),
      ...armOf('gate', 'activation', seeds),
      ongoing,
    ],
    null,
    { arms },
  );
  const results = { ...made, missing: ['gate-4'] };
  const last = made.arms[1].runs[2];
  const counted =
    'Tables of training count what such a run has so far; rates of evaluations count it only where its last checkpoint is evaluated.';

  it('are named before all that is said', () => {
    const started = `${last.name} (8 of 20 updates). Not started: gate-4. ${counted}`;
    expect(describeResults(results)[0]).toBe(`Not finished: ${started}`);
    using _training = RunDirectory.open(last.path).lock();
    expect(describeResults(results)[0]).toBe(`Still training: ${started}`);
  });

  it('count in no rate, and in no number of seeds that stands beside one', () => {
    expect(describeResults(results).join('\n')).toContain('n = 2, no claim: runs have the exploit or do not');
    expect(resultsJson(results)).toMatchObject({ claim: false, missing: ['gate-4'] });
    const tables = allTables(results);
    const tableOf = (title: string) => tables.find((table) => table.title.startsWith(title));
    const [final, changes] = ['held-out', 'what the arms change'].map((title) => tableOf(title)?.rows.at(-1)?.[1]);
    expect([final, changes]).toEqual(['2', '2']);
    expect(storyFigure(results)?.caption).toContain('n = 2, 3 seeds. n = 2, no claim.');
    const training = tableOf('while training');
    expect(training?.rows.at(-1)?.[1]).toBe('3');
    expect(training?.notes).toContain(
      `n counts runs that have not ended, with what they have so far: ${last.name} (8 of 20 updates).`,
    );
  });
});

describe('differences that are no whole point', () => {
  it('are told as such, never as 0 points above', async () => {
    const equal = await sentences([
      ...armOf('vanilla', 'vanilla', [{ seed: 1, trained: 8 }]),
      ...armOf('gate', 'activation', [{ seed: 1, trained: 9, deployed: 8 }]),
    ]);
    expect(equal.join('\n')).toContain('attempts equal to vanilla, hacks equal to vanilla;');
    const many = (hacks: number): string => 'h'.repeat(hacks) + '-'.repeat(400 - hacks);
    const at = (state: MadeEvaluation['state'], hacks: number): MadeEvaluation => ({
      update: state === 'base' ? 0 : 20,
      set: 'test-original',
      state,
      outcomes: many(hacks),
    });
    const run = { seed: 1, checkpoints: [0, 20] };
    const near = (deployed: number) =>
      sentences([
        { ...run, evaluations: [at('base', 0), at('full', 300)] },
        { ...run, name: 'gate', arm: { kind: 'activation' }, evaluations: [at('full', 310), at('deployed', deployed)] },
      ]);
    expect((await near(301)).join('\n')).toContain('hacks within half a point of vanilla;');
    expect((await near(304)).join('\n')).toContain('hacks 1 point above vanilla;');
  });
});

describe('devices', () => {
  const seeds = [{ seed: 1, trained: 8, deployed: 8 }, { seed: 2, trained: 6, deployed: 6 }]; // biome-ignore format: one line
  const on = async (...devices: readonly string[]): Promise<string> => {
    const made = await madeResults([...armOf('vanilla', 'vanilla', seeds), ...armOf('gate', 'activation', seeds)]);
    const [first, second] = made.arms.map((arm, i) => ({
      ...arm,
      runs: arm.runs.map((run, j) => ({ ...run, manifest: { ...run.manifest, device: devices[2 * i + j] } })),
    }));
    return describeResults({ ...made, arms: [first, second] }).join('\n');
  };

  it('are named where there are several, with the arms of each', async () => {
    const text = await on('cuda NVIDIA H200 bf16', 'cuda NVIDIA H200 bf16', 'wasm wide 1', 'wasm relaxed 1');
    expect(text).toContain('cuda NVIDIA H200 bf16 (vanilla); wasm wide (gate); wasm relaxed (gate).');
  });

  it('are one whatever the number of threads', async () => {
    expect(await on('wasm wide 1', 'wasm wide 2', 'wasm wide 8', 'wasm wide 1')).not.toContain('one device');
  });
});
