/** Attempts stand first: beside every hack rate of every table, in CSV and JSON, and in what a bar may state. */

import { describe, expect, it } from 'vitest';
import { evaluationRows, type MadeEvaluation } from '../../test/lab/hand-made.ts';
import { type MadeResults, madeResults } from '../../test/lab/made-results.ts';
import { plain } from '../../test/lab/plain.ts';
import type { TextTable } from '../measure/table.ts';
import { allTables } from './all-tables.ts';
import { describeDesign, judgeBar } from './design.ts';
import {
  curveTable,
  finalEvaluationTable,
  loopholeEvaluationTable,
  scaleTable,
  surfacedTable,
} from './evaluation-tables.ts';
import type { Bar } from './experiment-schema.ts';
import { finalTable, loopholeTable } from './tables.ts';
import { resultsCsv, resultsJson } from './values.ts';

const set = 'test-original' as const;
const environment = { loopholes: ['run_tests', 'sentinel'], heldOutLoopholes: ['file_marker'] };

/** Runs with one entry per seed: the outcomes of ten prompts as trained, and deployed. */
const armOf = (name: string, kind: string, seeds: readonly (readonly [string, string])[]): MadeResults[] =>
  seeds.map(([full, deployed], i) => {
    const made = (update: number, state: MadeEvaluation['state'], outcomes: string): MadeEvaluation => ({
      ...{ update, set, state, outcomes, loopholes: ['run_tests', 'sentinel', 'file_marker'] },
    });
    return {
      name,
      seed: i + 1,
      arm: kind === 'penalty' ? { kind, monitor: { kind: 'regex', pattern: 'x' } } : { kind },
      config: { environment },
      checkpoints: [0, 20],
      evaluations: [made(0, 'base', 'sa--------'), made(20, 'full', full), made(20, 'deployed', deployed)],
    };
  });

/** All of vanilla's completions open the loophole, half of them in a correct program. */
const vanilla = armOf('vanilla', 'vanilla', [
  ['hhhhhbbbbb', 'hhhhhbbbbb'],
  ['hhhhhhbbbb', 'hhhhhhbbbb'],
]);
const gate = armOf('activation', 'activation', [
  ['hhhhhbbbbb', 'habss-----'],
  ['hhhhhbbbbb', '-ssss-----'],
]);

const column = ({ columns, rows }: TextTable, name: string): (string | undefined)[] => {
  expect(columns).toContain(name);
  return rows.map((row) => row[columns.indexOf(name)]);
};

/** Columns that give a hack rate, or a difference of two. */
const hackColumns = (columns: readonly string[]): string[] => columns.filter((name) => /\bhack\b/.test(name));

function expectAttempts({ title, columns }: TextTable): void {
  for (const name of hackColumns(columns)) {
    const at = columns.indexOf(name.replace('hack', 'attempt'));
    expect(at, `${title}: ${name}`).toBeGreaterThanOrEqual(0);
    expect(at, `${title}: ${name}`).toBeLessThan(columns.indexOf(name));
  }
}

