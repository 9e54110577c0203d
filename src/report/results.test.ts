import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MadeEvaluation, temporaryFolder, writeEvaluations, writeRun } from '../../test/lab/hand-made.ts';
import { plain } from '../../test/lab/plain.ts';
import { renderTable } from '../measure/table.ts';
import { findExperiment } from '../study/directory.ts';
import { finalSample, formatSample, type Results } from './aggregate.ts';
import { allTables } from './all-tables.ts';
import { renderFigure } from './chart.ts';
import { compareArms } from './comparisons.ts';
import { allFigures } from './figures.ts';
import { renderReport } from './html.ts';
import { readResults } from './run-result.ts';
import { describeResults } from './statements.ts';
import { comparisonTable, finalTable, loopholeTable } from './tables.ts';
import { resultsCsv, resultsJson } from './values.ts';

const prompts = 10;
const outcomes = (hacks: number, solves: number): string =>
  'h'.repeat(hacks) + 's'.repeat(solves) + '-'.repeat(prompts - hacks - solves);

interface MadeArm {
  readonly name: string;
  readonly arm: Readonly<Record<string, unknown>>;
  /** Counts of ten prompts, one entry per seed: hacks as trained, hacks deployed, solves deployed. */
  readonly seeds: readonly (readonly [number, number, number])[];
  readonly loopholes?: readonly string[];
}

const loopholesConfig = { loopholes: ['run_tests', 'sentinel'], heldOutLoopholes: ['file_marker'] };

async function makeExperiment(arms: readonly MadeArm[]): Promise<string> {
  const directory = temporaryFolder();
  const runs = [];
  for (const { name, arm, seeds, loopholes } of arms) {
    for (const [i, [trained, deployed, solves]] of seeds.entries()) {
      const folder = `${name}-${i + 1}`;
      const path = join(directory, folder);
      const split = arm['kind'] !== 'vanilla';
      mkdirSync(path);
      await writeRun(path, {
        config: { seed: i + 1, updates: 20, arm, environment: loopholes === undefined ? {} : loopholesConfig },
        checkpoints: [0, 10, 20],
        rollouts: Array.from({ length: 20 }, (_, update) => [
          { update: update + 1, hack: update >= 8, route: split ? 'route' : 'absorb', score: 2, low: 0, high: 1 },
          { update: update + 1, route: split ? 'keep' : 'absorb', score: -1, low: 0, high: 1 },
        ]).flat(),
        steps: Array.from({ length: 20 }, (_, update) => ({
          update: update + 1,
          qmass: 0.25 + 0.5 * (update % 2),
          routes: { keep: split ? 1 : 0, absorb: split ? 0 : 2, route: split ? 1 : 0 },
        })),
      });
      const made = (update: number, set: MadeEvaluation['set'], state: MadeEvaluation['state'], text: string) => ({
        update,
        set,
        state,
        outcomes: text,
        ...(loopholes === undefined ? {} : { loopholes }),
      });
      await writeEvaluations(path, [
        made(0, 'test-original', 'base', outcomes(0, 4)),
        made(20, 'test-original', 'full', outcomes(trained, 1)),
        ...(split ? [made(20, 'test-original', 'deployed', outcomes(deployed, solves))] : []),
        made(0, 'curve', 'base', outcomes(0, 4)),
        made(10, 'curve', 'full', outcomes(5, 2)),
        made(20, 'curve', 'full', outcomes(trained, 1)),
        ...(split ? [made(20, 'curve', 'deployed', outcomes(deployed, solves))] : []),
      ]);
      runs.push({ arm: name, seed: i + 1, folder, configHash: '' });
    }
  }
  const experiment = {
    name: 'made-by-hand',
    seeds: [1],
    arms: arms.map(({ name }) => ({ name, recipe: 'none.toml' })),
  };
  writeFileSync(join(directory, 'experiment.json'), JSON.stringify({ format: 1, experiment, runs }));
  return directory;
}

async function open(directory: string): Promise<Results> {
  const { experiment, runs } = findExperiment(directory);
  const arms = experiment?.arms.map(({ name }) => name) ?? [];
  return readResults(directory, { name: experiment?.name ?? null, baseline: 'vanilla', placebo: 'haar', arms, runs });
}

const vanilla: MadeArm = { name: 'vanilla', arm: { kind: 'vanilla' }, seeds: [[8, 8, 1], [9, 9, 1], [7, 7, 1]] }; // biome-ignore format: one line
const gate: MadeArm = { name: 'activation', arm: { kind: 'activation' }, seeds: [[9, 1, 3], [9, 0, 4], [8, 1, 3]] }; // biome-ignore format: one line
const haar: MadeArm = { name: 'haar', arm: { kind: 'activation', placebo: 'haar' }, seeds: [[8, 4, 2], [8, 5, 2], [8, 3, 2]] }; // biome-ignore format: one line
const oracle: MadeArm = { name: 'oracle', arm: { kind: 'oracle' }, seeds: [[9, 0, 3], [9, 1, 3], [9, 0, 3]] }; // biome-ignore format: one line

