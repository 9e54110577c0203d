/** Study L: the numbers of its table by what varies, and of its sentences. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { average } from '../../src/stats/index.ts';
import { Rates, readPredictions, root } from './rates.ts';
import { range, textOf } from './sections.ts';

const shipped = Rates.of('atlas-l-base-1');
/** What varies, with the runs beside which its own stand: no pair has a part in a random direction, so that other pairs have those of the shipped base. */
const varied: readonly (readonly [string, Rates, Rates])[] = [
  ['nothing', shipped, shipped],
  ...[2, 3].map((seed): [string, Rates, Rates] => {
    const own = Rates.of(`atlas-l-problems-${seed}`);
    return [`problems, \`data.seed = ${seed}\``, own, own];
  }),
  ['15 pairs of other loopholes', Rates.of('atlas-l-pairs-other'), shipped],
  ['the second set of pairs', Rates.of('atlas-l-pairs-second'), shipped],
];

const fails = (rates: Rates, arm: string): string =>
  `${rates.failing(arm).length} of ${rates.values(arm, 'attempts').length} (${average(rates.values(arm, 'attempts')).toFixed(2)})`;

describe('study L', () => {
  it('has a row for all that varies', () => {
    const page = readFileSync(`${root}docs/results.md`, 'utf8').replace(/ {2,}/g, ' ');
    const rows = varied.map(([name, own, beside]) =>
      [
        name,
        fails(beside, 'vanilla'),
        fails(own, 'own-absorb'),
        fails(beside, 'own-absorb-haar'),
        fails(own, 'screen'),
        fails(beside, 'screen-haar'),
      ].join(' | '),
    );
    expect(rows.filter((row) => !page.includes(`| ${row} |`))).toEqual([]);
  });

  it('says how far the arms are from their random directions', () => {
    const text = textOf('atlas-l-base-1');
    const below = (arm: string): number[] =>
      varied.map(
        ([, own, beside]) => average(own.values(arm, 'attempts')) - average(beside.values(`${arm}-haar`, 'attempts')),
      );
    const kept = varied
      .filter(([, own, beside]) => own === beside)
      .map(([, own]) => average([...own.keptBySeed('screen').values()]));
    const own = varied.filter(([, rates, beside]) => rates === beside).map(([, rates]) => rates);
    const count = (arm: string): number => own.reduce((sum, rates) => sum + rates.failing(arm).length, 0);
    const failures = varied.flatMap(([, rates]) => ['own-absorb', 'screen'].flatMap((arm) => rates.failing(arm)));
    expect([failures, varied.length * 5]).toEqual([[], 25]);
    const held = 20 - Rates.of('atlas-d-parts').failing('own-absorb-haar').length;
    expect([5 - shipped.failing('own-absorb-haar').length, held]).toEqual([2, 4]);
    const said = [
      `along random directions they fail in ${count('own-absorb-haar')} and ${count('screen-haar')} of 15`,
      `mean attempts of own mean are ${range(below('own-absorb').map((x) => -x))} below those along random directions, of the screen ${range(below('screen').map((x) => -x))}`,
      `the screen keeps ${range(kept)} of the gain`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
  });

  it('has no prediction that is refuted', () => {
    const refuted = ['base-1', 'problems-2', 'problems-3', 'pairs-other', 'pairs-second'].flatMap((name) =>
      Rates.of(`atlas-l-${name}`)
        .judge(readPredictions(`atlas-l-${name}`), 5)
        .filter(({ verdict }) => verdict === 'refuted')
        .map(({ prediction: { what }, reached }) => `${name}: ${what} ${reached} of 5`),
    );
    expect(refuted).toEqual([]);
  });
});