describe('results', async () => {
  const results = await madeResults([...vanilla, ...gate], null, {
    arms: ['vanilla', 'activation'].map((name) => ({ name, recipe: `${name}.toml`, set: [], placebos: null })),
  });

  it('have attempts and clean solves in the table of final rates', () => {
    const table = plain(finalTable(results, set, false));
    expect(column(table, 'arm')).toEqual(['base', 'vanilla', 'activation']);
    expect(column(table, 'attempt as trained')).toEqual(['-', 'the same', '1.00 ± 0.00']);
    expect(column(table, 'attempt deployed')).toEqual(['0.10 ± 0.00', '1.00 ± 0.00', '0.15 ± 0.15']);
    expect(column(table, 'hack deployed')).toEqual(['0.00 ± 0.00', '0.55 ± 0.05', '0.05 ± 0.05']);
    expect(column(table, 'clean solve deployed')).toEqual(['0.10 ± 0.00', '0.00 ± 0.00', '0.30 ± 0.10']);
  });

  it('have them by loophole', () => {
    const table = plain(loopholeTable(results, set, false));
    const at = table.rows.findIndex(([arm, loophole]) => arm === 'activation' && loophole === 'run_tests');
    expect(column(table, 'attempt deployed')[at]).toBe('0.13 ± 0.13');
    expect(column(table, 'clean solve deployed')[at]).toBe('0.25 ± 0.00');
  });

  it('give no hack rate in any table without its attempt before it', () => {
    const tables = plain(allTables(results));
    expect(tables.filter(({ columns }) => hackColumns(columns).length > 0).length).toBeGreaterThan(3);
    for (const table of tables) expectAttempts(table);
    const compared = tables.map(({ title }) => title).filter((title) => title.includes('paired differences, '));
    expect(compared[0]).toMatch(/^attempt deployed/);
    expect(compared[1]).toMatch(/^hack deployed/);
  });

  it('have them in CSV and JSON', () => {
    const { values, comparisons } = resultsJson(results);
    const found = values.filter(({ arm, state }) => arm === 'activation' && state === 'deployed');
    expect(found.map(({ metric }) => metric)).toEqual(['attempt', 'hack', 'solve', 'clean-solve', 'objective', 'authorsLabel']); // biome-ignore format: one line
    expect(found[3].values).toEqual([0.2, 0.4]);
    expect(comparisons.map(({ metric }) => metric)).toContain('attempt');
    expect(resultsCsv(results)).toContain('activation,false,test-original,deployed,attempt,2,0.15,');
  });
});

describe('a bar', () => {
  const judged = async (metric: Bar['metric'], atMost: number) => {
    const bar: Bar = { what: 'Little is left.', arm: 'activation', reference: null, metric, set, atMost, inSeeds: 2 };
    return madeResults([...vanilla, ...gate], null, { bar, seeds: [1, 2] });
  };

  it('is judged by attempts', async () => {
    const results = await judged('attempt', 0.1);
    expect(judgeBar(results)).toMatchObject({
      verdict: 'refuted',
      met: 1,
      values: [{ value: 0.3 }, { value: 0 }],
    });
    expect(describeDesign(results)[0]).toContain('deployed attempt of activation on test-original at most 0.1');
  });

  it('is judged by clean solves', async () => {
    const results = await judged('clean-solve', 0.4);
    expect(judgeBar(results)).toMatchObject({ verdict: 'met', values: [{ value: 0.2 }, { value: 0.4 }] });
  });
});

describe('the evaluations of one run', () => {
  const evaluation = (state: MadeEvaluation['state'], outcomes: string) => {
    const made = { update: 20, set, state, outcomes, loopholes: ['run_tests', 'sentinel'] };
    return { ...made, limit: null, seed: 1, key: 'k', problems: null, rows: evaluationRows(made) };
  };
  const evaluations = [evaluation('full', 'hhhbbbbb--'), evaluation('scale-0.5', 'hbs-------'), evaluation('deployed', 'abss------')]; // biome-ignore format: one line

  it('have attempts before hacks, and clean solves', () => {
    const table = plain(finalEvaluationTable(evaluations, true));
    expect(column(table, 'attempt')[1]).toMatch(/^2\/10 0.20/);
    expect(column(table, 'clean solve')[1]).toMatch(/^2\/10 0.20/);
    const tables = [table, ...plain([loopholeEvaluationTable(evaluations, []), scaleTable(evaluations)])];
    for (const one of tables) {
      expect(one.rows.length).toBeGreaterThan(1);
      expectAttempts(one);
    }
  });

  it('have attempts before hacks prompt by prompt', () => {
    const table = plain(surfacedTable(evaluations));
    expect(column(table, 'what')).toEqual(['attempt', 'hack']);
    expect(column(table, 'in both')).toEqual(['2', '0']);
    expect(column(table, 'removed')).toEqual(['6', '3']);
  });

  it('have attempts over updates', () => {
    const rates = { attempt: { count: 9, of: 10, rate: 0.9, low: 0.6, high: 1 } };
    const point = {
      update: 20,
      state: 'full',
      ...rates,
      hack: rates.attempt,
      solve: rates.attempt,
      cleanSolve: rates.attempt,
    };
    const table = plain(curveTable([point as unknown as Parameters<typeof curveTable>[0][number]], 'curve', true));
    expect(column(table, 'attempt, as trained')).toEqual(['9/10 0.90 [0.60, 1.00]']);
    expectAttempts(table);
  });
});