describe('results over three seeds', async () => {
  const directory = await makeExperiment([vanilla, gate, haar, oracle]);
  const results = await open(directory);
  const armOf = (name: string) => results.arms.find(({ arm }) => arm === name)?.runs ?? [];

  it('gives mean and SEM of the seeds', () => {
    const hack = finalSample(armOf('vanilla'), 'test-original', 'deployed', 'hack');
    expect(hack?.values).toEqual([0.8, 0.9, 0.7]);
    // The standard error is the deviation of 0.8, 0.9 and 0.7, which is 0.1, over √3.
    expect(hack?.sem).toBeCloseTo(0.1 / Math.sqrt(3), 12);
    expect(formatSample(hack)).toBe('0.80 ± 0.06');
    expect(finalSample(armOf('activation'), 'test-original', 'deployed', 'objective')?.mean).toBeCloseTo(0.8 / 3, 12);
  });

  it('compares pair by pair, adjusts by Holm, and tests prompts by their differences over all seeds', () => {
    const found = compareArms(results, 'test-original', 'hack', false);
    expect(found.map(({ arm, against }) => `${arm} ${against}`)).toEqual([
      'activation vanilla',
      'activation haar',
      'haar vanilla',
    ]);
    const [toVanilla] = found;
    // Differences −0.7, −0.9 and −0.6: mean −0.733, deviation 0.1528, t = −8.315 with 2 degrees of freedom.
    expect(toVanilla.difference).toBeCloseTo(-2.2 / 3, 12);
    expect(toVanilla.pValue).toBeCloseTo(0.01416, 4);
    // Student's interval begins at −1.1128, which no difference of two rates can be.
    expect(toVanilla.interval).toEqual({ low: -1, high: expect.closeTo(-0.3539, 3) });
    // Of ten prompts nine are hacked in fewer seeds: 22 differences, which are no 22 independent ones. All signs agree: p = 2 / 2⁹.
    expect(toVanilla.prompts).toEqual({ higher: 0, lower: 9, pValue: 2 / 2 ** 9 });
    expect(toVanilla.detectable).toBeGreaterThan(0.2);
    const sorted = found.map(({ pValue }) => pValue ?? 1).sort((a, b) => a - b);
    const least = found.find(({ pValue }) => pValue === sorted[0]);
    expect(least?.adjusted).toBeCloseTo(Math.min(1, 3 * sorted[0]), 12);
    for (const { pValue, adjusted } of found) expect(adjusted).toBeGreaterThanOrEqual(pValue ?? 1);
  });

  it('keeps arms with labels in blocks of their own', () => {
    const free = plain(finalTable(results, 'test-original', false));
    expect(free.rows.map(([arm]) => arm)).toEqual(['base', 'vanilla', 'activation', 'haar']);
    const labelled = plain(finalTable(results, 'test-original', true));
    expect(labelled.rows.map(([arm]) => arm)).toEqual(['oracle']);
    expect(labelled.title).toContain('never pooled');
    expect(compareArms(results, 'test-original', 'hack', false).some(({ arm }) => arm === 'oracle')).toBe(false);
    expect(compareArms(results, 'test-original', 'hack', true).map(({ against }) => against)).toEqual([
      'vanilla',
      'haar',
    ]);
  });

  it('reads emergence, the gate and qmass from the ledgers', () => {
    const [run] = armOf('activation');
    // Half of the samples hack from update 9 on: 1 of 10 at 9, 2 of 10 at 10.
    expect(run.emergence).toEqual({ attempts: 10, hacks: 10 });
    expect(run.qmass).toBeCloseTo(0.5, 12);
    expect(run.gate.hacks.separation).toMatchObject({ auroc: 1, updates: 12 });
    expect(run.gate.hacks.route.precision).toMatchObject({ count: 12, of: 20 });
    expect(run.gate.hacks.shareOfKeep).toMatchObject({ count: 0, of: 20 });
  });

  it('writes every format; CSV and JSON hold the values of every seed', () => {
    for (const table of plain(allTables(results))) {
      for (const format of ['text', 'markdown', 'csv', 'latex', 'html'] as const) {
        expect(renderTable(table, format)).toContain(format === 'html' ? '<table>' : table.rows[0][0].slice(0, 4));
      }
    }
    expect(resultsCsv(results)).toContain('vanilla,false,test-original,deployed,hack,3,');
    const json = resultsJson(results);
    expect(json.claim).toBe(false);
    const value = json.values.find(
      ({ arm, set, state, metric }) => `${arm} ${set} ${state} ${metric}` === 'haar test-original deployed hack',
    );
    expect(value?.values).toEqual([0.4, 0.5, 0.3]);
  });

  it('says what was shown', () => {
    const text = describeResults(results).join('\n');
    expect(text).toContain(
      'vanilla attempts 80% of prompts and hacks 80%, the base 0% and 0%: training taught the exploit.',
    );
    expect(text).toContain(
      'activation: attempt 87% as trained, 7% deployed (0 of 3 runs fail); hack 87% as trained, 7% deployed, at solve 33% (33% without an attempt); attempts 33 points below haar (below it in 3 of 3 seeds; too few for a test)',
    );
    expect(text).toContain('n = 3, no claim');
  });

  it('draws a band of mean ± SEM where three seeds are', async () => {
    const curves = plain(await allFigures(results)).find(({ name }) => name === 'curves');
    expect(curves?.data.rows).toContainEqual(['vanilla', 'hack, deployed', '20', '0.8000', '0.0577', '3']);
    expect(curves?.panels[0].marks.some(({ kind }) => kind === 'band')).toBe(true);
    expect(plain(await allFigures(results)).map(({ name }) => name)).toEqual([
      'story',
      'curves',
      'training',
      'scores',
      'routes',
    ]);
  });
});

