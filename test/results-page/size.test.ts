/** What docs/results.md says of study E, the size of the base, recomputed from the counts of the runs. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { average, bootstrapIndices, exactInterval, signTest } from '../../src/stats/index.ts';
import { experimentOf, plain, pText, Rates, readPredictions, root } from './rates.ts';
import { list, page, range, verdictsOf, words } from './sections.ts';

const text = plain(page.split(/^## /m).find((section) => section.startsWith('Size: ')) ?? '');
const names = ['1m', '2m', '8m', '27m', '27m-4e-4', '100m'] as const;
type Size = (typeof names)[number];
const sizes = Object.fromEntries(names.map((name) => [name, Rates.of(`atlas-e-${name}`)])) as Record<Size, Rates>;
/** The sizes of the ladder that were run, each at the rate that the rule chose. */
const ladder = ['2m', '8m', '27m', '100m'] as const;

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
const two = (values: readonly number[]): string => list(values.map((value) => value.toFixed(2)));
const three = (value: number): string => value.toFixed(3);
const pOf = (size: Size, first: string, second: string): string => pText(sizes[size].discordant(first, second).pValue);
/** Seeds in which only the first fails, and only the second, in words. */
const onlyIn = (size: Size, first: string, second: string): [string, string] => {
  const { first: one, second: other } = sizes[size].discordant(first, second);
  return [words[one], other === 0 ? 'none' : words[other]];
};
/** How many seeds reach each prediction that was refuted, with the seeds asked for. */
const refutedOf = (size: Size): string[] =>
  sizes[size]
    .judge(readPredictions(`atlas-e-${size}`), size === '2m' || size === '27m' ? 20 : 5)
    .filter(({ verdict }) => verdict === 'refuted')
    .map(
      ({ prediction: { arm, reference, inSeeds }, reached, n }) =>
        `${arm} ${reference}: ${reached} of ${n}; ${inSeeds}`,
    );

/** The index of the recipe, A(0.6), with its 95% interval over seeds. */
function absorptionOf(size: Size) {
  const leaks = ['r1', 'r0.6', 'r0'].map((recall) => sizes[size].values(`absorption-${recall}`, 'attempts'));
  const of = (indices: Uint32Array): { leak: number[]; line: number; index: number } => {
    const leak = leaks.map((values) => average([...indices].map((i) => values[i])));
    const line = leak[0] + (1 - 0.6) * (leak[2] - leak[0]);
    return { leak, line, index: 1 - leak[1] / line };
  };
  const { low, high } = bootstrapIndices(leaks[0].length, (indices) => of(indices).index, { seed: 1, resamples: 100_000 });
  return { ...of(Uint32Array.from(leaks[0], (_, i) => i)), low, high };
} // biome-ignore format: one line

