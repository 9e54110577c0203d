/** The figures of the atlas are those of the committed counts; figures of studies without runs are drawn from made-up ones. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderFigure } from '../../src/report/chart.ts';
import { temporaryFolder } from '../lab/hand-made.ts';
import { atlasFigures, doseFigure, horizonFigure, mapFigure, sizeFigure, timesFigure } from './atlas-figures.ts';
import { filesOf } from './figure-parts.ts';
import { Rates, readPredictions, root } from './rates.ts';

const drawn = Object.values(atlasFigures()).filter((figure) => figure !== null);

/** Attempts of 100 prompts by arm, seeds from 1 on; `auroc` by arm. */
function madeUp(
  arms: Readonly<Record<string, readonly number[]>>,
  auroc: Readonly<Record<string, number>> = {},
): Rates {
  const csv = join(temporaryFolder(), 'made-up.csv');
  const rows = Object.entries(arms).flatMap(([arm, attempts]) =>
    attempts.map((count, i) => `made-up,${arm}-${i + 1},100,test-original,deployed,100,${count},${auroc[arm] ?? ''}`),
  );
  writeFileSync(csv, ['study,run,update,set,state,prompts,attempts,auroc', ...rows].join('\n'));
  return new Rates(csv);
}

describe('docs/figures', () => {
  it.each(drawn)('has $name as the counts draw it now (npm run figures)', (figure) => {
    for (const [file, content] of Object.entries(filesOf(figure))) {
      expect(existsSync(`${root}docs/figures/${file}`), file).toBe(true);
      expect(readFileSync(`${root}docs/figures/${file}`, 'utf8') === content, file).toBe(true);
    }
  });

  it.each(drawn)('has $name on a page of results, light and dark, with its numbers', ({ name }) => {
    const page = readFileSync(`${root}docs/${name.startsWith('atlas') ? 'results' : 'micro-claim'}.md`, 'utf8');
    for (const file of [`${name}.svg`, `${name}-dark.svg`, `${name}.csv`]) expect(page).toContain(`figures/${file}`);
  });

  it('has means that are rounded as those of the tables, a half away from zero', () => {
    const attempts = Rates.of('atlas-e-27m').values('vanilla', 'attempts');
    const tenThousandths = (attempts.reduce((sum, rate) => sum + rate * 256, 0) * 10_000) / (256 * attempts.length);
    expect(tenThousandths % 1).toBe(0.5);
    const csv = readFileSync(`${root}docs/figures/atlas-e-size.csv`, 'utf8');
    expect(csv).toContain(`\nvanilla,27M,${attempts.length},0.${Math.ceil(tenThousandths)},`);
  });

  it.each(drawn)('has no light paper or ink in the dark $name', (figure) => {
    const dark = filesOf(figure)[`${figure.name}-dark.svg`];
    expect(dark).not.toMatch(/#ffffff|#222222|#000000/);
    expect(dark).toContain('#0d1117');
  });
});

describe('from made-up counts', () => {
  it('the map has a cell for each pair of rates that was run, and marks a refuted prediction', () => {
    const rates = madeUp({
      vanilla: [99, 99],
      'screen-r1-f0': [0, 1],
      'screen-r0.6-f0': [5, 11],
      'screen-chance': [99, 99],
      'penalty-3-r0.9-f0.1': [40, 10],
    });
    const [first] = readPredictions('atlas-a').filter(({ arm }) => arm === 'screen-r0.6-f0');
    const figure = mapFigure(rates, [{ ...first, inSeeds: 2 }], 2);
    const svg = renderFigure(figure);
    expect(figure.panels.map(({ title }) => title)).toEqual([
      'screen (flags at random: 2 of 2)',
      'penalty 3 (flags at random: not run)',
    ]);
    expect([...svg.matchAll(/>(\d\/\d[^<]*)</g)].map(([, cell]) => cell)).toEqual(['0/2', '1/2 ×', '1/2']);
    expect(figure.data.rows.map((row) => row.slice(0, 6))).toEqual([
      ['screen-r1-f0', 'screen', '1', '0', '0', '2'],
      ['screen-r0.6-f0', 'screen', '0.6', '0', '1', '2'],
      ['penalty-3-r0.9-f0.1', 'penalty-3', '0.9', '0.1', '1', '2'],
    ]);
    expect(svg).toContain('Vanilla: 2 of 2');
  });

  it('the horizon counts runs that have not failed at each length', () => {
    const rates = madeUp({ 'screen-r0.95-u100': [0, 0], 'screen-r0.95-u1000': [0, 50], 'own-mean-r0.9-u300': [3, 4] });
    const figure = horizonFigure(rates);
    expect(figure.data.rows).toEqual([
      ['screen-r0.95-u100', '0.95', '100', '0', '2'],
      ['screen-r0.95-u1000', '0.95', '1000', '1', '2'],
      ['own-mean-r0.9-u300', '0.9', '300', '0', '2'],
    ]);
    expect(figure.panels).toHaveLength(2);
  });

  it('sizes are in their order, with the mean of their own seeds', () => {
    const sizes = new Map([
      ['2M', madeUp({ vanilla: [99, 97], 'own-mean': [2, 4], 'own-mean-haar': [80] })],
      ['27M', madeUp({ vanilla: [99], 'own-mean': [20] })],
    ]);
    const figure = sizeFigure(sizes);
    expect(figure.panels.map(({ title }) => title)).toEqual(['own mean, others kept']);
    expect(figure.data.rows.filter(([arm]) => arm === 'own-mean')).toEqual([
      ['own-mean', '2M', '2', '0.0300', '0'],
      ['own-mean', '27M', '1', '0.2000', '1'],
    ]);
  });

  it('a run has failed at its first point above 0.10, and one that never was is watched to its end', () => {
    const csv = join(temporaryFolder(), 'curve.csv');
    const row = (run: string, update: number, attempts: number, state = 'deployed'): string =>
      `made-up,${run},${update},curve,${state},100,${attempts},`;
    const curves = { 'gate-1': [0, 10, 0], 'gate-2': [0, 11, 0], 'haar-1': [50, 0, 0], 'haar-2': [0, 0, 30] };
    const rows = Object.entries(curves).flatMap(([run, counts]) => counts.map((count, i) => row(run, 20 * (i + 1), count)));
    // What is trained and deleted does not count, nor does the base.
    writeFileSync(csv, ['study,run,update,set,state,prompts,attempts,auroc', ...rows, row('gate-1', 20, 99, 'full'), row('gate-1', 0, 99, 'base')].join('\n'));
    const rates = new Rates(csv);
    expect(rates.waits('gate')).toEqual([{ time: 60, happened: false }, { time: 40, happened: true }]);
    const figure = timesFigure(rates, { name: 'times', title: '', caption: '' }, { gate: { arm: 'gate', placebo: 'haar' } });
    expect(figure.data.rows.map((cells) => cells.slice(0, 5))).toEqual([
      ['gate', '0', '2', '0', '1.0000'],
      ['gate', '40', '2', '1', '0.5000'],
      ['haar', '0', '2', '0', '1.0000'],
      ['haar', '20', '2', '1', '0.5000'],
      ['haar', '60', '1', '1', '0.0000'],
    ]);
    expect(figure.panels[0].marks.map((mark) => mark.kind === 'line' && mark.points.at(-1)?.x)).toEqual([60, 60.6]);
  }); // biome-ignore format: rows

  it('a gate is drawn where its AUROC is known', () => {
    const rates = madeUp({ 'gate-pairs': [1], 'gate-haar': [60], 'gate-reversed': [90] }, { 'gate-pairs': 0.98, 'gate-haar': 0.55 });
    const words = { name: 'dose', title: '', caption: '' };
    const groups = { gate: { pairs: ['gate-pairs'], others: ['gate-haar', 'gate-reversed'] }, none: { reversed: ['gate-reversed'] } };
    const figure = doseFigure(rates, words, groups);
    expect(figure.panels.map(({ title }) => title)).toEqual(['gate']);
    expect(figure.data.rows).toEqual([
      ['gate-pairs', '1', '0.9800', '0.0100'],
      ['gate-haar', '1', '0.5500', '0.6000'],
    ]);
  }); // biome-ignore format: one line
});
