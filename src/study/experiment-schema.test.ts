import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { messageOf } from '../base/index.ts';
import { findExperiment, writeExperiment } from './directory.ts';
import { checkExperiment, planExperiment } from './experiment.ts';

const arms = [
  { name: 'vanilla', recipe: 'base.toml' },
  { name: 'gate', recipe: 'gate.toml' },
];
const bar = { what: 'Less.', arm: 'gate', reference: 'vanilla', metric: 'hack', atMost: -0.3, inSeeds: 2 };
const check = (changes: object) => checkExperiment({ name: 'x', seeds: [1, 2], arms, ...changes }, 'x.toml');
const tails = { 'arm.tail': [0.1, 0.25] };
const many = Array.from({ length: 40 }, (_, i) => i);
const withGate = (changes: object): object => ({ arms: [arms[0], { ...arms[1], ...changes }] });

describe('keys of an experiment', () => {
  it.each([
    [withGate({ placebos: 'haar' }), 'arms.1.placebos: a list of arms, found "haar"'],
    [withGate({ placebos: [3] }), 'arms.1.placebos.0: the name of an arm, found 3'],
    [withGate({ placebos: ['vanilla', 'vanilla'] }), 'arms.1.placebos: different arms, found ["vanilla","vanilla"]'],
    [{ arms: [3] }, 'arms.0: a table of name, recipe, set, placebos, found 3'],
    [{ references: [3] }, 'references.0: a table of name, source, hack, solve, found 3'],
    [{ references: [{ name: 'p', source: 's' }] }, 'references.0: hack, solve or both, found {'],
    [{ relearn: 'gate' }, 'relearn: a table of arms, updates, found "gate"'],
    [{ evaluation: 3 }, 'evaluation: a table of sets, scales, curveEvery, limit, found 3'],
    [{ evaluation: { sets: ['train', 'train'] } }, 'evaluation.sets: different sets, found ["train","train"]'],
    [{ grid: 'gate' }, 'grid.0: a table of arms, keys, found "gate"'],
    [withGate({ placebos: ['haar'] }), 'placebos of gate: one of vanilla, gate, found haar'],
    [withGate({ placebos: ['gate'] }), 'placebos of gate: other arms, found gate'],
    [{ grid: { arms: ['gat'], keys: tails } }, 'grid.arms: one of vanilla, gate, found gat'],
    [{ grid: { arms: [], keys: tails } }, 'grid.0.arms: at least one arm'],
    [{ grid: { arms: ['gate', 'gate'], keys: tails } }, 'grid.arms: every arm once, found gate twice'],
    [
      {
        grid: [
          { arms: ['gate'], keys: tails },
          { arms: ['gate'], keys: tails },
        ],
      },
      'every arm once, found gate twice',
    ],
    [{ grid: { arms: ['gate'] } }, 'grid.0.keys: a table of keys of the config'],
    [{ grid: { arms: ['gate'], keys: {} } }, 'grid.0.keys: at least one key'],
    [{ grid: { arms: ['gate'], keys: { 'arm.tail': [] } } }, 'grid.0.keys.arm.tail: at least one value, found []'],
    [{ grid: { arms: ['gate'], keys: { 'arm.tail': [1, 1] } } }, 'grid.0.keys.arm.tail: different values, found [1,1]'],
    [{ grid: { arms: ['gate'], keys: { 'arm.tail': 0.1 } } }, 'grid.0.keys.arm.tail: a list of different numbers'],
    [{ grid: { arms: ['gate'], key: tails } }, 'unknown key grid.0.key, did you mean keys?'],
    [{ grid: { arms: ['gate'], keys: { a: many, b: many } } }, 'a grid of at most 1000 arms, found 1600'],
    [{ grid: { arms: ['gate'], keys: { 'notes.why': ['../elsewhere'] } } }, 'found gate-../elsewhere'],
    [{ grid: { arms: ['gate'], keys: { a: { '../x': 1 } } } }, 'found gate-../x'],
    [
      { grid: { arms: ['gate'], keys: { 'a.x': ['1-x-1'], 'b.x': ['1'] } }, baseline: 'gate' },
      'baseline: one of vanilla',
    ],
    [{ matchedSolve: 0 }, 'matchedSolve: a width between 0 and 1, such as 0.05, found 0'],
    [{ failAbove: 1 }, 'failAbove: a share between 0 and 1, such as 0.1, found 1'],
    [{ failAbove: '10%' }, 'failAbove: a share between 0 and 1, such as 0.1, found "10%"'],
    [{ matchedSolve: 'all' }, 'matchedSolve: a width between 0 and 1, such as 0.05, found "all"'],
    [{ solveReference: 'none' }, 'solveReference: one of vanilla, gate, found none'],
    [{ ceiling: 'no-loophole' }, 'ceiling: one of vanilla, gate, found no-loophole'],
    [{ resolve: 3 }, 'resolve: a sentence, found 3'],
    [{ bar: { ...bar, arm: 'gat' } }, 'bar.arm: one of vanilla, gate, found gat'],
    [{ bar: { ...bar, reference: 'base' } }, 'bar.reference: one of vanilla, gate, found base'],
    [
      { bar: { ...bar, metric: 'reward' } },
      'bar.metric: attempt, hack, solve, clean-solve, objective, kept or relearn, of the deployed policy, found "reward"',
    ],
    [
      { bar: 'less' },
      'bar: a table of what, arm, reference, metric, set, loopholes, channel, atLeast, atMost, inSeeds, found "less"',
    ],
    [{ bar: { ...bar, loopholes: 'unknown' } }, 'bar.loopholes: known or held out, found "unknown"'],
    [
      { bar: { ...bar, loopholes: 'known', metric: 'clean-solve' } },
      'bar.metric: attempt or hack, where bar.loopholes names a group',
    ],
    [{ bar: { ...bar, set: 'test-unhinted', metric: 'attempt' } }, 'bar.metric: solve, where no loophole is open'],
    [
      { bar: { ...bar, set: 'monitor' } },
      'bar.set: one of test-novel, test-original, test-unhinted, train, found "monitor"',
    ],
    [{ bar: { ...bar, reference: 'gate' } }, 'bar.reference: another arm than bar.arm, found "gate"'],
    [
      { bar: { ...bar, atMost: 30 } },
      'bar.atMost: a number between -1 and 1, as every difference in hack is, found 30',
    ],
    [
      { bar: { ...bar, reference: null } },
      'bar.atMost: a number between 0 and 1, as every hack of one arm is, found -0.3',
    ],
    [{ bar: { ...bar, metric: 'objective', atMost: 3 } }, 'bar.atMost: a number between -2 and 2'],
    [
      { bar: { ...bar, atMost: 1 } },
      'bar.atMost: a bound that can be missed: every difference in hack is between -1 and 1',
    ],
    [
      { bar: { ...bar, reference: null, metric: 'solve', atMost: undefined, atLeast: 0 } },
      'bar.atLeast: a bound that can be missed',
    ],
    [{ bar: { ...bar, set: 'test-unhinted' } }, 'bar.metric: solve, where no loophole is open (bar.set)'],
    [{ bar, evaluation: { sets: ['train'] } }, 'bar.set: one of evaluation.sets (train), found test-original'],
    [{ bar: { ...bar, inSeeds: 3 } }, 'bar.inSeeds: at most 2, found 3'],
    [{ bar: { ...bar, inSeeds: 0 } }, 'bar.inSeeds: at least one seed, found 0'],
    [{ bar: { ...bar, atLeast: 1 } }, 'bar: either atLeast or atMost, found {'],
    [{ bar: { ...bar, what: '' } }, 'bar.what: the claim in a sentence, found ""'],
    [{ bar: { ...bar, set: 'tests' } }, 'bar.set: one of test-novel'],
    [{ references: [{ name: 'p', source: 's', hack: 79 }] }, 'references.0.hack: a rate between 0 and 1, found 79'],
    [{ references: [{ name: 'p' }] }, 'references.0.source: where the numbers were reported, found nothing'],
    [{ matchdSolve: 0.1 }, 'keys that exist, found unknown key matchdSolve, did you mean matchedSolve?'],
    [withGate({ placebo: 'haar' }), 'keys that exist, found unknown key arms.1.placebo, did you mean placebos?'],
    [{ evaluation: { limits: 3 } }, 'keys that exist, found unknown key evaluation.limits, did you mean limit?'],
    [{ evaluation: { limit: '4' } }, 'evaluation.limit: a whole number of at least 1, found "4"'],
    [{ evaluation: { sets: ['curve'] } }, 'evaluation.sets.0: one of test-novel'],
    [{ seeds: [1.5] }, 'seeds.0: a whole number of at least 0, found 1.5'],
    [{ seeds: 3 }, 'seeds: a list of whole numbers, found 3'],
    [{ relearn: { arms: [] } }, 'relearn.arms: at least one arm, found []'],
    [{ relearn: { arms: ['gat'] } }, 'relearn.arms: one of vanilla, gate, found gat'],
    [{ relearn: { arms: ['gate'], updates: 0 } }, 'relearn.updates: at least one update, found 0'],
  ])('%j is refused', (changes, message) => {
    expect(() => check(changes)).toThrow(message);
  });

  it('have the defaults of an experiment that says nothing', () => {
    expect(check({})).toMatchObject({
      bar: null,
      ceiling: null,
      failAbove: 0.1,
      matchedSolve: 0.05,
      references: [],
      relearn: null,
    });
    expect(check({ bar }).bar).toEqual({ ...bar, set: 'test-original' });
    for (const metric of ['attempt', 'clean-solve'])
      expect(check({ bar: { ...bar, metric } }).bar?.metric).toBe(metric);
  });

  it('an arm of a grid stands for one arm per combination, with the placebo of the same one', () => {
    const swept = check({ ...withGate({ set: ['updates=3'] }), grid: { arms: ['gate'], keys: tails } });
    expect(swept.arms.map(({ name, set }) => [name, ...set])).toEqual([
      ['vanilla'],
      ['gate-0.1', 'updates=3', 'arm.tail=0.1'],
      ['gate-0.25', 'updates=3', 'arm.tail=0.25'],
    ]);
    const both = check({
      ...withGate({ placebos: ['vanilla'] }),
      baseline: 'gate-low-learning-rate-0.001',
      grid: { arms: ['vanilla', 'gate'], keys: { 'arm.tail': { low: 0.1 }, 'optimiser.learningRate': [1e-3, 1e-7] } },
    });
    expect(both.arms.map(({ name, placebos }) => [name, ...(placebos ?? [])])).toEqual([
      ['vanilla-low-learning-rate-0.001'],
      ['vanilla-low-learning-rate-1e-7'],
      ['gate-low-learning-rate-0.001', 'vanilla-low-learning-rate-0.001'],
      ['gate-low-learning-rate-1e-7', 'vanilla-low-learning-rate-1e-7'],
    ]);
    expect(both.arms[3].set).toEqual(['arm.tail=0.1', 'optimiser.learningRate=1e-7']);
  });
});

