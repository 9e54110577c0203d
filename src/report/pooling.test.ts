import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MadeEvaluation } from '../../test/lab/hand-made.ts';
import { evaluationRows, temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { plain } from '../../test/lab/plain.ts';
import { EvaluationStore } from '../evaluate/store.ts';
import { renderTable } from '../measure/table.ts';
import { RunDirectory } from '../run/index.ts';
import { findExperiment } from '../study/directory.ts';
import type { Results } from './aggregate.ts';
import { allTables } from './all-tables.ts';
import { readResults } from './run-result.ts';
import { comparisonTable, finalTable } from './tables.ts';

const set = 'test-original' as const;

function read(directory: string): Promise<Results> {
  const { runs, damaged } = findExperiment(directory);
  return readResults(directory, { name: null, baseline: null, placebo: 'haar', arms: [], runs, damaged });
}

interface Prompted extends Omit<MadeEvaluation, 'set'> {
  readonly limit?: number;
}

/** A run with evaluations on all its prompts, or on the first of them. */
async function make(path: string, config: object, evaluations: readonly Prompted[] = []): Promise<void> {
  await writeRun(path, { config: { updates: 20, ...config }, checkpoints: [0, 20] });
  const store = new EvaluationStore(path);
  for (const { limit = null, update, state, outcomes } of evaluations) {
    const rows = evaluationRows({ update, state, outcomes, set });
    await store.save({ update, set, state, limit, seed: 1, key: 'key', problems: null, rows });
  }
}

const vanilla = (outcomes: string, limit?: number): Prompted[] => [
  { update: 0, state: 'base', outcomes: '-'.repeat(outcomes.length), ...(limit === undefined ? {} : { limit }) },
  { update: 20, state: 'full', outcomes, ...(limit === undefined ? {} : { limit }) },
];

describe('seeds of one arm', () => {
  it.each([
    [{ optimiser: { learningRate: 1e-2 } }, 'optimiser.learningRate'],
    [{ updates: 3 }, 'updates (20 and 3)'],
    [{ adapter: { rank: 2 } }, 'adapter.rank'],
    [{ arm: { kind: 'activation', tail: 0.05 } }, 'arm.tail (0.3 and 0.05)'],
    [{ environment: { loopholes: ['sentinel'] } }, 'environment.loopholes'],
  ])('differ in nothing but the seed: %j is refused', async (change, named) => {
    const directory = temporaryFolder();
    const arm = { kind: 'activation', tail: 0.3 };
    await make(join(directory, 'a'), { seed: 1, arm });
    await make(join(directory, 'b'), { seed: 2, arm, ...change });
    await expect(read(directory)).rejects.toThrow(named);
    await expect(read(directory)).rejects.toThrow('expected runs that differ in the seed only');
  });

  it('are of the same weights, problems, pairs and plugins', async () => {
    const faults = ['model', 'problems', 'pairs', 'partition'].map((key) => ({ [key]: 'x'.repeat(64) }));
    for (const fault of [...faults, { usesOracle: true }, { armModels: { judge: 'x'.repeat(64) } }]) {
      const directory = temporaryFolder();
      await make(join(directory, 'a'), { seed: 1 });
      await make(join(directory, 'b'), { seed: 2 });
      expect((await read(directory)).arms[0].runs).toHaveLength(2);
      const run = RunDirectory.open(join(directory, 'b'));
      const { identity, ...manifest } = run.readManifest();
      const changed =
        'usesOracle' in fault
          ? { ...manifest, ...fault, identity }
          : { ...manifest, identity: { ...identity, ...fault } };
      await run.writeManifest(changed);
      await expect(read(directory)).rejects.toThrow('which differ in the');
    }
  });
});

it('a baseline that used labels is marked where arms without them are compared with it', async () => {
  const directory = temporaryFolder();
  await make(join(directory, 'a'), { seed: 1 }, vanilla('hhss'));
  await make(join(directory, 'b'), { seed: 1, arm: { kind: 'steer' } }, vanilla('hsss'));
  const compared = async () =>
    plain(comparisonTable(await read(directory), set, 'hack', false)).rows.map(([name]) => name);
  expect(await compared()).toEqual(['steer α 2 − vanilla']);
  const run = RunDirectory.open(join(directory, 'a'));
  await run.writeManifest({ ...run.readManifest(), usesOracle: true });
  expect(await compared()).toEqual(['steer α 2 − vanilla (uses labels)']);
});

describe('the prompts of a table', () => {
  it('are as many for the base as for the arm, though more are stored', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, [
      { update: 0, state: 'base', outcomes: 'h'.repeat(16) },
      ...vanilla('hhss', 4),
    ]);
    const text = renderTable(plain(finalTable(await read(directory), set, false)), 'text');
    expect(text).toContain('4 prompts a run');
    expect(text).toMatch(/base +1 +- +0\.00 \[0\.00, 0\.49\]/);
  });

  it('are the most that all runs have', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, [...vanilla('hhhhhhhh'), ...vanilla('hhs-', 4)]);
    await make(join(directory, 'b'), { seed: 2 }, vanilla('hss-', 4));
    const results = await read(directory);
    const rows = results.arms[0].runs.map(({ final }) => final[set]?.deployed?.length);
    expect(rows).toEqual([4, 4]);
    expect(renderTable(plain(finalTable(results, set, false)), 'text')).toContain('4 prompts a run');
  });

  it('are refused where runs have none in common, with a command that helps', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, vanilla('hhhhhhhh'));
    await make(join(directory, 'b'), { seed: 2 }, vanilla('hss-', 4));
    const [a, b] = [join(directory, 'a'), join(directory, 'b')];
    await expect(read(directory)).rejects.toThrow(
      `found ${a} on 8, ${b} on 4. Evaluate them alike, for example: gq eval ${a} --limit 4`,
    );
  });

  it('are not mixed between arms either', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, vanilla('hhhhhhhh'));
    const gate: Prompted[] = (['full', 'deployed'] as const).map((state) => ({
      update: 20,
      state,
      outcomes: 'hh',
      limit: 2,
    }));
    await make(join(directory, 'b'), { seed: 1, arm: { kind: 'activation' } }, gate);
    await expect(read(directory)).rejects.toThrow('the same number of prompts');
  });

  it('are not told for a set on which the last checkpoint was not evaluated', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, [{ update: 0, state: 'base', outcomes: 'hh' }]);
    const results = await read(directory);
    expect(results.sets).toEqual([]);
    expect(
      plain(allTables(results))
        .map((table) => renderTable(table, 'text'))
        .join(''),
    ).not.toContain('prompts a run');
  });

  it('come with the name of a run that is not finished', async () => {
    const directory = temporaryFolder();
    const path = join(directory, 'a');
    await writeRun(path, { config: { updates: 60 }, checkpoints: [0, 9], finished: false });
    await writeEvaluations(path, [{ update: 9, set, state: 'full', outcomes: 'hs' }]);
    expect(renderTable(plain(finalTable(await read(directory), set, false)), 'text')).toContain('a (9 of 60 updates)');
  });
});

