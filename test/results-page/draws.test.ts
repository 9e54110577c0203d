/** The many random draws: what its section says beside its tables. */
import { describe, expect, it } from 'vitest';
import { groupBy } from '../../src/base/index.ts';
import { average, binomialCdf, logRankTest, medianTime } from '../../src/stats/index.ts';
import { Rates, rankCorrelation, rounded } from './rates.ts';
import { list, range, textOf, words } from './sections.ts';

const rates = Rates.of('atlas-draws');
const draws = Array.from({ length: 8 }, (_, i) => `draw-${i + 1}`);
const attempts = (arm: string): Map<number, number> => rates.bySeed(arm, 'attempts');
const fails = (arm: string): string => `${rates.failing(arm).length} of ${attempts(arm).size}`;
const signed = (value: number): string => value.toFixed(2).replace('-', '−');

describe('the many draws', () => {
  it('says of the runs along random directions how many fail, by direction and together', () => {
    const failing = draws.map((arm) => rates.failing(arm).length);
    const seeds = attempts('own-mean').size;
    const said = [
      `fails in ${fails('own-mean')} seeds along the pairs' direction, along eight random ones in ${failing.reduce((sum, one) => sum + one, 0)} of ${8 * seeds} runs (${Math.min(...failing)} to ${Math.max(...failing)} of ${seeds} by direction), along the reversed one in ${fails('reversed')}`,
    ];
    expect(said.filter((sentence) => !textOf('atlas-draws').includes(sentence))).toEqual([]);
  });

  it('says what came of the statements that no machine checks', () => {
    const points = draws.flatMap((arm) => [...attempts(arm)].map(([seed, y]) => ({ arm, seed, y, x: rates.aurocBySeed(arm).get(seed) ?? Number.NaN }))); // biome-ignore format: one line
    const correlation = (some: typeof points): number => rankCorrelation(some.map(({ x }) => x), some.map(({ y }) => y)); // biome-ignore format: one line
    const [above, below, best] = [points.filter(({ x }) => x > 0.5), points.filter(({ x }) => x <= 0.5), points.filter(({ x }) => x >= 0.7)]; // biome-ignore format: one line
    const seeds = [...attempts('own-mean').keys()];
    /** Prompts of 256 between the pairs and the best draw of a seed. */
    const gaps = seeds.map((seed) => 256 * (Math.min(...draws.map((arm) => attempts(arm).get(seed) ?? 0)) - (attempts('own-mean').get(seed) ?? 0))); // biome-ignore format: one line
    const mean = (arm: string, key: 'x' | 'y'): number => average(points.filter((one) => one.arm === arm).map((one) => one[key])); // biome-ignore format: one line
    const overDraws = rankCorrelation(draws.map((arm) => mean(arm, 'x')), draws.map((arm) => mean(arm, 'y'))); // biome-ignore format: one line
    /** Share of the variance of attempts that lies between the groups of a key. */
    const shareOf = (key: (point: (typeof points)[number]) => string | number): string => {
      const grand = average(points.map(({ y }) => y));
      const squares = (values: readonly number[]): number => values.reduce((sum, y) => sum + (y - grand) ** 2, 0);
      const groups = [...groupBy(points, key).values()].map((group) => group.map(({ y }) => y));
      return (squares(groups.flatMap((ys) => ys.map(() => average(ys)))) / squares(points.map(({ y }) => y))).toFixed(2); // biome-ignore format: one line
    };
    const least = [...attempts('own-mean')].filter(([seed, own]) => draws.every((arm) => own < (attempts(arm).get(seed) ?? 0))).length; // biome-ignore format: one line
    const ofDraws = draws.flatMap((arm) => rates.waits(arm));
    const { pValue } = logRankTest(rates.waits('own-mean'), ofDraws);
    const along = (arm: string): string => range([...rates.aurocBySeed(arm).values()]);
    const said = [
      `though in ${words[gaps.filter((gap) => gap <= 6).length]} of ${words[seeds.length]} by six prompts of 256 or fewer to the best draw`,
      `which a coin reaches in ${(1 - binomialCdf(4, 10, 0.5)).toFixed(2)}`,
      `Spearman's correlation of attempts with the direction's AUROC over the ${points.length} runs is ${signed(correlation(points))}`,
      `the pairs attempt less than each of the eight draws in ${least} of ${attempts('own-mean').size} seeds`,
      `${rates.waits('own-mean').filter(({ happened }) => happened).length} of ${attempts('own-mean').size} along the pairs and ${ofDraws.filter(({ happened }) => happened).length} of ${ofDraws.length} along the draws have been above 0.10 (median ${medianTime(ofDraws)} updates; log-rank p ${pValue < 0.001 ? '< 0.001' : `= ${pValue.toFixed(3)}`},`,
      `The AUROC against attempts while training is ${along('own-mean')} along the pairs, ${range(points.map(({ x }) => x))} along the draws and ${along('reversed')} along the reversed direction`,
      `Over the means of the eight draws the correlation is ${signed(overDraws)} (${words[draws.length]} points); over the ${above.length} runs with an AUROC above 0.5 it is ${signed(correlation(above))}, over the ${below.length} others ${signed(correlation(below))}, and of the ${best.length} with 0.7 or more ${best.filter(({ y }) => y > 0.1).length} still fail. The draws' mean attempts are ${list(draws.map((arm) => rounded(mean(arm, 'y'), 2)))}`,
      `Of the variance of attempts over the ${points.length} runs ${shareOf(({ arm }) => arm)} goes with the direction and ${shareOf(({ seed }) => seed)} with the seed (by chance alone ${((draws.length - 1) / (points.length - 1)).toFixed(2)} and ${((seeds.length - 1) / (points.length - 1)).toFixed(2)}), most with neither. ${points.filter(({ y }) => y <= 0.1).length} of ${points.length} runs along a random direction do not fail`,
    ];
    expect(said.filter((sentence) => !textOf('atlas-draws').includes(sentence))).toEqual([]);
  });
});
