import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { UserError } from '../base/index.ts';
import { relearnFolders } from '../measure/index.ts';
import { sealRun } from '../oracle/verdicts.ts';
import { compareArms } from '../report/comparisons.ts';
import { readResults } from '../report/run-result.ts';
import { findExperiment, writeExperiment } from './directory.ts';
import { checkExperiment, type ExperimentPlan, planExperiment, readExperiment } from './experiment.ts';
import { failureOf } from './failures.ts';
import { WorkEstimate } from './rates.ts';
import { type ExperimentWorker, type JobEnd, runPlan, runSideBySide, runsLeft } from './run.ts';

function recipeFolder(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'base.toml'), 'updates = 7\n');
  writeFileSync(join(folder, 'gate.toml'), 'extends = "base.toml"\n[arm]\nkind = "activation"\n');
  writeFileSync(
    join(folder, 'both.toml'),
    'name = "both"\nseeds = [3, 4]\nset = ["updates=5"]\n[[arms]]\nname = "vanilla"\nrecipe = "base.toml"\n[[arms]]\nname = "gate"\nrecipe = "gate.toml"\nset = ["arm.tail=0.2"]\n',
  );
  return folder;
}

describe('an experiment', () => {
  it('is arms × seeds, seeds outside, each with its own changes', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const { runs } = await planExperiment(readExperiment(path), path, ['sampling.group=4']);
    expect(runs.map(({ folder }) => folder)).toEqual(['vanilla-3', 'gate-3', 'vanilla-4', 'gate-4']);
    const [, gate] = runs;
    expect(gate.config).toMatchObject({
      seed: 3,
      updates: 5,
      arm: { kind: 'activation', tail: 0.2 },
      sampling: { group: 4 },
    });
    expect(new Set(runs.map(({ configHash }) => configHash)).size).toBe(4);
  });

  it('names paths from its own folder, and settings from the working directory', async () => {
    const folder = recipeFolder();
    const path = join(folder, 'both.toml');
    const set = ['teacher.pool=pool.jsonl', 'environment={ partition = "split.json" }', 'pairs.file=hack'];
    const { runs } = await planExperiment({ ...readExperiment(path), set }, path, ['model=mine']);
    expect(runs[0].config.teacher.pool).toBe(join(folder, 'pool.jsonl'));
    expect(runs[0].config.environment.partition).toBe(join(folder, 'split.json'));
    expect(runs[0].config.pairs.file).toBe('hack');
    expect(runs[0].config.model).toBe(join(process.cwd(), 'mine'));
  });

  it('sets a key for every arm that a call gives another kind, whatever else an arm sets, but none that the file says of a kind', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const dataOf = async (...set: string[]) => {
      const { runs } = await planExperiment({ ...readExperiment(path), seeds: [3], set }, path, ['data.kind=easy']);
      return runs.map(({ config: { data } }) => [data.kind, data['problems']]);
    };
    const both = (problems: number) => [['easy', problems], ['easy', problems]]; // biome-ignore format: one line
    expect(await dataOf('data.problems=64')).toEqual(both(64));
    expect(await dataOf('data.kind=micro', 'data.problems=64', 'data.hardShare=0.1')).toEqual(both(1024));
    const part = planExperiment(
      { ...readExperiment(path), arms: [...readExperiment(path).arms, { name: 'own', recipe: 'base.toml', set: ['monitor.kind=direction', 'remedy.kind=route'], placebos: null }] }, // biome-ignore format: one line
      path,
      ['monitor.placeboSeed=3'],
      { arms: ['own'] },
    );
    await expect(part).rejects.toThrow('placeboSeed: expected nothing, since no part reads it');
  });

  it('may be a product of monitors, cuts and remedies, and is refused whole where two of them do not fit', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const plan = (keys: object) => {
      const grid = {
        arms: ['by'],
        keys: { 'cut.kind': ['otsu', 'fixed'], 'remedy.kind': ['screen', 'route'], ...keys },
      };
      const arms = [{ name: 'by', recipe: 'base.toml' }];
      return planExperiment(checkExperiment({ name: 'x', seeds: [1], arms, grid }, path), path);
    };
    const { runs } = await plan({ 'monitor.kind': ['direction', 'probe'] });
    expect(runs.map(({ arm }) => arm)).toEqual(
      ['otsu', 'fixed'].flatMap((cut) =>
        ['screen', 'route'].flatMap((remedy) => [`by-${cut}-${remedy}-direction`, `by-${cut}-${remedy}-probe`]),
      ),
    );
    expect(runs.at(-1)?.config.arm).toMatchObject({
      kind: 'watched',
      monitor: { kind: 'probe' },
      cut: { kind: 'fixed' },
      remedy: { kind: 'route' },
    });
    await expect(plan({ 'monitor.kind': ['direction', 'chance'] })).rejects.toThrow(
      ' cut.kind: expected a fixed cut with the monitor chance, whose scores are 0 or 1',
    );
  });

  it('has no arm twice under two names, and no seeds but its own', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const raw = { name: 'x', seeds: [1], arms: [{ name: 'vanilla', recipe: 'base.toml' }] };
    const plan = (changes: object, settings: readonly string[] = []) =>
      planExperiment(checkExperiment({ ...raw, ...changes }, path), path, settings);
    const grid = (keys: object) => ({ grid: { arms: ['vanilla'], keys }, baseline: 'vanilla-4' });
    const swept = grid({ 'adapter.rank': [4, 8] });
    expect((await plan(swept)).runs).toHaveLength(2);
    await expect(plan(swept, ['adapter.rank=2'])).rejects.toThrow('found vanilla-4 and vanilla-8 with the same one');
    await expect(plan(grid({ seed: [4, 8] }))).rejects.toThrow('--seeds, and none among the changes');
    await expect(plan({}, ['seed=9'])).rejects.toThrow('found seed=9');
  });

  it('is refused where a point of its curve has no checkpoint, since what was not saved is gone', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const plan = (curveEvery: number, ...settings: string[]) => {
      const evaluation = { ...readExperiment(path).evaluation, curveEvery };
      return planExperiment({ ...readExperiment(path), evaluation }, path, settings);
    };
    await expect(plan(20, 'updates=60', 'output.checkpointEvery=30')).rejects.toThrow(
      /output\.checkpointEvery: a divisor of evaluation\.curveEvery, which is 20.* found 30 in the arm vanilla, .* without update 20, 40\. .*--set output\.checkpointEvery=20,/,
    );
    await expect(plan(20, 'updates=40', 'output.checkpointEvery=30')).rejects.toThrow('without update 20.');
    // The last update is always saved, and a curve that has no point before it, or none at all, loses nothing.
    await plan(20, 'updates=20', 'output.checkpointEvery=30');
    await plan(20, 'updates=60', 'output.checkpointEvery=5');
    await plan(0, 'updates=60', 'output.checkpointEvery=30');
  });

  it.each([
    [{ name: 'x', seeds: [], arms: [{ name: 'a', recipe: 'r' }] }, 'seeds'],
    [{ name: 'x', seeds: [1, 1], arms: [{ name: 'a', recipe: 'r' }] }, 'one of them twice'],
    [{ name: 'x', seeds: [1], arms: [] }, 'arms'],
    [
      {
        name: 'x',
        seeds: [1],
        arms: [
          { name: 'a', recipe: 'r' },
          { name: 'a', recipe: 's' },
        ],
      },
      'a twice',
    ],
    [{ name: '../x', seeds: [1], arms: [{ name: 'a', recipe: 'r' }] }, 'lower-case letters'],
    [{ name: 'x', seeds: [1], arms: [{ name: 'a', recipe: 'r' }], typo: 1 }, 'typo'],
  ])('refuses %j', (raw, complaint) => {
    expect(() => checkExperiment(raw, 'x.toml')).toThrow(complaint);
  });

  it('refuses to go on with other configs than its runs were started with', async () => {
    const path = join(recipeFolder(), 'both.toml');
    const directory = temporaryFolder();
    await writeRun(join(directory, 'vanilla-3'), { config: { updates: 99 } });
    const plan = await planExperiment(readExperiment(path), path);
    await expect(writeExperiment(directory, plan)).rejects.toThrow('vanilla-3 with the config it was started with');
  });
});

