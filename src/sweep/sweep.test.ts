import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeRun } from '../../test/lab/hand-made.ts';
import { sealRun } from '../oracle/verdicts.ts';
import { writeExperiment } from './directory.ts';
import { WorkEstimate } from './estimate.ts';
import { checkExperiment, planExperiment, readExperiment } from './experiment.ts';
import { type ExperimentWorker, runExperiment } from './run-experiment.ts';

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
  it('is arms × seeds, seeds outside, each with its own changes', () => {
    const path = join(recipeFolder(), 'both.toml');
    const { runs } = planExperiment(readExperiment(path), path, ['sampling.group=4']);
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
    const plan = planExperiment(readExperiment(path), path);
    await expect(writeExperiment(directory, plan)).rejects.toThrow('vanilla-3 with the config it was started with');
  });
});

describe('running one', () => {
  const path = join(recipeFolder(), 'both.toml');
  const plan = planExperiment(readExperiment(path), path);

  async function finish(runPath: string): Promise<void> {
    mkdirSync(runPath, { recursive: true });
    await sealRun(await writeRun(runPath, { rollouts: [{ update: 1 }] }));
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
    };
    const end = await runExperiment(plan, directory, () => worker);
    expect(end).toEqual({ end: 'interrupted', tripped: [], failed: [] });
    expect(done).toEqual([
      'train vanilla-3',
      'evaluate vanilla-3 beside 3',
      'evaluate gate-3 beside 3',
      'train vanilla-4',
      'evaluate vanilla-4 beside 3',
      'train gate-4',
    ]);
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
