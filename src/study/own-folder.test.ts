import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { shippedRecipe } from '../run/index.ts';
import { findExperiment, writeExperiment } from './directory.ts';
import { checkExperiment, type ExperimentPlan, planExperiment } from './experiment.ts';

const recipes = temporaryFolder();
writeFileSync(join(recipes, 'base.toml'), 'updates = 7\n');
writeFileSync(join(recipes, 'gate.toml'), 'extends = "base.toml"\n[arm]\nkind = "activation"\n');

const arms = [
  { name: 'vanilla', recipe: 'base.toml' },
  { name: 'gate', recipe: 'gate.toml' },
];

/** A plan of these seeds, after changes to the experiment and to every config. */
function plan(seeds: number[], settings: string[] = [], changes: object = {}): Promise<ExperimentPlan> {
  const experiment = checkExperiment({ name: 'both', seeds, arms, ...changes }, 'both.toml');
  return planExperiment(experiment, join(recipes, 'both.toml'), settings);
}

async function begun(directory: string, made: ExperimentPlan): Promise<void> {
  await writeExperiment(directory, made);
  for (const { folder, config } of made.runs) await writeRun(join(directory, folder), { config });
}

describe('the folder of an experiment', () => {
  it('knows the file that it was planned from, seen from here, and what the call changed', async () => {
    const directory = join(temporaryFolder(), 'new');
    const made = await plan([1], ['updates=3']);
    await writeExperiment(directory, made);
    const own = { recipe: relative(process.cwd(), join(recipes, 'both.toml')), set: ['updates=3'], out: directory };
    const again = () => findExperiment(directory).again;
    writeFileSync(join(recipes, 'both.toml'), '');
    expect(again()).toEqual(own);
    await writeExperiment(directory, { ...made, again: undefined });
    expect(again()).toEqual(own);
    await writeExperiment(directory, { ...made, again: null });
    expect(again()).toBe(null);
    await writeExperiment(directory, { ...made, again: { recipe: shippedRecipe('micro-claim'), set: [] } });
    expect(again()).toEqual({ recipe: 'micro-claim', set: [], out: directory });
  });

  it('takes more seeds of the same arms', async () => {
    const directory = join(temporaryFolder(), 'new');
    await begun(directory, await plan([1]));
    await writeExperiment(directory, await plan([2, 3]));
    expect(findExperiment(directory)).toMatchObject({ runs: { length: 2 }, missing: { length: 4 } });
  });

  it('keeps what other calls planned or began, and their arms with their placebos', async () => {
    const directory = join(temporaryFolder(), 'parts');
    const made = await plan([1, 2], [], { placebo: null, arms: [arms[0], { ...arms[1], placebos: ['vanilla'] }] });
    /** One arm of the experiment, as a caller has it who leaves the others out of the design too. */
    const alone = (name: string): ExperimentPlan => ({
      experiment: { ...made.experiment, arms: made.experiment.arms.filter((arm) => arm.name === name) },
      runs: made.runs.filter(({ arm }) => arm === name),
    });
    const readDesign = () => findExperiment(directory).experiment?.arms;
    await Promise.all(['gate', 'vanilla'].map((name) => writeExperiment(directory, alone(name))));
    expect(
      findExperiment(directory)
        .missing.map((path) => basename(path))
        .sort(),
    ).toEqual(made.runs.map(({ folder }) => folder).sort());
    await begun(directory, alone('gate'));
    await writeExperiment(directory, alone('vanilla'));
    expect(findExperiment(directory)).toMatchObject({ runs: { length: 2 }, missing: { length: 2 } });
    expect(readDesign()).toContainEqual(expect.objectContaining({ name: 'gate', placebos: ['vanilla'] }));
  });

  it('goes on where an earlier call was killed while it wrote the plan', async () => {
    const directory = temporaryFolder();
    writeFileSync(join(directory, 'experiment.json.3e0e7d34.tmp'), '{');
    await writeExperiment(directory, await plan([1]));
    expect(findExperiment(directory)).toMatchObject({ missing: { length: 2 } });
  });

  it.each([
    [['updates=3', 'optimiser.learningRate=1e-2'], 'updates (7 and 3), '],
    [['updates=3', 'optimiser.learningRate=1e-2'], 'optimiser.learningRate ('],
    [['sampling.group=4'], 'sampling.group ('],
    [['adapter.rank=2'], 'adapter.rank ('],
    [['data.seed=5'], 'data.seed (1 and 5)'],
    [['device.kind=reference'], 'device.kind ("wasm" and "reference")'],
  ])('refuses seeds of other configs: %j', async (settings, named) => {
    const directory = temporaryFolder();
    await begun(directory, await plan([1]));
    const before = readdirSync(directory);
    const other = writeExperiment(directory, await plan([2], settings));
    await expect(other).rejects.toThrow('vanilla-2 with the config of vanilla-1');
    await expect(other).rejects.toThrow(named);
    const changes = settings.map((setting) => ` --set ${setting}`).join('');
    await expect(other).rejects.toThrow(`both.toml --seeds 2${changes} --out ${directory}-2`);
    expect(readdirSync(directory)).toEqual(before);
  });

  it('names the keys when a run itself would go on under another config', async () => {
    const directory = temporaryFolder();
    await begun(directory, await plan([1]));
    await expect(writeExperiment(directory, await plan([1], ['loss.clip=0.3']))).rejects.toThrow(
      /vanilla-1 with the config it was started with, found others at loss\.clip \(.* and 0\.3\)/,
    );
  });

  it('refuses another experiment, even with the same arms', async () => {
    const directory = temporaryFolder();
    await begun(directory, await plan([1]));
    await expect(writeExperiment(directory, await plan([2], [], { name: 'other' }))).rejects.toThrow(
      'found the experiment both. Choose another --out.',
    );
  });

  it('refuses other numbers of prompts for other seeds, and takes them for all', async () => {
    const directory = temporaryFolder();
    await begun(directory, await plan([1], [], { evaluation: { limit: 16 } }));
    const more = { evaluation: { limit: 64 } };
    await expect(writeExperiment(directory, await plan([2], [], more))).rejects.toThrow('evaluation.limit');
    await writeExperiment(directory, await plan([1, 2], [], more));
  });

  it('refuses a run, a folder of runs, a folder of anything else, and a file', async () => {
    const [run, runs, other, home] = [0, 1, 2, 3].map(temporaryFolder);
    await writeRun(run, {});
    await writeRun(join(runs, 'mine'), {});
    writeFileSync(join(other, 'notes.txt'), 'mine');
    const file = join(home, 'file');
    writeFileSync(file, 'mine');
    const made = await plan([1]);
    for (const [directory, found] of [
      [run, 'found a run'],
      [runs, 'found mine'],
      [other, 'found notes.txt'],
      [file, 'found a file'],
    ]) {
      await expect(writeExperiment(directory, made)).rejects.toThrow(found);
    }
    expect(existsSync(join(run, 'experiment.json'))).toBe(false);
    mkdirSync(join(home, 'empty'));
    await writeExperiment(join(home, 'empty'), made);
  });

  it('refuses a plan whose runs lie elsewhere, or under names that no folder has', async () => {
    const directory = join(temporaryFolder(), 'new');
    await writeExperiment(directory, await plan([1]));
    const file = join(directory, 'experiment.json');
    const stored = readFileSync(file, 'utf8');
    for (const folder of ['a\\u0000b', '../elsewhere', '.', '']) {
      writeFileSync(file, stored.replace('"folder": "gate-1"', `"folder": "${folder}"`));
      expect(() => findExperiment(directory)).toThrow('key runs.1.folder');
    }
  });

  it('takes a folder of shared runs that was emptied, or is a file now, as one that is gone', async () => {
    const [directory, shared] = [join(temporaryFolder(), 'new'), temporaryFolder()];
    await writeExperiment(directory, { ...(await plan([1])), from: [shared, join(recipes, 'base.toml')] });
    expect(findExperiment(directory)).toMatchObject({ missing: { length: 2 }, gone: { length: 2 } });
  });

  it('names folders that lost their manifest', async () => {
    const directory = temporaryFolder();
    await writeRun(join(directory, 'a'), {});
    mkdirSync(join(directory, 'b', 'checkpoints'), { recursive: true });
    mkdirSync(join(directory, 'figures'));
    expect(findExperiment(directory)).toMatchObject({ runs: { length: 1 }, damaged: [join(directory, 'b')] });
  });
});

describe('a baseline or placebo of an experiment', () => {
  it.each(['baseline', 'placebo'])('that is no arm of it is refused: %s', async (key) => {
    const raw = { name: 'both', seeds: [1], arms, [key]: 'vanila' };
    expect(() => checkExperiment(raw, 'both.toml')).toThrow(`${key}: one of vanilla, gate, found vanila`);
  });
});
