/** Study L: the numbers of its table by what varies, and of its sentences. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { average } from '../../src/stats/index.ts';
import { meanInterval } from '../../src/stats/student.ts';
import { Rates, readPredictions, root } from './rates.ts';
import { list, range, textOf, words } from './sections.ts';

const shipped = Rates.of('atlas-l-base-1');
/** The bases beside the shipped one: with it the five that are stated. */
const made = [2, 3, 4, 5];
const bases: readonly Rates[] = [shipped, ...made.map((seed) => Rates.of(`atlas-l-base-${seed}`))];
const own = (name: string, study: string): [string, Rates, Rates] => [name, Rates.of(study), Rates.of(study)];
/** What varies, with the runs beside which its own stand: no pair has a part in a random direction, so that other pairs have those of the shipped base. */
const varied: readonly (readonly [string, Rates, Rates])[] = [
  ['nothing', shipped, shipped],
  ...made.map((seed) => own(`base, \`--seed ${seed}\``, `atlas-l-base-${seed}`)),
  ...[2, 3].map((seed) => own(`problems, \`data.seed = ${seed}\``, `atlas-l-problems-${seed}`)),
  ['15 pairs of other loopholes', Rates.of('atlas-l-pairs-other'), shipped],
  ['the second set of pairs', Rates.of('atlas-l-pairs-second'), shipped],
];
const whole = varied.filter(([, rates, beside]) => rates === beside).map(([, rates]) => rates);
const arms = ['own-absorb', 'screen'] as const;

const fails = (rates: Rates, arm: string): string =>
  `${rates.failing(arm).length} of ${rates.values(arm, 'attempts').length} (${average(rates.values(arm, 'attempts')).toFixed(2)})`;
/** Mean attempts of an arm less those along random directions. */
const difference = (arm: string, rates: Rates, beside = rates): number =>
  average(rates.values(arm, 'attempts')) - average(beside.values(`${arm}-haar`, 'attempts'));
const signed = (value: number): string => value.toFixed(2).replace('-', '−');

