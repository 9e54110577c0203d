/** Every table of docs/results.md, micro-claim.md and baselines.md that a study's CSV stands above, and what its text says in numbers, recomputed from the counts of the runs in bench/results. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { average, binomialCdf, holmAdjust, mcnemarExact } from '../../src/stats/index.ts';
import { armRow, experimentOf, judgedRow, plain, Rates, readPredictions, root } from './rates.ts';
import { page, range, sections, textOf, words } from './sections.ts';

/** Arms that the page calls by other words; an arm in backquotes goes by its name. */
const labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'micro-own-mean-claim': { 'own mean, kept, pairs’ direction': 'own-mean', 'own mean, kept, random direction': 'own-mean-haar' },
  'micro-other-pairs-claim': { 'own mean, kept, pairs of other loopholes': 'other-pairs', 'own mean, kept, random direction': 'own-mean-haar' },
  'atlas-d': { 'own mean, kept, pairs’ direction': 'own-keep-pairs', 'own mean, kept, random direction': 'own-keep-haar', 'own mean, kept, reversed direction': 'own-keep-reversed' },
  'micro-two-loopholes': { 'penalty 3': 'penalty-3', 'penalty 6': 'penalty-6', 'own mean, kept': 'own-mean', 'own mean, kept, by chance': 'own-mean-chance' },
  'micro-price': { 'own mean, kept, pairs’ direction': 'own-mean', 'own mean, kept, random direction': 'own-mean-haar' },
}; // biome-ignore format: one line

/** Studies of few predictions, whose verdicts are sentences. */
const toldInProse = new Set(['micro-other-pairs-claim']);

