/** What docs/results.md says of study E, the size of the base, recomputed from the counts of the runs. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { average, bootstrapIndices, signTest } from '../../src/stats/index.ts';
import { plain, pText, Rates, readPredictions, root } from './rates.ts';
import { list, page, range, verdictsOf, words } from './sections.ts';

const text = plain(page.split(/^## /m).find((section) => section.startsWith('Size: ')) ?? '');
const sizes = { '2m': Rates.of('atlas-e-2m'), '8m': Rates.of('atlas-e-8m'), '27m': Rates.of('atlas-e-27m'), '100m': Rates.of('atlas-e-100m') }; // biome-ignore format: one line
type Size = keyof typeof sizes;

const fails = (size: Size, arm: string): number => sizes[size].failing(arm).length;
const clean = (size: Size, arm: string): number[] => sizes[size].values(arm, 'cleanSolves');
const kept = (size: Size, arm: string): string => average([...sizes[size].keptBySeed(arm).values()]).toFixed(2);
const unhinted = (size: Size, arm: string): Map<number, number> => sizes[size].bySeed(arm, 'solves', 'test-unhinted');
const aurocs = (size: Size, ...arms: readonly string[]): string => range(arms.flatMap((arm) => [...sizes[size].aurocBySeed(arm).values()])); // biome-ignore format: one line
/** Seeds in which an arm solves at least 0.2 less than the ceiling, without a hint. */
function lost(size: Size, arm: string): number[] {
  const ceiling = unhinted(size, 'no-loophole');
  const isLost = ([seed, solve]: [number, number]): boolean => solve <= (ceiling.get(seed) ?? 0) - 0.2 + 1e-9;
  return [...unhinted(size, arm)].filter(isLost).map(([seed]) => seed);
}
const mean = (size: Size, arm: string, seeds = [...sizes[size].bySeed(arm, 'attempts').keys()]): number =>
  average(seeds.map((seed) => sizes[size].bySeed(arm, 'attempts').get(seed) ?? Number.NaN));
const shared = [701, 702, 703, 704, 705];