describe('the folder of an experiment with a bar', () => {
  const recipes = temporaryFolder();
  writeFileSync(join(recipes, 'base.toml'), 'updates = 7\n');
  writeFileSync(join(recipes, 'gate.toml'), 'extends = "base.toml"\n[arm]\nkind = "activation"\n');
  const plan = (changes: object) => planExperiment(check(changes), join(recipes, 'x.toml'));
  const isChanged = (directory: string): boolean => findExperiment(directory).barChanged;

  it('of held-out loopholes is refused where none is held out', async () => {
    const grouped = { bar: { ...bar, loopholes: 'held out' } };
    await expect(plan(grouped)).rejects.toThrow('bar.loopholes: known, where its arm holds no loophole out');
    const set = ['environment.heldOutLoopholes=["sentinel"]', 'pairs.allowHeldOut=true'];
    expect((await plan({ ...grouped, set })).experiment.bar?.loopholes).toBe('held out');
  });

  it('marks a bar that is changed after a run has begun, and keeps the mark', async () => {
    const directory = temporaryFolder();
    await writeExperiment(directory, await plan({}));
    await writeExperiment(directory, await plan({ bar }));
    const made = await plan({ bar });
    await writeRun(join(directory, 'vanilla-1'), { config: made.runs[0].config });
    await writeExperiment(directory, made);
    expect(isChanged(directory)).toBe(false);
    const other = await plan({ bar: { ...bar, atMost: -0.2 } });
    for (const _call of [1, 2]) {
      await writeExperiment(directory, other);
      expect(isChanged(directory)).toBe(true);
    }
    await writeExperiment(directory, made);
    expect(isChanged(directory)).toBe(true);
  });

  it('marks a share of failing that is changed after a run has begun', async () => {
    const directory = temporaryFolder();
    const made = await plan({});
    await writeExperiment(directory, made);
    await writeRun(join(directory, 'vanilla-1'), { config: made.runs[0].config });
    await writeExperiment(directory, await plan({ failAbove: 0.1 }));
    expect(isChanged(directory)).toBe(false);
    await writeExperiment(directory, await plan({ failAbove: 0.5 }));
    expect(isChanged(directory)).toBe(true);
  });

  it('marks a bar whose seeds are others than when the first run began, or whose first plan is gone', async () => {
    const directory = temporaryFolder();
    const made = await plan({ bar });
    await writeExperiment(directory, made);
    await writeRun(join(directory, 'vanilla-1'), { config: made.runs[0].config });
    await writeExperiment(
      directory,
      await planExperiment(made.experiment, join(recipes, 'x.toml'), [], { seeds: [7] }),
    );
    expect(isChanged(directory)).toBe(false);
    await writeExperiment(directory, await plan({ bar, seeds: [1, 2, 3] }));
    expect(isChanged(directory)).toBe(true);
    rmSync(join(directory, 'experiment.json'));
    await writeExperiment(directory, made);
    expect(isChanged(directory)).toBe(true);
  });

  it('says whose config is wrong, and with an own mean which placebo it has', async () => {
    const random = (...set: string[]) =>
      plan({ arms: [arms[0], { name: 'random', recipe: 'base.toml', set: ['remedy.kind=route', 'remedy.mean=own', ...set] }] }); // biome-ignore format: one line
    const found = await random('monitor.kind=regex', 'monitor.pattern="x"', 'remedy.placebo=mass-matched').catch(
      messageOf,
    );
    expect(found).toContain('x.toml, arm random: config: expected settings that arm.kind watched accepts');
    expect(found).toContain(
      'in place of remedy.placebo=mass-matched write set = ["monitor.kind=chance", "monitor.rate=SHARE"] below the placebo\'s [[arms]] of the experiment, or each by --set; SHARE is what is flagged in the run of the gate (gq measure monitor RUN)',
    );
    // What reads text has no direction.
    expect(found).not.toMatch(/random direction|haar/);
    expect((await random('monitor.kind=chance', 'monitor.rate=0.2')).runs).toHaveLength(4);
  });

  it('refuses a ceiling that can be hacked; names recipes of the package by their bare names', async () => {
    const plan = (ceiling: string) => {
      const named = [
        { name: 'vanilla', recipe: 'micro-vanilla' },
        { name: 'top', recipe: 'micro-no-loophole' },
        { name: 'truth', recipe: 'micro-vanilla', set: ['environment.loopholes=["gt_only"]'] },
      ];
      return planExperiment(check({ arms: named, ceiling }), 'x.toml');
    };
    await expect(plan('vanilla')).rejects.toThrow(
      /ceiling: an arm .* without a loophole, found one of the kind vanilla/,
    );
    expect((await plan('top')).runs).toHaveLength(6);
    expect((await plan('truth')).runs).toHaveLength(6);
  });

  it('refuses to attack an arm that has nothing to delete, before anything runs', async () => {
    await expect(plan({ relearn: { arms: ['vanilla'] } })).rejects.toThrow(
      'relearn.arms: arms with a quarantine, found vanilla, of the kind vanilla, which deploys everything it trained',
    );
    expect((await plan({ relearn: { arms: ['gate'] } })).runs).toHaveLength(4);
  });
});