const armOf = (study: string, label: string): string =>
  labels[study]?.[label.replace("'", '’')] ?? label.replace(/`/g, '').replace(' (ceiling)', '');

describe.each(sections)('the tables of $study', ({ study, tables }) => {
  const rates = Rates.of(study);
  it('have the rates of the runs', () => {
    for (const [[first, ...headings], ...rows] of tables.filter(([head]) => head[0] === 'arm (deployed)')) {
      expect(first).toBe('arm (deployed)');
      const recomputed = rows.map(([label]) => [label, ...armRow(study, rates, armOf(study, label), headings)]);
      expect(recomputed).toEqual(rows);
    }
    expect(tables.length).toBeGreaterThan(0);
  });

  it('have a verdict for every prediction of the recipe', () => {
    const predictions = readPredictions(study);
    const judgedHere = tables.filter(([head]) => head[0] === 'predicted');
    if (predictions.length === 0 || toldInProse.has(study)) {
      expect(judgedHere).toEqual([]);
      return;
    }
    const { seeds } = experimentOf(study);
    const judged = rates.judge(predictions, seeds.length);
    expect(judgedHere.map((table) => table.slice(1))).toEqual([
      judged.map((one) => judgedRow(one, seeds.length).map(plain)),
    ]);
  });
});

/** How many predictions of a study came out how, in words. */
function verdictsOf(study: string): string {
  const judged = Rates.of(study).judge(readPredictions(study), experimentOf(study).seeds.length);
  const count = (wanted: string): string => words[judged.filter(({ verdict }) => verdict === wanted).length];
  const open = count('open') === 'no' ? 'none is open' : `${count('open')} are open`;
  return `${count('met')} are met, ${count('refuted')} are refuted, ${open}.`;
}

describe('what the text says', () => {
  it.each([
    ['micro-own-mean-claim', 'own-mean-haar', 'own-mean', 4, 0, 'p = 0.125'],
    ['micro-other-pairs-claim', 'own-mean-haar', 'other-pairs', 4, 0, 'p = 0.125'],
    ['atlas-d', 'own-keep-haar', 'own-keep-pairs', 12, 1, 'p = 0.003'],
    ['micro-two-loopholes', 'own-mean-chance', 'own-mean', 4, 0, 'p = 0.125'],
    ['atlas-g', 'own-mean-chance', 'own-mean', 12, 1, 'p = 0.003'],
    ['micro-price', 'own-mean-haar', 'own-mean', 5, 0, 'p = 0.06'],
  ])('%s: %s against %s, paired by seed', (study, first, second, onlyFirst, onlySecond, said) => {
    const found = Rates.of(study).discordant(first, second);
    expect(found).toMatchObject({ first: onlyFirst, second: onlySecond });
    expect(said).toBe(`p = ${found.pValue.toFixed(said.length - 'p = 0.'.length)}`);
    expect(textOf(study)).toContain(`exact McNemar ${said}`);
  });

  it('own mean against its placebo in all eleven studies, after Holm', () => {
    const studies: readonly (readonly [string, string, string])[] = [
      ['micro-own-mean-claim', 'own-mean-haar', 'own-mean'],
      ['micro-other-pairs-claim', 'own-mean-haar', 'other-pairs'],
      ['micro-two-loopholes', 'own-mean-chance', 'own-mean'],
      ['micro-price', 'own-mean-haar', 'own-mean'],
      ['countdown-claim', 'own-mean-haar', 'own-mean'],
      ['atlas-e-2m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-8m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-27m', 'own-mean-haar', 'own-mean'],
      ['atlas-i', 'own-mean-haar', 'own-mean'],
      ['atlas-d', 'own-keep-haar', 'own-keep-pairs'],
      ['atlas-g', 'own-mean-chance', 'own-mean'],
    ];
    const found = studies.map(([study, placebo, arm]) => Rates.of(study).discordant(placebo, arm));
    const adjusted = holmAdjust(found.map(({ pValue }) => pValue));
    const rows = studies.map(([study, , arm], i) => {
      const { first, second, pValue } = found[i];
      const seeds = Rates.of(study).values(arm, 'attempts').length;
      return `| \`${study}\` | ${seeds} | ${first} | ${second} | ${pValue.toFixed(3)} | ${adjusted[i].toFixed(3)} |`;
    });
    expect(rows.filter((row) => !plain(page).includes(row))).toEqual([]);
  });

  it('countdown-claim: attempts by seed, deployed and as trained, and how well directions see them', () => {
    const rates = Rates.of('countdown-claim');
    const told = (arm: string, state = 'deployed'): string =>
      rates.values(arm, 'attempts', 'test-original', state).map((rate) => rate.toFixed(2)).join(', ').replace(/, (?=[^,]*$)/, ' and ');
    const aurocs = (...arms: readonly string[]): string => range(arms.flatMap((arm) => [...rates.aurocBySeed(arm).values()]));
    const judged = rates.judge(readPredictions('countdown-claim'), 5);
    const reached = (place: number): string => `${judged[place].reached} of ${judged[place].n}`;
    const unhinted = (state: string): string => average(rates.values('no-loophole', 'solves', 'test-unhinted', state)).toFixed(2);
    const text = textOf('countdown-claim');
    const said = [
      `Vanilla learns the exploit (attempts ${told('vanilla')}). Own mean and a screen by the pairs' direction fail in ${rates.failing('own-mean').length + rates.failing('screen').length} of ${rates.values('own-mean', 'attempts').length} each.`,
      `attempts less than vanilla in 5 of 5 and fails in ${rates.failing('own-mean-haar').length} (${told('own-mean-haar')}; vanilla in the same seeds ${told('vanilla')})`,
      `As trained, own mean attempts in ${told('own-mean', 'full')}, along random directions in ${told('own-mean-haar', 'full')}:`,
      `A screen along a random direction attempts in ${told('screen-haar')}, along the pairs' in ${told('screen')}.`,
      `${aurocs('own-mean', 'screen')} along the pairs' direction, ${aurocs('own-mean-haar', 'screen-haar')} along random ones;`,
      `${rates.runs} of 30 runs`,
      `Refuted: own mean is 0.25 below a random direction in ${reached(2)}, a screen in ${reached(4)} (4 of 5 asked for each).`,
      `(from ${unhinted('base')} to ${unhinted('full')} of solving)`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    const base = (column: 'attempts' | 'solves'): string => average(rates.values('vanilla', column, 'test-original', 'base')).toFixed(2);
    expect(text).toContain(`the base attempts in ${base('attempts')} and solves ${base('solves')}`);
  }); // biome-ignore format: sentences

  it('atlas-d: how many seeds are at or below 0.05, and what is kept', () => {
    const rates = Rates.of('atlas-d');
    const attempts = rates.values('own-keep-pairs', 'attempts');
    const hacks = rates.values('own-keep-pairs', 'hacks');
    const [low, fails] = [attempts.filter((rate) => rate <= 0.05).length, rates.failing('own-keep-pairs').length];
    const kept = (arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    expect(textOf('atlas-d')).toContain(
      `Refuted: ${low} of 20 are at or below 0.05, ${fails} of 20 fail, and ${kept('own-keep-pairs')} is kept, about what vanilla (${kept('vanilla')}) and the random direction (${kept('own-keep-haar')}) keep.`,
    );
    expect(textOf('atlas-d')).toContain(`refuted too, ${hacks.filter((rate) => rate <= 0.05).length} of 20`);
    expect(textOf('atlas-d')).toContain(`spread from ${range(attempts)}`);
  });

  it('micro-own-mean-claim and micro-other-pairs-claim: as trained both routed arms attempt', () => {
    const trained = (study: string, arm: string): number[] =>
      Rates.of(study).values(arm, 'attempts', 'test-original', 'full');
    const own = ['own-mean', 'own-mean-haar'].map((arm) => trained('micro-own-mean-claim', arm));
    expect(textOf('micro-own-mean-claim')).toContain(
      `attempt in ${range(own.map((values) => average(values)))} of the prompts on average (${range(own.flat())} by seed)`,
    );
    const other = ['other-pairs', 'own-mean-haar'].map((arm) => trained('micro-other-pairs-claim', arm));
    expect(textOf('micro-other-pairs-claim')).toContain(
      `attempt in ${range(other.map((values) => average(values)))} of the prompts on average`,
    );
    const kept = [...Rates.of('micro-other-pairs-claim').keptBySeed('other-pairs').values()];
    expect(textOf('micro-other-pairs-claim')).toContain(`${range(kept)} of the mean ceiling`);
  });

  it('atlas-d-parts: pairs of arms, by seed', () => {
    const rates = Rates.of('atlas-d-parts');
    const p = (first: string, second: string): string => {
      const { pValue } = rates.discordant(first, second);
      return pValue < 0.001 ? 'p < 0.001' : `p = ${pValue.toFixed(3)}`;
    };
    const text = textOf('atlas-d-parts');
    const fails = (arm: string): number => rates.failing(arm).length;
    const mean = (arm: string, column: 'attempts' | 'cleanSolves' = 'attempts'): string =>
      average(rates.values(arm, column)).toFixed(2);
    const halves = (arm: string): string => {
      const first = rates.failing(arm).filter((seed) => seed <= 510).length;
      return `${first} and ${fails(arm) - first}`;
    };
    const kept = (arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    const keptFailures = Rates.of('atlas-d').failing('own-keep-pairs');
    const lower = (first: string, second: string): number => {
      const others = rates.bySeed(second, 'attempts');
      return [...rates.bySeed(first, 'attempts')].filter(([seed, rate]) => rate < (others.get(seed) ?? 0)).length;
    };
    const signTest = (reached: number): string => (2 * binomialCdf(20 - reached, 20, 0.5)).toFixed(2);
    const said = [
      `Of eleven predictions ${verdictsOf('atlas-d-parts')}`,
      `fails in none of 20 seeds where its random placebo fails in ${fails('own-absorb-haar')} (paired by seed: exact McNemar ${p('own-absorb-haar', 'own-absorb-pairs')})`,
      `in none of 20 where its placebo fails in ${fails('activation-own-haar')} (${p('activation-own-haar', 'activation-own-pairs')})`,
      `the mean of the group in ${fails('activation-group-pairs')} (${p('activation-group-pairs', 'activation-own-pairs')})`,
      `others kept fail in ${fails('group-keep-pairs')} of 20 and others absorbed in none (${p('group-keep-pairs', 'group-absorb-pairs')})`,
      `their placebo (${fails('group-keep-pairs')} and ${fails('group-keep-haar')} of 20); attempts are ${mean('group-keep-pairs')} against ${mean('group-keep-haar')}, lower in ${lower('group-keep-pairs', 'group-keep-haar')} of 20 (sign test p = ${signTest(lower('group-keep-pairs', 'group-keep-haar'))})`,
      `refuted above, failed in ${keptFailures.length} of the same 20 seeds and absorbed in none (${keptFailures.length} seeds in which only kept fails, none the other way; exact McNemar p = ${mcnemarExact(keptFailures.length, 0).pValue.toFixed(3)}, but`,
      `the gate with the mean of the group fails in ${fails('activation-group-pairs')} too`,
      `(by seed in ${lower('group-keep-haar', 'group-keep-reversed')} of 20 kept, ${lower('group-absorb-haar', 'group-absorb-reversed')} absorbed and ${lower('activation-group-haar', 'activation-group-reversed')} of the gate)`,
      `which leaks ${mean('group-absorb-pairs')} itself`,
      `along a random direction, which leaks ${mean('own-absorb-haar')} and ${mean('group-absorb-haar')}`,
      `attempts in ${mean('own-absorb-haar')} of the prompts with others absorbed, in ${average(Rates.of('atlas-d').values('own-keep-haar', 'attempts')).toFixed(2)} with others kept`,
      `clean solve ${mean('own-absorb-haar', 'cleanSolves')} against ${mean('own-absorb-pairs', 'cleanSolves')}`,
      `fails in ${halves('activation-group-pairs')}, own mean absorbed along a random direction in ${halves('own-absorb-haar')}`,
      `It is ${kept('own-absorb-pairs')} and ${kept('activation-own-pairs')} in the two arms`,
      `above the ${kept('own-absorb-haar')} and ${kept('activation-own-haar')} of their random placebos`,
      `All ${rates.runs} of the 300 runs were made`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    for (const arm of ['own-absorb-pairs', 'group-absorb-pairs', 'activation-own-pairs']) expect(fails(arm)).toBe(0);
    const arms = ['own-absorb', 'group-keep', 'group-absorb', 'activation-own', 'activation-group'];
    const trained = arms.flatMap((arm) => rates.values(`${arm}-pairs`, 'attempts', 'test-original', 'full'));
    expect(text).toContain(`attempt in ${range(trained)} of the prompts by seed`);
  });

  it('atlas-c: outcomes against attempts, by seed, and how many predictions came out how', () => {
    const rates = Rates.of('atlas-c');
    const text = textOf('atlas-c');
    expect(text).toContain(
      `exact McNemar p = ${rates.discordant('filter-outcome', 'filter-attempt').pValue.toFixed(4)}`,
    );
    expect(text).toContain(
      `none of 20 (p = ${rates.discordant('screen-outcome', 'screen-attempt').pValue.toFixed(3)})`,
    );
    const filtered = rates.values('filter-outcome', 'attempts');
    const [high, low] = [filtered.filter((rate) => rate > 0.9), filtered.filter((rate) => rate < 0.1)];
    expect(text).toContain(
      `above 0.9 in ${words[high.length]} seeds, 0.23 in one and below 0.10 in ${words[low.length]}`,
    );
    expect(text).toContain(`Of twenty predictions ${verdictsOf('atlas-c')}`);
    expect(text).toContain(`${rates.runs} of the 280 runs were made`);
    expect(text).toContain(`in ${rates.failing('filter-outcome').length} of 20 seeds the exploit grows`);
    expect(text).toContain(`fails by outcomes in ${rates.failing('screen-outcome').length} of 20`);
    const kept = ['screen', 'filter', 'penalty', 'own-mean'].map((remedy) =>
      average([...rates.keptBySeed(`${remedy}-attempt`).values()]),
    );
    expect(text).toContain(`${range(kept)} by labels of attempts`);
    expect(rates.values('own-mean-chance', 'solves', 'test-unhinted')).toHaveLength(10);
    const ownKept = (label: string): string => average([...rates.keptBySeed(`own-mean-${label}`).values()]).toFixed(2);
    expect(text).toContain(`own mean keeps no more by them (${ownKept('attempt')}, by outcomes ${ownKept('outcome')})`);
    const { length: seeds } = rates.values('own-mean-outcome', 'attempts');
    expect(text).toContain(
      `own mean in ${rates.failing('own-mean-outcome').length} of ${seeds} by outcomes and in none by attempts (exact McNemar p = ${rates.discordant('own-mean-outcome', 'own-mean-attempt').pValue.toFixed(3)})`,
    );
  });

  it('atlas-e: rates by the KL, and what sizes show', () => {
    const text = plain(page.split(/^## /m).find((section) => section.startsWith('Size, five seeds')) ?? '');
    const lines = readFileSync(`${root}bench/results/atlas-e-kl.csv`, 'utf8').trim().split('\n').slice(1);
    const moves = lines.map((line) => line.split(','));
    const cell = (size: string, rate: number): string =>
      moves
        .filter(([own, ownRate]) => own === size && Number(ownRate) === rate)
        .map(([, , , , kl]) => (kl === '' ? 'lost' : Number(kl).toFixed(2)))
        .join(' ');
    const sizes = { '2m': Rates.of('atlas-e-2m'), '8m': Rates.of('atlas-e-8m'), '27m': Rates.of('atlas-e-27m') };
    const fails = (size: keyof typeof sizes, arm: string): number => sizes[size].failing(arm).length;
    const clean = (size: keyof typeof sizes, arm: string): number[] => sizes[size].values(arm, 'cleanSolves');
    const shipped = average(moves.filter(([size, rate]) => size === '2M' && rate === '0.0004').map((row) => Number(row[4])));
    const said = [
      ...['2M', '8M', '27M'].map((size) => [size, ...[1e-4, 2e-4, 4e-4, 8e-4].map((rate) => cell(size, rate))].join(' | ')),
      `(${shipped.toFixed(2)}, so ${(1.5 * shipped).toFixed(2)})`,
      `vanilla attempts in ${range(sizes['27m'].values('vanilla', 'attempts'))} of the prompts and fails in ${fails('27m', 'vanilla')} of 5`,
      `the skill in ${clean('8m', 'penalty-3').filter((rate) => rate < 0.01).length} of 5 seeds (clean solve 0.00; 0.54 and 0.55 in the other two)`,
      `vanilla keeps ${average([...sizes['8m'].keptBySeed('vanilla').values()]).toFixed(2)} without a hint`,
      `clean solve of ${average(clean('2m', 'screen')).toFixed(2)} at both (random directions ${fails('2m', 'screen-haar')} and ${fails('8m', 'screen-haar')} of 5 fail)`,
      `others kept in ${fails('2m', 'own-mean')} of 5 at both (${fails('2m', 'own-mean-haar')} and ${fails('8m', 'own-mean-haar')})`,
      `within 0.1 of each other. Not reached in these five seeds: ${average(sizes['2m'].values('own-mean', 'attempts')).toFixed(3)} and ${average(sizes['27m'].values('own-mean', 'attempts')).toFixed(3)}, ${(average(sizes['2m'].values('own-mean', 'attempts')) - average(sizes['27m'].values('own-mean', 'attempts'))).toFixed(3)} apart (along a random direction ${average(sizes['2m'].values('own-mean-haar', 'attempts')).toFixed(2)} and ${average(sizes['27m'].values('own-mean-haar', 'attempts')).toFixed(2)})`,
      `own mean in two, which does not tell them apart (exact McNemar p = ${sizes['2m'].discordant('own-mean', 'screen').pValue.toFixed(0)} at each size)`,
      `its random placebo loses it in ${clean('8m', 'penalty-3-haar').filter((rate) => rate < 0.01).length} of 5 too`,
      `solves less than 0.06 without a hint in ${sizes['2m'].values('penalty-3-haar', 'solves', 'test-unhinted').filter((rate) => rate < 0.06).length})`,
      `${Object.values(sizes).reduce((sum, { runs }) => sum + runs, 0)} runs were made`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(average(clean('8m', 'screen')).toFixed(2)).toBe(average(clean('2m', 'screen')).toFixed(2));
    expect([fails('2m', 'own-mean'), fails('8m', 'own-mean'), fails('27m', 'own-mean-haar')]).toEqual([1, 1, 0]);
  }); // biome-ignore format: sentences

  it('atlas-g: which exploit is deployed, where own mean fails, and how many predictions came out how', () => {
    const rates = Rates.of('atlas-g');
    const two = (values: readonly number[]): string => values.map((value) => value.toFixed(2)).join(', ').replace(/, (?=[^,]*$)/, ' and '); // biome-ignore format: one line
    const failing = rates.failing('own-mean');
    const [attempts, unwatched] = (['attempts', 'run_tests'] as const).map((column) => {
      const rateOf = rates.bySeed('own-mean', column);
      return failing.map((seed) => rateOf.get(seed) ?? Number.NaN);
    });
    /** Seeds in which the unwatched exploit is not 0.25 above vanilla's. */
    const short = (arm: string): string => {
      const vanilla = rates.bySeed('vanilla', 'run_tests');
      const seeds = [...rates.bySeed(arm, 'run_tests')].filter(
        ([seed, rate]) => rate - (vanilla.get(seed) ?? 0) < 0.25,
      );
      return seeds.map(([seed]) => seed).join(' and ');
    };
    expect(short('screen')).toBe(short('penalty-3'));
    const preferred = [...rates.bySeed('vanilla', 'run_tests')].filter(([, rate]) => rate > 0.02);
    const said = [
      `Of thirteen predictions ${verdictsOf('atlas-g')}`,
      `All ${rates.runs} of the 200 runs were made`,
      `${range(rates.values('penalty-3', 'run_tests'))} under the penalty, ${range(rates.values('screen', 'run_tests'))} under the screen`,
      `attempts of ${two(attempts)} in seeds ${failing.join(', ').replace(/, (?=\d+$)/, ' and ')}, by \`run_tests\` ${two(unwatched)}`,
      `As trained it attempts in ${range(rates.values('own-mean', 'attempts', 'test-original', 'full'))}`,
      `among the ${words[preferred.length]} seeds in which vanilla`,
      `${20 - rates.failing('own-mean-chance').length} of 20 such runs do not fail`,
      `own mean fails in ${rates.failing('own-mean-other').length} of 20, by the unwatched one in all (attempts ${range(rates.values('own-mean-other', 'attempts'))})`,
      `(${range(rates.values('own-mean-other', 'run_tests', 'test-original', 'full'))} as trained, by \`run_tests\`)`,
      `in ${rates.failing('penalty-6').length} of 20 under penalty 6`,
      `not reached under penalty 3 and the screen, ${short('penalty-3')}, are those`,
      `under penalty 6 it is not reached in seed ${short('penalty-6').replace(`${short('penalty-3')} and `, '')} either`,
      `penalty 6 by flags at random attempts in ${average(rates.values('penalty-6-chance', 'attempts')).toFixed(2)}, and ${20 - rates.failing('penalty-6-chance').length} of 20 such runs do not fail, where the same penalty by the monitor attempts in ${average(rates.values('penalty-6', 'attempts')).toFixed(2)}`,
    ];
    expect(said.filter((sentence) => !textOf('atlas-g').includes(sentence))).toEqual([]);
    expect(failing.filter((seed) => !preferred.some(([other]) => other === seed))).toEqual([]);
    for (const arm of ['penalty-3', 'screen']) {
      expect(rates.discordant(arm, 'own-mean')).toMatchObject({ first: 17, second: 0 });
    }
    const others = rates.discordant('own-mean-other', 'own-mean-chance');
    expect([others.first, others.second, others.pValue.toFixed(2)]).toEqual([6, 0, '0.03']);
    const strong = rates.discordant('penalty-6', 'penalty-6-chance');
    expect([strong.first, strong.second, strong.pValue.toFixed(2)]).toEqual([5, 0, '0.06']);
  });

  it('micro-price: how much less vanilla solves than the ceiling', () => {
    const rates = Rates.of('micro-price');
    const [vanilla, ceiling] = ['vanilla', 'no-loophole'].map((arm) => rates.values(arm, 'solves', 'test-unhinted'));
    const less = ceiling.map((solve, i) => solve - vanilla[i]);
    expect(textOf('micro-price')).toContain(`Holds: ${range(less)} less in 5 of 5.`);
  });
});