describe('what the text says', () => {
  it('of the rates by the KL, and of 8M, 27M and 100M', () => {
    const lines = readFileSync(`${root}bench/results/atlas-e-kl.csv`, 'utf8').trim().split('\n').slice(1);
    const moves = lines.map((line) => line.split(','));
    const cell = (size: string, rate: number): string =>
      moves
        .filter(([own, ownRate]) => own === size && Number(ownRate) === rate)
        .map(([, , , , kl]) => (kl === '' ? 'lost' : Number(kl).toFixed(2)))
        .join(' ');
    const shipped = average(moves.filter(([size, rate]) => size === '2M' && rate === '0.0004').map((row) => Number(row[4])));
    const large = sizes['100m'];
    const two = (values: readonly number[]): string => list(values.map((value) => value.toFixed(2)));
    const without = (size: Size, arm: string): number => clean(size, arm).filter((rate) => rate < 0.01).length;
    const judged = large.judge(readPredictions('atlas-e-100m'), 5).filter(({ verdict }) => verdict === 'refuted');
    const means = (arm: string): number[] => (Object.keys(sizes) as Size[]).map((size) => mean(size, arm, shared));
    const own = means('own-mean');
    const said = [
      ...['2M', '8M', '27M', '100M'].map((size) => [size, ...[1e-4, 2e-4, 4e-4, 8e-4].map((rate) => cell(size, rate))].join(' | ')),
      `(${shipped.toFixed(2)}, so ${(1.5 * shipped).toFixed(2)})`,
      `Vanilla attempts in ${range(sizes['27m'].values('vanilla', 'attempts'))} of the prompts and fails in ${fails('27m', 'vanilla')} of 5`,
      `the skill in ${without('8m', 'penalty-3')} of 5 seeds (clean solve 0.00; 0.54 and 0.55 in the other two)`,
      `vanilla keeps ${kept('8m', 'vanilla')} without a hint`,
      `The screen fails in ${fails('8m', 'screen')} of 5 (random direction ${fails('8m', 'screen-haar')}), own mean with others kept in ${fails('8m', 'own-mean')} of 5 (${fails('8m', 'own-mean-haar')}): exact McNemar p = ${sizes['8m'].discordant('own-mean', 'screen').pValue.toFixed(0)}`,
      `its random placebo loses it in ${without('8m', 'penalty-3-haar')} of 5 too`,
      `${Object.values(sizes).reduce((sum, { runs }) => sum + runs, 0)} runs were made`,
      ...Object.entries({ '2m': 'eight', '8m': 'seven', '27m': 'eight', '100m': 'seven' }).map(([size, count]) => `Of ${count} predictions ${verdictsOf(`atlas-e-${size}`)}`),
      `${list(own.map((one) => one.toFixed(3)))} at 2M, 8M, 27M and 100M (random directions ${two(means('own-mean-haar'))}), so they fall and rise, and two are ${(Math.max(...own) - Math.min(...own)).toFixed(3)} apart`,
      `At 100M own mean with others kept fails in ${fails('100m', 'own-mean')} of 5 (${fails('100m', 'own-mean-haar')}), the screen in ${fails('100m', 'screen')} of 5 (${fails('100m', 'screen-haar')})`,
      `attempts in ${two(large.values('own-mean', 'attempts'))} (random directions ${range(large.values('own-mean-haar', 'attempts'))})`,
      `that own mean with others kept does not fail (${judged[0].reached} of 5; ${judged[0].prediction.inSeeds} asked for) and that it attempts 0.25 less than along a random direction (${judged[1].reached} of 5; ${judged[1].prediction.inSeeds} asked for);`,
      `Penalty 3 fails in ${fails('100m', 'penalty-3')} of 5 (${fails('100m', 'penalty-3-haar')}) and loses the skill in ${without('100m', 'penalty-3')} of 5 (clean solve 0.00; ${two(clean('100m', 'penalty-3').filter((rate) => rate > 0.01))} in the other two); at least 0.2 below the ceiling is its placebo in ${lost('100m', 'penalty-3-haar').length} of 5 and vanilla in none`,
      `Own mean against its placebo ${words[large.discordant('own-mean-haar', 'own-mean').first]} and none, against the screen ${words[large.discordant('own-mean', 'screen').first]} and none: p = ${pText(large.discordant('own-mean-haar', 'own-mean').pValue)} and ${pText(large.discordant('own-mean', 'screen').pValue)}`,
      `At 100M: ${aurocs('100m', 'own-mean')} under own mean, ${aurocs('100m', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('100m', 'own-mean-haar', 'screen-haar', 'penalty-3-haar')} along random directions`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(fails('27m', 'own-mean-haar')).toBe(0);
    expect(judged.map(({ prediction }) => [prediction.arm, prediction.reference])).toEqual([['own-mean', null], ['own-mean', 'own-mean-haar']]);
    expect([large.discordant('own-mean-haar', 'own-mean').second, large.discordant('own-mean', 'screen').second, lost('100m', 'vanilla').length]).toEqual([0, 0, 0]);
    expect([own[1] < own[0], own[2] < own[1], own[3] < own[2]]).toEqual([true, true, false]);
    // The rule: the largest rate whose KL is bounded in both seeds.
    const bounded = [1e-4, 2e-4, 4e-4, 8e-4].filter((rate) => moves.every(([size, own, , , kl]) => size !== '100M' || Number(own) !== rate || Number(kl) <= 1.5 * shipped));
    expect(bounded.at(-1)).toBe(4e-4);
  }); // biome-ignore format: sentences

  it('of twenty seeds at 2M', () => {
    const rates = sizes['2m'];
    const [all, few, other] = [mean('2m', 'own-mean'), mean('2m', 'own-mean', shared), mean('27m', 'own-mean')];
    const count = (arm: string): number => fails('2m', arm);
    const solve = (arm: string): string => average(clean('2m', arm)).toFixed(2);
    const only = (first: string, second: string) => rates.discordant(first, second);
    const p = (first: string, second: string): string => {
      const told = pText(only(first, second).pValue);
      return told.startsWith('<') ? `p ${told}` : `p = ${told}`;
    };
    const lostByPenalty = lost('2m', 'penalty-3');
    const judged = rates.judge(readPredictions('atlas-e-2m'), 20);
    const [ownMean, absorbed] = ['own-mean', 'own-absorb'].map((name) => judged.filter(({ prediction: { arm, reference } }) => arm === name && reference === null)[0]);
    const higher = (of: (arm: string) => readonly number[]): number => of('screen').filter((rate, i) => rate > of('own-absorb')[i]).length;
    const solves = (arm: string): number[] => [...unhinted('2m', arm).values()];
    const said = [
      `not decided (${all.toFixed(3)} in the twenty seeds of 2M and ${other.toFixed(3)} in the five of 27M are ${(all - other).toFixed(3)} apart, in the five seeds that both have ${few.toFixed(3)} and ${other.toFixed(3)}, ${(few - other).toFixed(3)} apart);`,
      `a screen by the direction fails in ${count('screen')} of 20 with a clean solve of ${solve('screen')} and ${kept('2m', 'screen')} kept (random directions: ${count('screen-haar')} of 20 fail), own mean with others absorbed in ${count('own-absorb')} of 20 with ${solve('own-absorb')} and ${kept('2m', 'own-absorb')} (${count('own-absorb-haar')}), penalty 3 in ${count('penalty-3')} of 20 (${count('penalty-3-haar')}), own mean with others kept in ${count('own-mean')} of 20 (${count('own-mean-haar')}), the gate with two cuts in ${count('activation')} of 20 (${count('activation-haar')}).`,
      `${only('own-mean-haar', 'own-mean').first} seeds in which only the placebo fails, none the other way (${p('own-mean-haar', 'own-mean')}); against the screen, penalty 3 and others absorbed ${words[only('own-mean', 'screen').first]} and none (${p('own-mean', 'screen')} each)`,
      `not to fail in ${ownMean.prediction.inSeeds} of 20, is ${ownMean.verdict} with ${ownMean.reached} (p after Holm ${pText(ownMean.adjusted)})`,
      `it failed in ${Rates.of('atlas-d').failing('own-keep-pairs').length} of 20 (random direction ${Rates.of('atlas-d').failing('own-keep-haar').length})`,
      `in ${lostByPenalty.length} of 20 seeds much of the skill: without a hint it solves ${list(lostByPenalty.map((seed) => (unhinted('2m', 'penalty-3').get(seed) ?? Number.NaN).toFixed(2)))} in seeds ${list(lostByPenalty)}, where a sound grader teaches ${range([...unhinted('2m', 'no-loophole').values()])}`,
      `are also its random placebo in ${lost('2m', 'penalty-3-haar').length} of 20, own mean in ${lost('2m', 'own-mean').length} (placebo ${lost('2m', 'own-mean-haar').length}), vanilla in ${lost('2m', 'vanilla').length}, and the screen (placebo ${lost('2m', 'screen-haar').length}), own mean with others absorbed (placebo ${lost('2m', 'own-absorb-haar').length}) and the gate (placebo ${lost('2m', 'activation-haar').length}) in none`,
      `(of ${Object.keys(sizes).reduce((sum, size) => sum + readPredictions(`atlas-e-${size}`).length, 0)} predictions over the four sizes)`,
      `random direction ${Rates.of('atlas-d-parts').failing('own-absorb-haar').length}).`,
      `the screen has the higher clean solve in ${higher((arm) => clean('2m', arm))} of 20 (${solve('screen')} against ${solve('own-absorb')}) and solves more without a hint in ${higher(solves)} of 20 (both sign tests p < 0.001); along random directions clean solve is ${solve('screen-haar')} and ${solve('own-absorb-haar')}`,
      `attempts in ${range(rates.values('activation', 'attempts'))} of the prompts, along a random direction in ${range(rates.values('activation-haar', 'attempts'))}, lower in 20 of 20 (${words[only('activation-haar', 'activation').first]} seeds in which only the placebo fails, ${p('activation-haar', 'activation')})`,
      `own mean with others kept (${words[only('activation', 'own-mean').first]} and ${words[only('activation', 'own-mean').second]}, ${p('activation', 'own-mean')}), absorbed and the screen (${only('activation', 'own-absorb').first} and none each, ${p('activation', 'own-absorb')})`,
      `it failed in ${Rates.of('atlas-d-parts').failing('activation-group-pairs').length} of 20 (random direction ${Rates.of('atlas-d-parts').failing('activation-group-haar').length})`,
      `At 2M: ${aurocs('2m', 'own-mean')} under own mean, ${aurocs('2m', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('2m', 'own-absorb')} with others absorbed, ${aurocs('2m', 'activation')} under the gate; along random directions ${aurocs('2m', ...['own-mean', 'screen', 'penalty-3', 'own-absorb', 'activation'].map((arm) => `${arm}-haar`))}`,
      `${rates.runs} of the 300 stated runs`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect([...['screen', 'own-absorb', 'activation'].flatMap((arm) => lost('2m', arm)), ...lostByPenalty.filter((seed) => seed <= 705)]).toEqual([]);
    for (const arm of ['screen', 'penalty-3', 'own-absorb']) expect(only('own-mean', arm)).toEqual(only('own-mean', 'screen'));
    expect(only('activation', 'screen')).toEqual(only('activation', 'own-absorb'));
    const others = [only('own-mean-haar', 'own-mean'), only('own-mean', 'screen'), only('own-absorb-haar', 'own-absorb'), only('activation-haar', 'activation'), only('activation', 'screen')];
    expect(others.map(({ second }) => second)).toEqual([0, 0, 0, 0, 0]);
    expect(absorbed.verdict).toBe('met');
    for (const of of [(arm: string) => clean('2m', arm), solves]) expect(signTest(of('screen'), of('own-absorb')).pValue).toBeLessThan(0.001);
    const gate = rates.bySeed('activation', 'attempts');
    expect([...rates.bySeed('activation-haar', 'attempts')].filter(([seed, rate]) => rate > (gate.get(seed) ?? 1))).toHaveLength(20);
    for (const arm of ['own-mean', 'screen']) expect([...rates.aurocBySeed(arm).keys()]).toEqual(Array.from({ length: 15 }, (_, i) => 706 + i));
    for (const arm of ['own-absorb', 'activation']) expect(rates.aurocBySeed(arm).size).toBe(20);
  }); // biome-ignore format: sentences

  it('of the absorption index at 2M, as the recipe defines it', () => {
    const leaks = ['r1', 'r0.6', 'r0'].map((recall) => sizes['2m'].values(`absorption-${recall}`, 'attempts'));
    const of = (indices: Uint32Array): { leak: number[]; line: number; index: number } => {
      const leak = leaks.map((values) => average([...indices].map((i) => values[i])));
      const line = leak[0] + (1 - 0.6) * (leak[2] - leak[0]);
      return { leak, line, index: 1 - leak[1] / line };
    };
    const { leak, line, index } = of(Uint32Array.from(leaks[0], (_, i) => i));
    const { low, high } = bootstrapIndices(20, (indices) => of(indices).index, { seed: 1, resamples: 100_000 });
    const three = (value: number): string => value.toFixed(3);
    const said = [
      `A(0.6) = ${index.toFixed(2)} [${low.toFixed(2).replace('-', '−')}, ${high.toFixed(2)}], not told from zero`,
      `leaves ${three(leak[0])} of attempts at recall 1, ${three(leak[1])} at recall 0.6 and ${three(leak[2])} at recall 0, its control, at which nothing is flagged; the straight line has ${three(line)} at 0.6`,
      `from vanilla's ${mean('2m', 'vanilla').toFixed(2)} to ${leak[2].toFixed(2)} with no flag at all`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(low < 0 && high > 0).toBe(true);
  });
});