describe('an experiment in parts', () => {
  const path = join(recipeFolder(), 'both.toml');
  let plan: ExperimentPlan;
  beforeAll(async () => {
    plan = await planExperiment(readExperiment(path), path);
  });
  const only = (...folders: string[]) => ({
    ...plan,
    runs: plan.runs.filter(({ folder }) => folders.includes(folder)),
  });
  const start = (directory: string, folder: string) => {
    const [{ config }] = plan.runs.filter((run) => run.folder === folder);
    return writeRun(join(directory, folder), { config, checkpoints: [0, 5] });
  };

  it('keeps in its plan what was planned earlier, and names what is not started', async () => {
    const directory = temporaryFolder();
    await writeExperiment(directory, only('vanilla-3', 'gate-3'));
    await start(directory, 'gate-3');
    await writeExperiment(directory, only('gate-4'));
    expect(findExperiment(directory)).toMatchObject({
      runs: [{ path: join(directory, 'gate-3'), arm: 'gate' }],
      missing: ['vanilla-3', 'gate-4'].map((folder) => join(directory, folder)),
    });
    expect(findExperiment(directory).again).not.toHaveProperty('arms');
    const some = temporaryFolder();
    await writeExperiment(some, only('gate-4'));
    expect(findExperiment(some).again).toMatchObject({ arms: ['gate'] });
  });

  it('has results while it is unfinished: seeds that both arms have are compared', async () => {
    const directory = temporaryFolder();
    await writeExperiment(directory, plan);
    const set = 'test-original' as const;
    for (const [folder, outcomes] of [
      ['vanilla-3', 'hhh-'],
      ['vanilla-4', 'hh--'],
      ['gate-3', 'h---'],
    ]) {
      await start(directory, folder);
      const state = folder.startsWith('gate') ? ('deployed' as const) : ('full' as const);
      await writeEvaluations(join(directory, folder), [{ update: 5, set, state, outcomes }]);
    }
    const { runs, missing } = findExperiment(directory);
    expect(missing).toEqual([join(directory, 'gate-4')]);
    const source = { name: 'x', baseline: 'vanilla', placebo: 'haar', arms: ['vanilla', 'gate'] };
    const [comparison] = compareArms(await readResults(directory, { ...source, runs }), set, 'hack', false);
    expect(comparison).toMatchObject({ arm: 'gate', against: 'vanilla', seeds: [3], difference: -0.5, pValue: null });
  });
});

