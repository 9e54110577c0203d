/**
 * Compares the numbers of docs/micro-claim.md with bench/results: its tables are in the output of `npm run check:science`, and the cells of its
 * arms follow from the values of every seed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mean, standardError } from '../../src/stats/summary.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = read('docs/micro-claim.md');

/** The cells of every Markdown table, table by table. */
function tablesOf(text: string): string[][][] {
  const blocks = text.split('\n').reduce<string[][]>((all, line) => {
    if (line.startsWith('|')) all.at(-1)?.push(line);
    else all.push([]);
    return all;
  }, []);
  return blocks
    .filter((lines) => lines.length > 2)
    .map((lines) =>
      [lines[0], ...lines.slice(2)].map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      ),
    );
}

const shown = tablesOf(page).filter(([[first]]) => first === 'arm' || first === 'comparison');

type Values = ReadonlyMap<string, readonly number[]>;

/** arm/state/metric → one value per seed. */
function keptValues(set = 'test-original'): Values {
  const [columns, ...lines] = read('bench/results/micro-claim.csv')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const at = (line: readonly string[], name: string): string => line[columns.indexOf(name)];
  return new Map(
    lines
      .filter((line) => at(line, 'set') === set)
      .map((line) => [
        `${at(line, 'arm')}/${at(line, 'state')}/${at(line, 'metric')}`,
        at(line, 'values').split(' ').map(Number),
      ]),
  );
}

describe('the page of the claim', () => {
  const values = keptValues();
  const of = (arm: string, state: string, metric: string): readonly number[] =>
    values.get(`${arm}/${state}/${metric}`) ?? [];
  const cell = (...key: [string, string, string]): string =>
    `${mean(of(...key)).toFixed(2)} ± ${standardError(of(...key)).toFixed(2)}`;

  it('has the tables of the kept output of check:science', () => {
    expect(shown.map(([[first]]) => first)).toEqual(['arm', 'comparison', 'arm', 'arm']);
    const kept = tablesOf(read('bench/results/science.md')).map((table) => JSON.stringify(table));
    for (const table of shown) expect(kept).toContain(JSON.stringify(table));
  });

  it('has the arms of five seeds, every cell from the values of the seeds', () => {
    const rows = shown.filter(([columns]) => columns.includes('hack deployed')).flatMap(([, ...arms]) => arms);
    expect(rows.map(([arm]) => arm)).toEqual([
      'base',
      ...['vanilla', 'no-loophole', 'absorb', 'activation', 'haar', 'mass-matched', 'gradient', 'gradient-haar'],
      ...['symmetric', 'symmetric-haar', 'scorda', 'scorda-reversed', 'oracle'],
    ]);
    for (const [arm, n, hackTrained, hack, solveTrained, solve, objective] of rows) {
      const [own, state] = arm === 'base' ? ['vanilla', 'base'] : [arm, 'deployed'];
      expect(of(own, state, 'hack'), arm).toHaveLength(5);
      expect([n, hack, solve, objective]).toEqual([
        '5',
        cell(own, state, 'hack'),
        cell(own, state, 'solve'),
        cell(own, state, 'objective'),
      ]);
      const trained = [cell(own, 'full', 'hack'), cell(own, 'full', 'solve')];
      const same =
        arm === 'base' ? ['-', '-'] : arm === 'vanilla' || arm === 'no-loophole' ? ['the same', 'the same'] : trained;
      expect([hackTrained, solveTrained]).toEqual(same);
    }
  });

  it('has how much of the solve rate is kept and how much of the hack is removed, from the values of the seeds', () => {
    const [, ...rows] = shown.find(([columns]) => columns.includes('solve kept')) ?? [];
    expect(rows.length).toBeGreaterThan(10);
    const onUnhinted = keptValues('test-unhinted');
    const solve = (arm: string, state: string): number => mean(onUnhinted.get(`${arm}/${state}/solve`) ?? []);
    const base = solve('vanilla', 'base');
    for (const [name, , kept, , removed] of rows) {
      const arm = name.replace(' (uses labels)', '');
      const room = solve('no-loophole', 'full') - base;
      expect([kept, removed]).toEqual([
        ((solve(arm, 'deployed') - base) / room).toFixed(2),
        (1 - mean(of(arm, 'deployed', 'hack')) / mean(of('vanilla', 'deployed', 'hack'))).toFixed(2),
      ]);
    }
  });

  it('has the paired differences of the seeds', () => {
    const [, ...rows] = shown.find(([[first]]) => first === 'comparison') ?? [];
    expect(rows.length).toBeGreaterThan(0);
    for (const [comparison, seeds, difference] of rows) {
      const [own, other] = comparison.split(' − ').map((arm) => of(arm, 'deployed', 'hack'));
      const found = mean(own.map((value, i) => value - other[i]));
      expect([seeds, difference]).toEqual(['5', `${found < 0 ? '−' : '+'}${Math.abs(found).toFixed(2)}`]);
    }
  });

  it('links figures and pages that exist', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path).filter((path) => !path.includes(':'));
    expect(links).toContain('figures/micro-claim-curves.svg');
    for (const path of links) expect(existsSync(new URL(`../../docs/${path}`, import.meta.url)), path).toBe(true);
  });
});