describe('what the text says', () => {
  it('of the rates by the KL, and of 8M, 27M and 100M', () => {
    const lines = readFileSync(`${root}bench/results/atlas-e-kl.csv`, 'utf8').trim().split('\n').slice(1);
    const moves = lines.map((line) => line.split(','));
    const ownDevice = (size: string): string => (size === '1M' ? 'wasm' : 'cuda');
    const cell = (size: string, rate: number): string =>
      moves
        .filter(([own, ownRate, , , , device]) => own === size && Number(ownRate) === rate && device === ownDevice(size))
        .map(([, , , , kl]) => (kl === '' ? 'lost' : Number(kl).toFixed(2)))
        .join(' ');
    const shippedOn = (wanted: string): number =>
      average(moves.filter(([size, rate, , , , device]) => size === '2M' && rate === '0.0004' && device === wanted).map((row) => Number(row[4])));
    const rule = (wanted: string): string => `${shippedOn(wanted).toFixed(2)}, so ${(1.5 * shippedOn(wanted)).toFixed(2)}`;
    const large = sizes['100m'];
    const without = (size: Size, arm: string): number => clean(size, arm).filter((rate) => rate < 0.01).length;
    const said = [
      ...['1M', '2M', '8M', '27M', '100M'].map((size) => [size, ...[1e-4, 2e-4, 4e-4, 8e-4].map((rate) => cell(size, rate))].join(' | ')),
      `(${rule('cuda')}; for 1M both on wasm, ${rule('wasm')})`,
      `the skill in ${without('8m', 'penalty-3')} of 5 seeds (clean solve 0.00; 0.54 and 0.55 in the other two)`,
      `vanilla keeps ${kept('8m', 'vanilla')} without a hint`,
      `The screen fails in ${fails('8m', 'screen')} of 5 (random direction ${fails('8m', 'screen-haar')}), own mean with others kept in ${fails('8m', 'own-mean')} of 5 (${fails('8m', 'own-mean-haar')}): exact McNemar p = ${sizes['8m'].discordant('own-mean', 'screen').pValue.toFixed(0)}`,
      `its random placebo loses it in ${without('8m', 'penalty-3-haar')} of 5 too`,
      `${Object.values(sizes).reduce((sum, { runs }) => sum + runs, 0)} runs were made`,
      ...Object.entries({ '1m': 'ten', '2m': 'eight', '8m': 'seven', '27m': 'eight', '27m-4e-4': 'eight', '100m': 'seven' }).map(([size, count]) => `Of ${count} predictions ${verdictsOf(`atlas-e-${size}`)}`.replace(/\.$/, '')),
      `At 100M own mean with others kept fails in ${fails('100m', 'own-mean')} of 5 (${fails('100m', 'own-mean-haar')}), the screen in ${fails('100m', 'screen')} of 5 (${fails('100m', 'screen-haar')})`,
      `attempts in ${two(large.values('own-mean', 'attempts'))} (random directions ${range(large.values('own-mean-haar', 'attempts'))})`,
      `Penalty 3 fails in ${fails('100m', 'penalty-3')} of 5 (${fails('100m', 'penalty-3-haar')}) and loses the skill in ${without('100m', 'penalty-3')} of 5 (clean solve 0.00; ${two(clean('100m', 'penalty-3').filter((rate) => rate > 0.01))} in the other two); at least 0.2 below the ceiling is its placebo in ${lost('100m', 'penalty-3-haar').length} of 5 and vanilla in none`,
      `Own mean against its placebo ${onlyIn('100m', 'own-mean-haar', 'own-mean').join(' and ')}, against the screen ${onlyIn('100m', 'own-mean', 'screen').join(' and ')}: p = ${pOf('100m', 'own-mean-haar', 'own-mean')} and ${pOf('100m', 'own-mean', 'screen')}`,
      `At 100M: ${aurocs('100m', 'own-mean')} under own mean, ${aurocs('100m', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('100m', 'own-mean-haar', 'screen-haar', 'penalty-3-haar')} along random directions`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(lost('100m', 'vanilla')).toEqual([]);
    // The rule: the largest rate whose KL is bounded in both seeds, the least where none is.
    const chosen = (size: string): number => [1e-4, 2e-4, 4e-4, 8e-4].filter((rate) => moves.every(([other, own, , , kl, device]) => other !== size || device !== ownDevice(size) || Number(own) !== rate || (kl !== '' && Number(kl) <= 1.5 * shippedOn(ownDevice(size))))).at(-1) ?? 1e-4;
    expect(['1M', '27M', '100M'].map(chosen)).toEqual([8e-4, 1e-4, 4e-4]);
    expect(text).toContain('So 1M was given 8e-4, 27M 1e-4, 8M and 100M 4e-4; at the shipped rate 27M moves about three times as far as the rule allows.');
    const far = average(moves.filter(([size, rate]) => size === '27M' && rate === '0.0004').map((row) => Number(row[4]))) / (1.5 * shippedOn('cuda'));
    expect(Math.round(far)).toBe(3);
  }); // biome-ignore format: sentences

  it('of the runs that were made, and in words under the figure', () => {
    const made = (size: Size): number => sizes[size].arms.length;
    const { length: ofAll } = experimentOf('atlas-e-2m').arms;
    const seedsOf = (size: Size): number => clean(size, 'screen').length;
    const ofFive = (size: Size, arm: string): string => `${words[fails(size, arm)]} of ${seedsOf(size) === 20 ? 'twenty' : 'five'}`;
    const first = sizes['27m'].failing('vanilla').filter((seed) => seed <= 705);
    const interval = (n: number): string => `[${two([exactInterval(0, n).low, exactInterval(0, n).high]).replace(' and', ',')}]`;
    const said = [
      `at 2M all ${made('2m')} arms on all ${seedsOf('2m')} seeds, at 1M all ${made('1m')} on seeds 701 to 705, at 27M ${made('27m')} of ${ofAll} on all ${seedsOf('27m')} and, at the shipped rate, ${made('27m-4e-4')} on seeds 701 to 705, at 8M and 100M ${made('8m')} of ${ofAll} on these.`,
      `at the rule's rate vanilla had failed in ${first.length} of 5`,
      `Not run: ${words[ofAll - made('27m')]} other arms at 8M, 27M and 100M`,
      `own mean with others kept is above 0.10 in ${ofFive('1m', 'own-mean')} seeds at 1M, ${ofFive('2m', 'own-mean')} at 2M, ${ofFive('8m', 'own-mean')} at 8M and ${ofFive('100m', 'own-mean')} at 100M`,
      `the gate is above 0.10 in ${ofFive('1m', 'activation')} seeds at 1M and in ${ofFive('2m', 'activation')} at 2M`,
      `0 of 20 is ${interval(20)};`,
      `0 of 5 is ${interval(5)}.`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(names.map((size) => fails(size, 'screen'))).toEqual(names.map(() => 0));
    expect(names.map(seedsOf)).toEqual([5, 20, 5, 20, 5, 5]);
    expect([made('2m'), made('1m'), made('8m'), made('100m')]).toEqual([ofAll, ofAll, made('27m'), made('27m')]);
    for (const size of ['1m', '27m-4e-4', '8m', '100m'] as const) expect([...sizes[size].bySeed('screen', 'attempts').keys()]).toEqual(shared);
    for (const size of names) expect(sizes[size].runs).toBe(made(size) * seedsOf(size));
  }); // biome-ignore format: sentences

  it('of the predictions that were refuted', () => {
    const [small, one, twenty, large] = (['1m', '2m', '27m', '100m'] as const).map(refutedOf);
    const count = [...ladder, '1m'].reduce((sum, size) => sum + readPredictions(`atlas-e-${size}`).length, 0);
    const asked = (told: string): string => told.split(': ')[1].replace(/$/, ' asked for');
    const reached = (told: string): string => told.split(': ')[1].split(';')[0];
    const lacking = (told: string): string => told.split('; ')[1];
    const said = [
      `(of ${count} predictions over the five sizes)`,
      `at 1M, that own mean with others kept does not fail (${asked(small[0])}) and that it attempts 0.25 less than along a random direction (${asked(small[1])});`,
      `at 100M, the same two (${asked(large[0])}, and ${asked(large[1])});`,
      `at 27M, that vanilla fails (${asked(twenty[0])}), that own mean with others kept and the screen attempt 0.25 less than along random directions (${reached(twenty[1]).split(' ')[0]} and ${reached(twenty[2])}; ${lacking(twenty[2])} asked for each) and, as at 2M where it was expected to be, that penalty 3 loses the skill (${asked(twenty[3])}).`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    const about = (told: readonly string[]): string[] => told.map((each) => each.split(':')[0]);
    const ofOwnMean = ['own-mean null', 'own-mean own-mean-haar'];
    expect([small, large].map(about)).toEqual([ofOwnMean, ofOwnMean]);
    expect(about(twenty)).toEqual(['vanilla null', ofOwnMean[1], 'screen screen-haar', 'penalty-3 no-loophole']);
    expect([about(one), refutedOf('8m'), lacking(twenty[1])]).toEqual([['penalty-3 no-loophole'], [], lacking(twenty[2])]);
  }); // biome-ignore format: sentences

  it('of the statements over sizes', () => {
    const own = ladder.map((size) => mean(size, 'own-mean', shared));
    const [small, large] = (['2m', '27m'] as const).map((size) => sizes[size].values('own-mean', 'attempts'));
    const apart = small.map((rate, i) => rate - large[i]);
    const { low, high } = bootstrapIndices(20, (indices) => average([...indices].map((i) => apart[i])), { seed: 1, resamples: 100_000 });
    const pair = (arm: string, told: (value: number) => string, of = (size: Size): number => mean(size, arm, shared)): string => (['1m', '2m'] as const).map((size) => told(of(size))).join(' and ');
    const short = (value: number): string => value.toFixed(2);
    const cleanOf = (arm: string) => (size: Size): number => average(shared.map((seed) => sizes[size].bySeed(arm, 'cleanSolves').get(seed) ?? Number.NaN));
    const said = [
      `Over the twenty seeds they are ${three(mean('2m', 'own-mean'))} and ${three(mean('27m', 'own-mean'))}, ${three(average(apart))} apart, with a 95% interval of ${three(low)} to ${three(high)} (bootstrap over seeds, BCa, not stated), and at 27M a random direction leaves ${three(mean('27m', 'own-mean-haar'))}.`,
      `${list(own.map(three))} at 2M, 8M, 27M and 100M (random directions ${two(ladder.map((size) => mean(size, 'own-mean-haar', shared)))}), so they fall and rise, and two are ${three(Math.max(...own) - Math.min(...own))} apart, which no other size can mend. At 1M, which is not of that ladder, it is ${three(mean('1m', 'own-mean'))} (${short(mean('1m', 'own-mean-haar'))}); at 27M at the shipped rate ${three(mean('27m-4e-4', 'own-mean'))} (${short(mean('27m-4e-4', 'own-mean-haar'))}).`,
      `holds for own mean with others absorbed (${pair('own-absorb', three)}; random directions ${pair('own-absorb-haar', short)}) and for the screen (${pair('screen', three)}; ${pair('screen-haar', short)})`,
      `clean solve with others absorbed is ${pair('own-absorb', short, cleanOf('own-absorb'))}, under the screen ${pair('screen', short, cleanOf('screen'))}.`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(average(apart) <= 0.1 && high > 0.1).toBe(true);
    expect([own[1] < own[0], own[2] < own[1], own[3] < own[2]]).toEqual([true, true, false]);
    expect(Math.max(...own) - Math.min(...own)).toBeGreaterThan(0.1);
    expect(text).toContain('both refuted, whatever 300M and 1B give');
    for (const arm of ['own-absorb', 'screen']) expect(Math.abs(mean('1m', arm, shared) - mean('2m', arm, shared))).toBeLessThanOrEqual(0.05);
  }); // biome-ignore format: sentences

  it('of penalty 3 at every size', () => {
    const told = names.map((size) => [`${lost(size, 'penalty-3').length} of ${clean(size, 'penalty-3').length}`, lost(size, 'penalty-3-haar').length] as const);
    const [[small], [two], [eight], [ruled], [shipped], [large]] = told;
    expect(text).toContain(`in ${small} at 1M, ${two} at 2M, ${eight} at 8M, ${ruled} at 27M, there at the shipped rate ${shipped}, and ${large} at 100M; its random placebo does so in ${list(told.map(([, placebo]) => placebo))}, so that`);
    expect(names.map((size) => fails(size, 'penalty-3'))).toEqual(names.map(() => 0));
  }); // biome-ignore format: sentences

  it('of five seeds at 1M', () => {
    const rates = sizes['1m'];
    const higher = clean('1m', 'screen').filter((rate, i) => rate > clean('1m', 'own-absorb')[i]).length;
    const below = (arm: string): number => lost('1m', arm).length;
    const said = [
      `At 1M, in five, own mean with others kept fails in ${fails('1m', 'own-mean')} (random direction ${fails('1m', 'own-mean-haar')}), with others absorbed in ${fails('1m', 'own-absorb')} (${fails('1m', 'own-absorb-haar')}) at ${kept('1m', 'own-absorb')} kept, the screen in ${fails('1m', 'screen')} (${fails('1m', 'screen-haar')}) at ${kept('1m', 'screen')}.`,
      `own mean with others kept attempts in ${two(rates.values('own-mean', 'attempts'))} (random directions ${range(rates.values('own-mean-haar', 'attempts'))}). Against its placebo ${onlyIn('1m', 'own-mean-haar', 'own-mean').join(' and ')}, against others absorbed and the screen ${onlyIn('1m', 'own-mean', 'screen').join(' and ')} each: p = ${pOf('1m', 'own-mean-haar', 'own-mean')} and ${pOf('1m', 'own-mean', 'screen')}`,
      `at least 0.2 below the ceiling in ${below('own-absorb')} of 5 (placebo ${below('own-absorb-haar')}; vanilla ${below('vanilla')}), the screen in ${below('screen') === 0 ? 'none' : 'some'} (placebo ${below('screen-haar')}), which has the higher clean solve in ${higher} of 5`,
      `The gate fails in ${fails('1m', 'activation')} of 5 (${fails('1m', 'activation-haar')}), with attempts of ${range(rates.values('activation', 'attempts'))} (${range(rates.values('activation-haar', 'attempts'))})`,
      `At 1M: ${aurocs('1m', 'own-mean')} under own mean, ${aurocs('1m', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('1m', 'own-absorb')} with others absorbed, ${aurocs('1m', 'activation')} under the gate; along random directions ${aurocs('1m', ...['own-mean', 'screen', 'penalty-3', 'own-absorb', 'activation'].map((arm) => `${arm}-haar`))}`,
      `Others absorbed remove every attempt and much of the skill`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(onlyIn('1m', 'own-mean', 'own-absorb')).toEqual(onlyIn('1m', 'own-mean', 'screen'));
    expect(rates.values('own-absorb', 'attempts').every((rate) => rate === 0)).toBe(true);
  }); // biome-ignore format: sentences

  it('of 27M, at the rate of the rule and at the shipped one', () => {
    const [rates, shipped] = [sizes['27m'], sizes['27m-4e-4']];
    const against = (arm: string): string => onlyIn('27m', `${arm}-haar`, arm).join(' and ');
    const placebos = (arm: string): string => pOf('27m', `${arm}-haar`, arm);
    const own = ['own-mean', 'own-absorb', 'screen'];
    const counts = own.map((arm) => onlyIn('27m-4e-4', `${arm}-haar`, arm));
    const [asked] = readPredictions('atlas-e-27m-4e-4').filter(({ arm, metric }) => arm === 'penalty-3' && metric === 'solve');
    const skilled = clean('27m-4e-4', 'penalty-3').filter((rate) => rate >= 0.01);
    const said = [
      `At 27M at the shipped rate all three fail in ${fails('27m-4e-4', 'own-mean')} of 5 (${list(own.map((arm) => fails('27m-4e-4', `${arm}-haar`)))})`,
      `nothing follows for own mean, which along a random direction fails in ${fails('27m', 'own-mean-haar')} of 20 too`,
      `Vanilla attempts in ${range(rates.values('vanilla', 'attempts'))} of the prompts, ${mean('27m', 'vanilla').toFixed(2)} on average, and fails in ${fails('27m', 'vanilla')} of 20; own mean along a random direction fails in none of them (${rates.discordant('vanilla', 'own-mean-haar').first} and ${onlyIn('27m', 'vanilla', 'own-mean-haar')[1]}, p ${pOf('27m', 'vanilla', 'own-mean-haar')})`,
      `own mean fails in ${fails('27m', 'screen')} of 20 tells nothing of its direction (against its placebo ${against('own-mean').replace('no ', 'none ')}, p = ${placebos('own-mean')}), and that the screen does is not shown to be the work of its own (${against('screen')}, p = ${placebos('screen')})`,
      `Penalty 3 fails in ${fails('27m', 'penalty-3')} of 20, along a random direction in ${fails('27m', 'penalty-3-haar')} (p = ${placebos('penalty-3')}), and keeps ${kept('27m', 'penalty-3')}`,
      `vanilla attempts in ${range(shipped.values('vanilla', 'attempts'))}. Own mean with others kept, others absorbed and the screen against their placebos ${list(counts.map(([first]) => first))} and ${counts[0][1]}: p = ${list(own.map((arm) => pOf('27m-4e-4', `${arm}-haar`, arm)))}`,
      `They keep ${list(own.map((arm) => kept('27m-4e-4', arm)))} (random directions ${list(own.map((arm) => kept('27m-4e-4', `${arm}-haar`)))}; vanilla ${kept('27m-4e-4', 'vanilla')})`,
      `Penalty 3 loses the skill in ${lost('27m-4e-4', 'penalty-3').length} of 5 (clean solve 0.00; ${two(skilled)} in the other; without a hint at least 0.2 below the ceiling in the same ${words[lost('27m-4e-4', 'penalty-3').length]}), which was predicted for ${asked.inSeeds} of 20 seeds; so far below is its placebo in ${lost('27m-4e-4', 'penalty-3-haar').length} of 5 too, and vanilla in ${lost('27m-4e-4', 'vanilla').length}`,
      `At 27M, seeds 706 to 720: ${aurocs('27m', 'own-mean')} under own mean, ${aurocs('27m', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('27m', 'own-mean-haar', 'screen-haar', 'penalty-3-haar')} along random directions; at the shipped rate ${aurocs('27m-4e-4', 'own-mean')} under own mean, ${aurocs('27m-4e-4', 'own-absorb')} with others absorbed, ${aurocs('27m-4e-4', 'screen', 'penalty-3')} under the screen and penalty 3, ${aurocs('27m-4e-4', ...[...own, 'penalty-3'].map((arm) => `${arm}-haar`))} along random directions`,
      `${rates.runs} of the 300 stated runs`,
      `${shipped.runs} of the 300 stated runs`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    for (const arm of own) expect([fails('27m-4e-4', arm), onlyIn('27m-4e-4', `${arm}-haar`, arm)[1]]).toEqual([0, 'none']);
    expect([fails('27m', 'own-mean'), onlyIn('27m', 'penalty-3-haar', 'penalty-3')[1]]).toEqual([0, 'none']);
    const noSkill = [...shipped.bySeed('penalty-3', 'cleanSolves')].filter(([, rate]) => rate < 0.01).map(([seed]) => seed);
    expect(lost('27m-4e-4', 'penalty-3')).toEqual(noSkill);
    for (const arm of ['own-mean', 'screen', 'penalty-3']) expect([...rates.aurocBySeed(arm).keys()]).toEqual(Array.from({ length: 15 }, (_, i) => 706 + i));
  }); // biome-ignore format: sentences

  it('of twenty seeds at 2M', () => {
    const rates = sizes['2m'];
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
      `a screen by the direction fails in ${count('screen')} of 20 with a clean solve of ${solve('screen')} and ${kept('2m', 'screen')} kept (random directions: ${count('screen-haar')} of 20 fail), own mean with others absorbed in ${count('own-absorb')} of 20 with ${solve('own-absorb')} and ${kept('2m', 'own-absorb')} (${count('own-absorb-haar')}), penalty 3 in ${count('penalty-3')} of 20 (${count('penalty-3-haar')}), own mean with others kept in ${count('own-mean')} of 20 (${count('own-mean-haar')}), the gate with two cuts in ${count('activation')} of 20 (${count('activation-haar')}).`,
      `${only('own-mean-haar', 'own-mean').first} seeds in which only the placebo fails, none the other way (${p('own-mean-haar', 'own-mean')}); against the screen, penalty 3 and others absorbed ${words[only('own-mean', 'screen').first]} and none (${p('own-mean', 'screen')} each)`,
      `not to fail in ${ownMean.prediction.inSeeds} of 20, is ${ownMean.verdict} with ${ownMean.reached} (p after Holm ${pText(ownMean.adjusted)})`,
      `it failed in ${Rates.of('atlas-d').failing('own-keep-pairs').length} of 20 (random direction ${Rates.of('atlas-d').failing('own-keep-haar').length})`,
      `in ${lostByPenalty.length} of 20 seeds much of the skill: without a hint it solves ${list(lostByPenalty.map((seed) => (unhinted('2m', 'penalty-3').get(seed) ?? Number.NaN).toFixed(2)))} in seeds ${list(lostByPenalty)}, where a sound grader teaches ${range([...unhinted('2m', 'no-loophole').values()])}`,
      `are also its random placebo in ${lost('2m', 'penalty-3-haar').length} of 20, own mean in ${lost('2m', 'own-mean').length} (placebo ${lost('2m', 'own-mean-haar').length}), vanilla in ${lost('2m', 'vanilla').length}, and the screen (placebo ${lost('2m', 'screen-haar').length}), own mean with others absorbed (placebo ${lost('2m', 'own-absorb-haar').length}) and the gate (placebo ${lost('2m', 'activation-haar').length}) in none`,
      `random direction ${Rates.of('atlas-d-parts').failing('own-absorb-haar').length}).`,
      `the screen has the higher clean solve in ${higher((arm) => clean('2m', arm))} of 20 (${solve('screen')} against ${solve('own-absorb')}) and solves more without a hint in ${higher(solves)} of 20 (both sign tests p < 0.001); along random directions clean solve is ${solve('screen-haar')} and ${solve('own-absorb-haar')}`,
      `attempts in ${range(rates.values('activation', 'attempts'))} of the prompts, along a random direction in ${range(rates.values('activation-haar', 'attempts'))}, lower in 20 of 20 (${words[only('activation-haar', 'activation').first]} seeds in which only the placebo fails, ${p('activation-haar', 'activation')})`,
      `own mean with others kept (${words[only('activation', 'own-mean').first]} and ${words[only('activation', 'own-mean').second]}, ${p('activation', 'own-mean')}), absorbed and the screen (${only('activation', 'own-absorb').first} and none each, ${p('activation', 'own-absorb')})`,
      `it failed in ${Rates.of('atlas-d-parts').failing('activation-group-pairs').length} of 20 (random direction ${Rates.of('atlas-d-parts').failing('activation-group-haar').length})`,
      `At 2M: ${aurocs('2m', 'own-mean')} under own mean, ${aurocs('2m', 'screen', 'penalty-3')} under the screen and penalty 3 (of these three only seeds 706 to 720), ${aurocs('2m', 'own-absorb')} with others absorbed, ${aurocs('2m', 'activation')} under the gate; along random directions ${aurocs('2m', ...['own-mean', 'screen', 'penalty-3', 'own-absorb', 'activation'].map((arm) => `${arm}-haar`))}`,
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
    for (const arm of ['own-mean', 'screen', 'penalty-3']) expect([...rates.aurocBySeed(arm).keys()]).toEqual(Array.from({ length: 15 }, (_, i) => 706 + i));
    for (const arm of ['own-absorb', 'activation']) expect(rates.aurocBySeed(arm).size).toBe(20);
  }); // biome-ignore format: sentences

  it('of the absorption index at 2M, as the recipe defines it, and at 1M', () => {
    const [small, { leak, line, index, low, high }] = [absorptionOf('1m'), absorptionOf('2m')];
    const lostAt = (size: Size): string => `${list(['r1', 'r0.6', 'r0'].map((recall) => lost(size, `absorption-${recall}`).length))} of ${clean(size, 'absorption-r0').length}`;
    const said = [
      `A(0.6) = ${index.toFixed(2)} [${low.toFixed(2).replace('-', '−')}, ${high.toFixed(2)}], not told from zero`,
      `leaves ${three(leak[0])} of attempts at recall 1, ${three(leak[1])} at recall 0.6 and ${three(leak[2])} at recall 0, its control, at which nothing is flagged; the straight line has ${three(line)} at 0.6`,
      `from vanilla's ${mean('2m', 'vanilla').toFixed(2)} to ${leak[2].toFixed(2)} with no flag at all`,
      `The absorption index at 1M is A(0.6) = ${small.index.toFixed(2)} [${small.low.toFixed(2)}, ${small.high.toFixed(2)}], by the same formula and interval`,
      `the oracle gate leaves ${three(small.leak[0])} of attempts at recall 1, ${three(small.leak[1])} at recall 0.6 and ${three(small.leak[2])} at recall 0, its control; the straight line has ${three(small.line)} at 0.6`,
      `solve at least 0.2 less than the ceiling in ${lostAt('1m')} at these recalls (at 2M in ${lostAt('2m')})`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(low < 0 && high > 0).toBe(true);
  }); // biome-ignore format: sentences
});