describe('side by side', () => {
  const path = join(recipeFolder(), 'both.toml');
  let plan: ExperimentPlan;
  beforeAll(async () => {
    plan = await planExperiment(readExperiment(path), path);
  });

  const alone = [[0], [1], [2], [3]];
  const one = (index: number, end: JobEnd) => new Map([[index, end]]);

  it('never has more at a time than it may, in the order of the plan; a failure leaves the others alone', async () => {
    const started: number[] = [];
    let [now, most] = [0, 0];
    const end = await runSideBySide(plan, alone, 2, new AbortController().signal, async ([index], slot) => {
      started.push(index);
      now++;
      most = Math.max(most, now);
      expect(slot).toBeLessThan(2);
      await new Promise((resolve) => setTimeout(resolve, 5 * (1 + slot)));
      now--;
      if (index === 1) return one(index, { end: 'failed', detail: 'no reason' });
      return one(index, { end: index === 2 ? 'tripwire' : 'finished', detail: '' });
    });
    expect(started).toEqual([0, 1, 2, 3]);
    expect(most).toBe(2);
    const failed = [{ folder: 'gate-3', detail: 'no reason' }];
    expect(end).toEqual({ end: 'finished', tripped: ['vanilla-4'], failed, held: [] });
  });

  it('starts nothing more once it is interrupted', async () => {
    const stop = new AbortController();
    const started: number[] = [];
    const end = await runSideBySide(plan, alone, 1, stop.signal, async ([index]) => {
      started.push(index);
      if (index === 1) stop.abort();
      return one(index, { end: index === 1 ? 'interrupted' : 'finished', detail: '' });
    });
    expect(started).toEqual([0, 1]);
    expect(end.end).toBe('interrupted');
  });
});

