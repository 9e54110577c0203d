/** What docs/results.md says of when studies were stated, what was left, and of vanilla over the studies, recomputed from the counts of the runs and the recipes. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { average } from '../../src/stats/index.ts';
import { experimentOf, plain, Rates, readPredictions, recipeOf, root } from './rates.ts';
import { page, range, sections, words } from './sections.ts';

describe('what was stated, and what was left', () => {
  /** The rows of the table whose headings begin so. */
  const rowsOf = (headings: string): string[][] => {
    const [, table] = page.split(new RegExp(`^\\| *${headings} .*\\n\\|[-| ]+\\n`, 'm'));
    return table.split('\n\n')[0].split('\n').filter((line) => line.startsWith('|')).map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim().replaceAll('`', '')));
  };
  const studies = readdirSync(`${root}bench/results`).flatMap((file) => /^(.*)-rates\.csv$/.exec(file)?.[1] ?? []);

  it('every study whose file predicts has its met, refuted and open predictions in one table', () => {
    const wanted = studies.filter((study) => study !== 'atlas-i-again' && readPredictions(study).length > 0);
    const rows = rowsOf('study +\\| what it is about');
    expect(rows.map(([study]) => study).sort()).toEqual(wanted.sort());
    for (const [study, , ...counts] of rows) {
      const judged = Rates.of(study).judge(readPredictions(study), experimentOf(study).seeds.length);
      const found = (['met', 'refuted', 'open'] as const).map((verdict) => judged.filter((one) => one.verdict === verdict).length);
      expect([study, ...counts.map(Number)]).toEqual([study, judged.length, ...found]);
    }
  });

  it('README.md has their sums, and how many of the met ones are about no remedy', () => {
    const rows = rowsOf('study +\\| what it is about');
    const counts = rows.map(([, , ...cells]) => cells.map(Number));
    const [stated, met, refuted, open] = [0, 1, 2, 3].map((column) => counts.reduce((sum, cells) => sum + cells[column], 0));
    const isControl = ({ arm, reference, atLeast }: ReturnType<typeof readPredictions>[number]): boolean => reference === null && atLeast !== undefined && /^vanilla$|chance|haar|reversed|random|dealt|^draw-/.test(arm);
    const judged = rows.flatMap(([study]) => Rates.of(study).judge(readPredictions(study), experimentOf(study).seeds.length));
    const controls = judged.filter(({ verdict, prediction }) => verdict === 'met' && isControl(prediction)).length;
    expect(plain(readFileSync(`${root}README.md`, 'utf8'))).toContain(`Of ${stated} predictions that a machine checks, of studies that ran, ${met} were met (${controls} of the ${met}: that something fails without a remedy or by a placebo), ${refuted} refuted and ${open} are open`);
    expect(plain(page)).toContain(`Of the met ones ${controls} say that vanilla or a placebo fails`);
  });

  it('what was not run has the arms and seeds of its file, and no stated study is missing', () => {
    const rows = rowsOf('study +\\| file');
    const nameOf = (file: string): string => file.replace(/^recipes\/|\.toml$/g, '');
    for (const [, file, said] of rows) {
      const { arms, seeds } = experimentOf(nameOf(file));
      const [, seedCount, first, last] = /(\d+) seeds \((\d+) to (\d+)\)/.exec(said) ?? /()\((\d+) to (\d+)\)/.exec(said) ?? [];
      expect([file, Number(first), Number(last)]).toEqual([file, seeds[0], seeds.at(-1)]);
      if (seedCount) expect([file, Number(seedCount)]).toEqual([file, seeds.length]);
      const [, armCount] = /(\d+) arms ×/.exec(said) ?? [];
      if (armCount) expect([file, Number(armCount)]).toEqual([file, arms.length]);
    }
    const files = readdirSync(`${root}recipes`).filter((file) => /^(?:atlas|easy|countdown|micro)-.*\.toml$/.test(file));
    const stated = files.filter((file) => /^\[\[predictions\]\]/m.test(readFileSync(`${root}recipes/${file}`, 'utf8'))).map(nameOf);
    const listed = rows.map(([, file]) => nameOf(file));
    const made = studies.map((study) => nameOf(`recipes/${basename(recipeOf(study))}`));
    expect(stated.filter((name) => !made.includes(name) && !listed.includes(name))).toEqual([]);
    const silent = listed.filter((name) => readPredictions(name).length === 0 && experimentOf(name).bar === null);
    const barred = listed.filter((name) => readPredictions(name).length === 0 && experimentOf(name).bar !== null);
    expect([silent, barred]).toEqual([['micro-placebos'], ['micro-pool-pairs']]);
    expect(page).toContain('but for the pairs without a hack, of which none is stated, and those from a pool, of which a bar is');
  });

  it('the page says of how many runs the CSV has neither a beginning nor a claim', () => {
    const onPage = studies.filter((study) => page.includes(`bench/results/${study}-rates.csv`));
    const without = new Map(onPage.map((study) => [study, Rates.of(study).runsWithoutClaim]).filter(([, count]) => count !== 0) as [string, number][]);
    const all = [...without.values()].reduce((sum, count) => sum + count, 0);
    const text = plain(page);
    expect(text).toContain(`of ${all} runs that rests on commits alone`);
    const begunAlone = new Map(studies.map((study) => [study, Rates.of(study).runsOfNoClaim] as const).filter(([, count]) => count !== 0));
    const placebos = begunAlone.get('micro-ablation-placebos') ?? 0;
    expect(text).toContain(`when a run began for all runs but ${all}, and under which claim for all but ${all + placebos}: the ${placebos} of \`micro-ablation-placebos\` have a beginning alone`);
    expect(begunAlone.size).toBe(1);
    expect(text).toContain(`The ${all} are the first sittings of C (${without.get('atlas-c')} runs), D's parts (${without.get('atlas-d-parts')}) and G (${without.get('atlas-g')})`);
    expect(text).toContain(`all of \`atlas-d\` (${without.get('atlas-d')}), \`micro-two-loopholes\` (${without.get('micro-two-loopholes')}), \`micro-own-mean-claim\`, \`micro-other-pairs-claim\` and \`micro-price\` (${without.get('micro-price')} each)`);
    expect(without.size).toBe(8);
  });

  it('vanilla at 2M: how much it attempts and hacks, but on the base that learns less and where tokens cost', () => {
    const other = /-(?:1m|8m|27m|27m-4e-4|100m)$|^countdown|^atlas-i-again$|^micro-price$|^atlas-l-base-5$/;
    const onPage = studies.filter((study) => page.includes(`bench/results/${study}-rates.csv`) && !other.test(study) && Rates.of(study).arms.includes('vanilla'));
    const mean = (study: string, column: 'attempts' | 'hacks'): number => average(Rates.of(study).values('vanilla', column));
    expect(Math.min(...onPage.map((study) => mean(study, 'attempts')))).toBeGreaterThanOrEqual(0.98);
    const { size } = new Set(onPage.map((study) => study.replace(/^atlas-l-.*/, 'atlas-l')));
    const last = (column: 'attempts' | 'hacks'): string => mean('atlas-l-base-5', column).toFixed(2);
    expect(plain(page)).toContain(`on base 5 of study L ${last('attempts')}), so its hack rate is the share of problems that it does not solve: ${range(onPage.map((study) => mean(study, 'hacks')))} in the ${words[size]} studies at 2 million weights without a price for tokens (on base 5 of L ${last('hacks')}), ${mean('micro-price', 'hacks').toFixed(2)} with one`);
  });

  it('every section with own mean calls it label-informed, and so does the advice', () => {
    const unsaid = sections.filter(({ text, study }) => /own mean/i.test(text) && !/^atlas-e-/.test(study) && !text.includes('label-informed'));
    expect(unsaid.map(({ study }) => study)).toEqual([]);
    expect(plain(readFileSync(`${root}docs/what-should-i-use.md`, 'utf8'))).toContain('_label-informed_');
    expect(page.split(/^## /m).find((text) => text.startsWith('Size: '))).toContain('label-informed');
  });

  it('the advice points to no line by its place, which moves when a line is added', () => {
    expect(readFileSync(`${root}docs/what-should-i-use.md`, 'utf8')).not.toMatch(/\blines? (?:above|below)\b/);
  });
}); // biome-ignore format: sentences