describe('bases', () => {
  it('of different weights or prompts have rows of their own', async () => {
    const directory = temporaryFolder();
    await make(join(directory, 'a'), { seed: 1 }, vanilla('hhss'));
    const gate: Prompted[] = [
      { update: 0, state: 'base', outcomes: 'hhhh' },
      { update: 20, state: 'full', outcomes: 'hhhh' },
      { update: 20, state: 'deployed', outcomes: 'ssss' },
    ];
    await make(join(directory, 'b'), { seed: 1, arm: { kind: 'activation' } }, gate);
    const rows = async () =>
      plain(finalTable(await read(directory), set, false)).rows.map((row) => [row[0], row[1], row[5].slice(0, 4)]);
    expect((await rows())[0]).toEqual(['base', '1', '0.00']);
    expect(await rows()).toHaveLength(3);
    await make(join(directory, 'c'), { seed: 1, arm: { kind: 'absorb' }, sampling: { deployedSampling: 0 } }, gate);
    expect((await rows()).map(([name]) => name)).toEqual(['base', 'vanilla', 'activation', 'absorb']);
    const run = RunDirectory.open(join(directory, 'b'));
    await run.writeManifest({
      ...run.readManifest(),
      identity: { ...run.readManifest().identity, model: 'x'.repeat(64) },
    });
    expect((await rows()).slice(0, 2)).toEqual([
      ['base of vanilla + 1', '1', '0.00'],
      ['base of activation', '1', '1.00'],
    ]);
    const { notes } = plain(finalTable(await read(directory), set, false));
    expect(notes).toContain('base of vanilla + 1: vanilla, absorb.');
  });
});

describe('a run that cannot be read', () => {
  it('is named and left out; alone it is an error', async () => {
    const directory = temporaryFolder();
    for (const [name, seed] of [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const) {
      await make(join(directory, name), { seed }, vanilla('hs'));
    }
    writeFileSync(join(directory, 'b', 'manifest.json'), '');
    writeFileSync(join(directory, 'c', 'evaluations', `00020-${set}-full.json`), '{');
    const results = await read(directory);
    expect(results.arms[0].runs.map(({ name }) => name)).toEqual(['a']);
    expect(results.leftOut.map(({ path }) => path)).toEqual([join(directory, 'b'), join(directory, 'c')]);
    expect(results.leftOut[0].why).toContain('manifest.json');
    await expect(read(join(directory, 'b'))).rejects.toThrow('manifest.json');
    writeFileSync(join(directory, 'a', 'manifest.json'), '');
    await expect(read(directory)).rejects.toThrow('expected a run that can be read');
  });
});