describe('running one', () => {
  const path = join(recipeFolder(), 'both.toml');
  let plan: ExperimentPlan;
  beforeAll(async () => {
    plan = await planExperiment(readExperiment(path), path);
  });

  async function finish(runPath: string): Promise<void> {
    mkdirSync(runPath, { recursive: true });
    await sealRun(await writeRun(runPath, { rollouts: [{ update: 1 }], checkpoints: [] }));
  }

  it('skips what is finished, evaluates everything, and stops when interrupted', async () => {
    const directory = temporaryFolder();
    await finish(join(directory, 'gate-3'));
    await writeRun(join(directory, 'vanilla-4'), { finished: false });
    const done: string[] = [];
    const worker: ExperimentWorker = {
      async train({ folder }) {
        done.push(`train ${folder}`);
        return folder === 'gate-4' ? 'interrupted' : 'finished';
      },
      async evaluate({ folder }, _path, _plan, siblings) {
        done.push(`evaluate ${folder} beside ${siblings.length}`);
        return 'finished';
      },
      async relearn({ folder }, _path, updates) {
        done.push(`relearn ${folder} in ${updates}`);
        return 'finished';
      },
    };
    const relearn = { arms: ['gate'], updates: 3 };
    const attacked = { ...plan, experiment: { ...plan.experiment, relearn } };
    const end = await runPlan(attacked, directory, {
      size: 1,
      signal: new AbortController().signal,
      workerOf: () => worker,
    });
    expect(end).toEqual({ end: 'interrupted', tripped: [], failed: [], held: [] });
    expect(done).toEqual([
      'train vanilla-3',
      'evaluate vanilla-3 beside 3',
      'evaluate gate-3 beside 3',
      'relearn gate-3 in 3',
      'train vanilla-4',
      'evaluate vanilla-4 beside 3',
      'train gate-4',
    ]);
  });

  it('is left as long as its attack is, though it is trained and evaluated', async () => {
    const directory = temporaryFolder();
    const evaluation = { ...plan.experiment.evaluation, sets: ['test-original' as const], scales: [], curveEvery: 0 };
    const relearn = { arms: ['gate'], updates: 3 };
    const attacked = { ...plan, experiment: { ...plan.experiment, evaluation, relearn } };
    for (const { folder, config } of attacked.runs.slice(0, 2)) {
      const path = join(directory, folder);
      await sealRun(await writeRun(path, { config, rollouts: [{ update: 1 }], checkpoints: [0, 5] }));
      const states = ['base', 'deployed', 'full'] as const;
      await writeEvaluations(
        path,
        states.map((state) => ({ update: state === 'base' ? 0 : 5, set: 'test-original', state, outcomes: 's' })),
      );
    }
    const left = async (made: ExperimentPlan) => (await runsLeft(made, directory)).map((i) => made.runs[i].folder);
    expect(await left(attacked)).toEqual(['gate-3', 'vanilla-4', 'gate-4']);
    await finish(relearnFolders(join(directory, 'gate-3')).attack);
    expect(await left(attacked)).toEqual(['vanilla-4', 'gate-4']);
  });
});

describe('a run that is refused', () => {
  const path = join(recipeFolder(), 'both.toml');
  const nothing = async () => 'finished' as const;

  /** Runs the experiment with a worker that cannot train one of its runs, and says which it trained. */
  async function withRefused(refused: string, error: Error, directory = temporaryFolder()) {
    const plan = await planExperiment(readExperiment(path), path);
    const [trained, told]: [string[], string[]] = [[], []];
    const worker: ExperimentWorker = {
      async train({ folder }) {
        if (folder === refused) throw error;
        trained.push(folder);
        return 'finished';
      },
      evaluate: nothing,
      relearn: nothing,
    };
    const end = runPlan(plan, directory, {
      size: 1,
      signal: new AbortController().signal,
      workerOf: () => worker,
      onEnd: (index, { end: how }) => {
        if (how === 'failed') told.push(plan.runs[index].folder);
      },
    });
    return { end: await end.catch(({ message }: Error) => message), trained, told };
  }
  const noPairs = new UserError({ call: 'generate pairs', expected: 'pairs', found: 'none' });

  it('does not stop the others, is told at once and named at the end', async () => {
    const failed = [{ folder: 'gate-3', detail: noPairs.message }];
    expect(await withRefused('gate-3', noPairs)).toEqual({
      end: { end: 'finished', tripped: [], failed, held: [] },
      trained: ['vanilla-3', 'vanilla-4', 'gate-4'],
      told: ['gate-3'],
    });
  });

  it('keeps what was said, until it is tried again', async () => {
    const directory = temporaryFolder();
    const said = () => ['vanilla-3', 'gate-3'].map((run) => failureOf(join(directory, run)));
    await withRefused('gate-3', noPairs, directory);
    expect(said()).toEqual([null, noPairs.message]);
    await withRefused('vanilla-3', new Error('the GPU fell off the bus\nsomewhere'), directory);
    expect(said()).toEqual(['Error: the GPU fell off the bus', noPairs.message]);
    await withRefused('nothing', noPairs, directory);
    expect(said()).toEqual([null, null]);
  });

  it.each([
    ['the first run', 'vanilla-3', noPairs, []],
    ['an error of the machine', 'gate-3', new Error('the GPU fell off the bus'), ['vanilla-3']],
  ])('%s ends the experiment', async (_, refused, error, trained) => {
    expect(await withRefused(refused, error)).toEqual({ end: error.message, trained, told: [] });
  });
});

describe('time left', () => {
  it('grows from what this process measured', () => {
    const estimate = new WorkEstimate(() => 0);
    expect(estimate.secondsLeft(10, 10)).toBeNull();
    estimate.addTraining(10, 20);
    expect(estimate.secondsLeft(10, 0)).toBe(20);
    expect(estimate.secondsLeft(0, 10)).toBeCloseTo(6, 12);
    estimate.addEvaluation(10, 50);
    expect(estimate.secondsLeft(10, 10)).toBe(70);
  });
});