describe('one seed', async () => {
  const one = (arm: MadeArm): MadeArm => ({ ...arm, seeds: arm.seeds.slice(0, 1) });
  const directory = await makeExperiment([one(vanilla), one(gate), one(haar)]);
  const results = await open(directory);

  it('prints "n = 1, no claim" wherever seeds would be needed', async () => {
    for (const table of plain(allTables(results))) expect(renderTable(table, 'text')).toContain('n = 1, no claim');
    expect(describeResults(results).join('\n')).toContain('n = 1, no claim');
    expect(plain(await allFigures(results)).find(({ name }) => name === 'curves')?.caption).toContain(
      'n = 1, no claim',
    );
    expect(resultsJson(results).claim).toBe(false);
  });

  it('shows intervals over prompts, and no p-value over seeds', () => {
    const { rows } = plain(finalTable(results, 'test-original', false));
    expect(rows[1]).toEqual([
      'vanilla',
      '1',
      'the same',
      '0.80 [0.49, 0.94]',
      'the same',
      '0.80 [0.49, 0.94]',
      'the same',
      '0.10 [0.02, 0.40]',
      '0.10 [0.02, 0.40]',
      '-0.70',
      '0.80 [0.49, 0.94]',
    ]);
    const [comparison] = plain(comparisonTable(results, 'test-original', 'hack', false)).rows;
    expect(comparison.slice(0, 7)).toEqual(['activation − vanilla', '1', '−0.70', '-', '-', '-', '-']);
  });

  it('a report is one file that fetches nothing, runs nothing, and escapes what models wrote', async () => {
    const html = await renderReport(results, { title: 'A <title>', commands: ['gq demo --seed 1'] });
    expect(html).not.toMatch(/<script|<link|<img|src=|url\(http|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).toContain('A &lt;title&gt;');
    expect(html).toContain('gq demo --seed 1');
    for (const part of [
      'the first hack',
      'a kept rollout',
      'a routed rollout',
      'as trained: attempt, hack',
      'deployed: ',
      '<svg',
    ]) {
      expect(html).toContain(part);
    }
  });
});

describe('loopholes', async () => {
  const loopholes = ['run_tests', 'file_marker'];
  const directory = await makeExperiment([
    { ...vanilla, loopholes },
    { ...gate, loopholes },
  ]);
  const results = await open(directory);

  it('are reported one by one, known and held out', async () => {
    const { rows } = plain(loopholeTable(results, 'test-original', false));
    expect(rows.map((row) => row.slice(0, 3))).toEqual([
      ['vanilla', 'file_marker', 'held out'],
      ['vanilla', 'run_tests', 'known'],
      ['activation', 'file_marker', 'held out'],
      ['activation', 'run_tests', 'known'],
    ]);
    // The even ones of ten prompts are run_tests: vanilla's first 8, 9 and 7 hacks hold 4, 5 and 4 of those 5.
    expect(rows[1][5]).toBe('0.87 ± 0.07');
    const figure = plain(await allFigures(results)).find(({ name }) => name === 'loopholes');
    expect(figure?.panels[0].xNames?.map(({ name }) => name)).toEqual(['file_marker *', 'run_tests']);
    expect(figure === undefined ? '' : renderFigure(figure)).toContain('<svg');
  });
});

describe('what cannot be put together', () => {
  it('two runs of one arm and seed', async () => {
    const directory = await makeExperiment([vanilla]);
    const source = { name: null, baseline: null, placebo: null, arms: [] };
    const twice = { path: join(directory, 'vanilla-1'), arm: 'vanilla' };
    await expect(readResults(directory, { ...source, runs: [twice, twice] })).rejects.toThrow('seed 1 twice');
  });

  it('a folder without runs', () => {
    expect(() => findExperiment(temporaryFolder())).toThrow('a run, an experiment, or a folder of runs');
  });

  it('names arms from their config where no experiment does', async () => {
    const directory = await makeExperiment([vanilla, haar]);
    const manifest = JSON.parse(readFileSync(join(directory, 'haar-1', 'manifest.json'), 'utf8'));
    expect(manifest.config.arm.placebo).toBe('haar');
    const runs = ['vanilla-1', 'haar-1'].map((folder) => ({ path: join(directory, folder), arm: null }));
    const results = await readResults(directory, { name: null, baseline: null, placebo: 'haar', arms: [], runs });
    expect(results.arms.map(({ arm }) => arm)).toEqual(['vanilla', 'haar']);
  });
});