describe('study L', () => {
  it('has a row for all that varies', () => {
    const page = readFileSync(`${root}docs/results.md`, 'utf8').replace(/ {2,}/g, ' ');
    const rows = varied.map(([name, rates, beside]) =>
      [
        name,
        fails(beside, 'vanilla'),
        fails(rates, 'own-absorb'),
        fails(beside, 'own-absorb-haar'),
        fails(rates, 'screen'),
        fails(beside, 'screen-haar'),
      ].join(' | '),
    );
    expect(rows.filter((row) => !page.includes(`| ${row} |`))).toEqual([]);
  });

  it('says how far the arms are from their random directions, and how much that differs over the bases', () => {
    const text = textOf('atlas-l-base-1');
    const below = (arm: string): string => range(varied.map(([, rates, beside]) => -difference(arm, rates, beside)));
    const keptBy = (arm: string, rates: Rates): number => average([...rates.keptBySeed(arm).values()]);
    const kept = (arm: string): string => range(whole.map((rates) => keptBy(arm, rates)));
    const count = (arm: string): number => whole.reduce((sum, rates) => sum + rates.failing(arm).length, 0);
    const [ownMean, screens] = arms.map((arm) => varied.flatMap(([, rates]) => rates.failing(arm)).length);
    expect(ownMean).toBe(0);
    const moreAtRandom = whole.filter((rates) => keptBy('screen-haar', rates) > keptBy('screen', rates));
    expect(moreAtRandom).toEqual([Rates.of('atlas-l-base-3'), Rates.of('atlas-l-problems-3')]);
    const held = 20 - Rates.of('atlas-d-parts').failing('own-absorb-haar').length;
    expect([5 - shipped.failing('own-absorb-haar').length, held]).toEqual([2, 4]);
    const ofBases = (arm: string): number[] => bases.map((rates) => difference(arm, rates));
    const interval = (arm: string): string => {
      const { low, high } = meanInterval(ofBases(arm), 0.95);
      expect(high).toBeLessThan(0);
      return `[${signed(low)}, ${signed(high)}]`;
    };
    const [absorbed, screened] = arms.map((arm) => list(ofBases(arm).map(signed)));
    expect(arms.flatMap((arm) => whole.map((rates) => difference(arm, rates))).filter((one) => one >= 0)).toEqual([]);
    const [last] = bases.slice(-1);
    const said = [
      `On ${words[bases.length]} bases, three sets of problems and by three sets of pairs own mean with others absorbed fails in none of ${5 * varied.length} runs and a screen by the direction in ${screens}; along random directions they fail in ${count('own-absorb-haar')} and ${count('screen-haar')} of ${5 * whole.length}`,
      `mean attempts of own mean are ${below('own-absorb')} below those along random directions, of the screen ${below('screen')}`,
      `On ${words[bases.length]} bases and three sets of problems the screen keeps ${kept('screen')} of the gain (random directions ${kept('screen-haar')}, vanilla ${kept('vanilla')}), own mean ${kept('own-absorb')} (random directions ${kept('own-absorb-haar')})`,
      `On that one, base 5, vanilla attempts in ${range(last.values('vanilla', 'attempts'))} and keeps ${average([...last.keptBySeed('vanilla').values()]).toFixed(2)}: all ${words[last.failing('vanilla').length]} runs fail`,
      `by base ${absorbed} for own mean, ${screened} for the screen`,
      `The 95% t interval over the ${words[bases.length]} bases is ${interval('own-absorb')} for own mean and ${interval('screen')} for the screen`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
  });

  it('has no prediction that is refuted', () => {
    const names = ['base-1', ...made.map((seed) => `base-${seed}`), 'problems-2', 'problems-3', 'pairs-other', 'pairs-second']; // biome-ignore format: one line
    const refuted = names.flatMap((name) =>
      Rates.of(`atlas-l-${name}`)
        .judge(readPredictions(`atlas-l-${name}`), 5)
        .filter(({ verdict }) => verdict === 'refuted')
        .map(({ prediction: { what }, reached }) => `${name}: ${what} ${reached} of 5`),
    );
    expect(refuted).toEqual([]);
  });
});

it('the margin of the claim on Qwen3 is told by what it would have said in the micro lab', () => {
  const rates = Rates.of('atlas-d-parts');
  const below = (arm: string): number => {
    const [own, haar] = [`${arm}-pairs`, `${arm}-haar`].map((name) => rates.bySeed(name, 'attempts'));
    expect(own.size).toBe(20);
    return [...own].filter(([seed, value]) => value - (haar.get(seed) ?? 0) <= -0.05 + 1e-9).length;
  };
  const recipe = readFileSync(`${root}recipes/qwen3-4b-claim.toml`, 'utf8').replace(/\n# /g, ' ');
  for (const said of [
    `absorbed, is 0.05 below its random placebo in ${below('own-absorb')} of 20 seeds`,
    `the gate with the own mean in ${below('activation-own')} of 20`,
    `others kept with the group's mean, whose direction did nothing that can be told, in ${below('group-keep')} of 20`,
  ])
    expect(recipe).toContain(said);
});

describe('the audit of the source documents', () => {
  const [claim, parts, rivals] = ['micro-claim', 'micro-ablation-placebos', 'micro-baseline-placebos'].map((name) => Rates.of(name)); // biome-ignore format: one line
  const audit = readFileSync(`${root}docs/seed-audit.md`, 'utf8').split('\n');
  const attempts = (rates: Rates, ...named: readonly string[]): number[] =>
    named.map((arm) => average([...rates.bySeed(arm, 'attempts').values()]));
  const solved = (state: string): number =>
    average([...claim.bySeed('no-loophole', 'solves', 'test-unhinted', state).values()]);
  const clean = (arm: string): number => average([...rivals.bySeed(arm, 'cleanSolves').values()]);

  it.each<[number, readonly number[]]>([
    [3, attempts(claim, 'symmetric', 'symmetric-haar')],
    [8, attempts(claim, 'gradient', 'gradient-haar')],
    [9, attempts(claim, 'activation', 'mass-matched')],
    [13, [solved('full'), solved('base')]],
    [25, attempts(parts, 'frozen-b', 'frozen-b-haar')],
    [26, attempts(parts, 'rank-2', 'rank-haar-2', 'rank-16', 'rank-haar-16')],
    [62, attempts(parts, 'frac-0.5', 'frac-0.5-haar')],
    [117, attempts(rivals, 'penalty-oracle', 'penalty-oracle-0.9', 'penalty-chance', 'routed-oracle-0.9', 'routed-chance')], // biome-ignore format: one line
    [118, attempts(rivals, 'screen-judge', 'screen-chance-0.8', 'routed-judge', 'routed-chance-0.8', 'penalty-judge', 'penalty-chance-0.8')], // biome-ignore format: one line
    [120, attempts(rivals, 'penalty-probe', 'zero-probe', 'screen-probe', 'probe-penalty', 'penalty-chance')],
    [121, [...attempts(rivals, 'modification', 'modification-haar', 'modification-additive-haar'), clean('modification'), clean('modification-additive')]], // biome-ignore format: one line
  ])('has the rates of the tables in row %i', (number, rates) => {
    const [, , , said = ''] = audit.find((line) => new RegExp(`^\\| ${number} +\\|`).test(line))?.split('|') ?? [];
    expect(said.match(/\b\d\.\d\d\b/g)).toEqual(rates.map((rate) => rate.toFixed(2)));
  });
});
