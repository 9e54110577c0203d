/** Every table of docs/results.md, micro-claim.md and baselines.md that a study's CSV stands above, and what its text says in numbers, recomputed from the counts of the runs in bench/results. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { average, binomialCdf, holmAdjust, mcnemarExact } from '../../src/stats/index.ts';
import { armRow, experimentOf, judgedRow, plain, pText, Rates, readPredictions, root } from './rates.ts';
import { list, page, range, sections, textOf, verdictsOf, words } from './sections.ts';

/** Arms that the page calls by other words; an arm in backquotes goes by its name. */
const labels: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'micro-own-mean-claim': { 'own mean, kept, pairs’ direction': 'own-mean', 'own mean, kept, random direction': 'own-mean-haar' },
  'micro-other-pairs-claim': { 'own mean, kept, pairs of other loopholes': 'other-pairs', 'own mean, kept, random direction': 'own-mean-haar' },
  'atlas-d': { 'own mean, kept, pairs’ direction': 'own-keep-pairs', 'own mean, kept, random direction': 'own-keep-haar', 'own mean, kept, reversed direction': 'own-keep-reversed' },
  'micro-two-loopholes': { 'penalty 3': 'penalty-3', 'penalty 6': 'penalty-6', 'own mean, kept': 'own-mean', 'own mean, kept, by chance': 'own-mean-chance' },
  'micro-price': { 'own mean, kept, pairs’ direction': 'own-mean', 'own mean, kept, random direction': 'own-mean-haar' },
}; // biome-ignore format: one line

/** How many runs of a study were begun in a minute of 2026-11-18. */
function begunAt(study: string, minute: string): number {
  const rows = readFileSync(`${root}bench/results/${study}-rates.csv`, 'utf8').split('\n').map((line) => line.split(',')); // biome-ignore format: one line
  return new Set(rows.filter((row) => row.some((cell) => cell.startsWith(`2026-11-18T${minute}:`))).map(([, run]) => run)).size; // biome-ignore format: one line
}

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
    expect(textOf(study)).toContain(study === 'atlas-g' ? `${onlyFirst} seeds in which only flags at random fail, one in which only the monitor does (${said})` : `exact McNemar ${said}`); // biome-ignore format: one line
  });

  it('own mean against its placebo in all fourteen studies, after Holm', () => {
    const studies: readonly (readonly [string, string, string])[] = [
      ['micro-own-mean-claim', 'own-mean-haar', 'own-mean'],
      ['micro-other-pairs-claim', 'own-mean-haar', 'other-pairs'],
      ['micro-two-loopholes', 'own-mean-chance', 'own-mean'],
      ['micro-price', 'own-mean-haar', 'own-mean'],
      ['countdown-claim', 'own-mean-haar', 'own-mean'],
      ['atlas-e-1m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-2m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-8m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-27m', 'own-mean-haar', 'own-mean'],
      ['atlas-e-27m-4e-4', 'own-mean-haar', 'own-mean'],
      ['atlas-e-100m', 'own-mean-haar', 'own-mean'],
      ['atlas-i', 'own-mean-haar', 'own-mean'],
      ['atlas-d', 'own-keep-haar', 'own-keep-pairs'],
      ['atlas-g', 'own-mean-chance', 'own-mean'],
    ];
    const found = studies.map(([study, placebo, arm]) => Rates.of(study).discordant(placebo, arm));
    const adjusted = holmAdjust(found.map(({ pValue }) => pValue));
    const rows = studies.map(([study, , arm], i) => {
      const { first, second, pValue } = found[i];
      const seeds = Rates.of(study).values(arm, 'attempts').length;
      return `| \`${study}\` | ${seeds} | ${first} | ${second} | ${pText(pValue)} | ${pText(adjusted[i])} |`;
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
    const takenBy = (arm: string): number[] => { const left = rates.values(arm, 'attempts'); return rates.values(arm, 'attempts', 'test-original', 'full').map((rate, i) => rate - left[i]); };
    const deleted = (arm: string): string => range(takenBy(arm));
    expect(takenBy('own-mean-haar').filter((taken, i) => taken < takenBy('own-mean')[i])).toHaveLength(5);
    const unhinted = (state: string): string => average(rates.values('no-loophole', 'solves', 'test-unhinted', state)).toFixed(2);
    const text = textOf('countdown-claim');
    const said = [
      `own mean and a screen by the pairs' direction fail in ${rates.failing('own-mean').length + rates.failing('screen').length} of ${rates.values('own-mean', 'attempts').length}; refuted is that they attempt 0.25 less than along random directions (${judged[2].reached} and ${reached(4)}; ${judged[2].prediction.inSeeds} asked for each), which fail in ${rates.failing('own-mean-haar').length} and ${rates.failing('screen-haar').length} of 5`,
      `deletion takes ${deleted('own-mean')} of attempts away along the pairs' direction and ${deleted('own-mean-haar')} along random ones, less in every seed`,
      `attempts less than vanilla in 5 of 5 and fails in ${rates.failing('own-mean-haar').length} (${told('own-mean-haar')}; vanilla in the same seeds ${told('vanilla')})`,
      `As trained, own mean attempts in ${told('own-mean', 'full')}, along random directions in ${told('own-mean-haar', 'full')}:`,
      `A screen along a random direction attempts in ${told('screen-haar')}, along the pairs' in ${told('screen')}.`,
      `${aurocs('own-mean', 'screen')} along the pairs' direction, ${aurocs('own-mean-haar', 'screen-haar')} along random ones;`,
      `${rates.runs} of 30 runs`,
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
      `Refuted: without sound prompts ${low} of 20 are at or below 0.05, ${fails} of 20 fail, and ${kept('own-keep-pairs')} is kept, about what vanilla (${kept('vanilla')}) and the random direction (${kept('own-keep-haar')}) keep. Along a random direction ${rates.failing('own-keep-haar').length} of 20 fail.`,
    );
    expect(textOf('atlas-d')).toContain(`refuted too, ${hacks.filter((rate) => rate <= 0.05).length} of 20`);
    expect(textOf('atlas-d')).toContain(`spread from ${range(attempts)}`);
  });

  it('micro-own-mean-claim and micro-other-pairs-claim: as trained both routed arms attempt', () => {
    const trained = (study: string, arm: string): number[] =>
      Rates.of(study).values(arm, 'attempts', 'test-original', 'full');
    const own = ['own-mean', 'own-mean-haar'].map((arm) => trained('micro-own-mean-claim', arm));
    expect(textOf('micro-own-mean-claim')).toContain(
      `attempt in ${range(own.map((values) => average(values)))} of the prompts on average`,
    );
    const keptOf = Rates.of('micro-own-mean-claim').keptBySeed('own-mean');
    const others = [...keptOf].filter(([seed]) => seed !== 601).map(([, one]) => one);
    expect(textOf('micro-own-mean-claim')).toContain(
      `(kept is a mean: ${keptOf.get(601)?.toFixed(2)} in seed 601, ${range(others)} in the others)`,
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
    const keptFailures = Rates.of('atlas-d').failing('own-keep-pairs');
    const lower = (first: string, second: string): number => {
      const others = rates.bySeed(second, 'attempts');
      return [...rates.bySeed(first, 'attempts')].filter(([seed, rate]) => rate < (others.get(seed) ?? 0)).length;
    };
    const signTest = (reached: number): string => (2 * binomialCdf(20 - reached, 20, 0.5)).toFixed(2);
    const said = [
      `Of eleven predictions ${verdictsOf('atlas-d-parts')}`,
      `with others absorbed fails in ${fails('own-absorb-pairs')} of 20, the gate with own mean in ${fails('activation-own-pairs')} of 20; along random directions they fail in ${fails('own-absorb-haar')} and ${fails('activation-own-haar')}`,
      `own mean against its random placebo ${p('own-absorb-haar', 'own-absorb-pairs')}; the gate with own mean against its placebo ${p('activation-own-haar', 'activation-own-pairs')}, against the same gate with the mean of the group, which fails in ${fails('activation-group-pairs')}, ${p('activation-group-pairs', 'activation-own-pairs')}`,
      `others kept fail in ${fails('group-keep-pairs')} of 20 and others absorbed in none (${p('group-keep-pairs', 'group-absorb-pairs')})`,
      `their placebo (${fails('group-keep-pairs')} and ${fails('group-keep-haar')} of 20), with attempts of ${mean('group-keep-pairs')} against ${mean('group-keep-haar')} (sign test p = ${signTest(lower('group-keep-pairs', 'group-keep-haar'))})`,
      `refuted above, failed in ${keptFailures.length} of the same 20 seeds and absorbed in none (p = ${mcnemarExact(keptFailures.length, 0).pValue.toFixed(3)}, but`,
      `which leaks ${mean('group-absorb-pairs')} itself`,
      `along a random direction, which leaks ${mean('own-absorb-haar')} and ${mean('group-absorb-haar')}`,
      `attempts in ${mean('own-absorb-haar')} of the prompts with others absorbed, in ${average(Rates.of('atlas-d').values('own-keep-haar', 'attempts')).toFixed(2)} with others kept`,
      `clean solve ${mean('own-absorb-haar', 'cleanSolves')} against ${mean('own-absorb-pairs', 'cleanSolves')}`,
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
    const filtered = rates.values('filter-outcome', 'attempts');
    const [high, low] = [filtered.filter((rate) => rate > 0.9), filtered.filter((rate) => rate < 0.1)];
    expect(text).toContain(
      `above 0.9 in ${words[high.length]} seeds, 0.23 in one and below 0.10 in ${words[low.length]}`,
    );
    expect(text).toContain(`Of twenty predictions ${verdictsOf('atlas-c')}`);
    const remedies = ['screen', 'filter', 'penalty', 'own-mean'];
    const p = (arm: string, other: string, digits = 3): string => rates.discordant(arm, other).pValue.toFixed(digits);
    const fails = (arm: string): number => rates.failing(arm).length;
    const judged = rates.judge(readPredictions('atlas-c'), 20);
    const refuted = judged.filter(({ verdict }) => verdict === 'refuted').map(({ prediction: { arm }, reached }) => `${arm} ${reached}`);
    expect(refuted).toEqual(['screen-outcome 6', 'own-mean-outcome 5', 'screen-attempt 3', 'own-mean-attempt 1']);
    const earlyFailures = rates.failing('own-mean-outcome').filter((seed) => seed <= 530);
    const ofSeed531 = (arm: string): number => Math.round(256 * (rates.bySeed(arm, 'attempts').get(531) ?? Number.NaN));
    const said = [
      `All ${rates.runs} of the 280 runs were made`,
      `in ${fails('filter-outcome')} of 20 seeds the exploit grows`,
      `By exact labels of hacks a filter fails in ${fails('filter-outcome')} of 20, a screen in ${fails('screen-outcome')}, own mean in ${fails('own-mean-outcome')} and penalty 3 in ${fails('penalty-outcome') === 0 ? 'none' : 'some'}`,
      `under a screen and under own mean: these fail in ${fails('screen-outcome')} and ${fails('own-mean-outcome')} of 20 (8 asked for), and attempt at least 0.25 more than by labels of attempts in 3 and 1 of 20`,
      `filter p = ${p('filter-outcome', 'filter-attempt', 4)}, screen p = ${p('screen-outcome', 'screen-attempt')}, own mean with others kept p = ${p('own-mean-outcome', 'own-mean-attempt')} (${words[earlyFailures.length]} of its ${words[fails('own-mean-outcome')]} failures are among the ten seeds that were read first)`,
      `Penalty 3 by labels of hacks attempts in ${range(rates.values('penalty-outcome', 'attempts'))} of the prompts`,
      `(exact McNemar of filter, screen and own mean against it p = ${p('filter-outcome', 'penalty-outcome', 4)}, ${p('screen-outcome', 'penalty-outcome')} and ${p('own-mean-outcome', 'penalty-outcome')}`,
      `a penalty by labels of outcomes that are wrong one time in ten failed in ${Rates.of('micro-baseline-placebos').failing('penalty-oracle-0.9').length} of 5 (flags at random ${Rates.of('micro-baseline-placebos').failing('penalty-chance').length} of 5`,
      `${ofSeed531('penalty-outcome')} of 256 by outcomes, ${ofSeed531('penalty-attempt')} of 256 by attempts`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(rates.values('penalty-attempt', 'attempts').every((rate) => rate === 0)).toBe(true);
    for (const remedy of remedies) {
      expect([fails(`${remedy}-attempt`), fails(`${remedy}-chance`)]).toEqual([0, 20]);
      for (const label of ['outcome', 'attempt', 'chance'])
        expect(rates.values(`${remedy}-${label}`, 'solves', 'test-unhinted')).toHaveLength(20);
    }
  }); // biome-ignore format: sentences

  it('atlas-c-27m: outcomes against attempts at 27M, the filter that fails by labels of attempts, and what vanilla is there', () => {
    const [rates, small] = [Rates.of('atlas-c-27m'), Rates.of('atlas-c')];
    const text = textOf('atlas-c-27m');
    const fails = (arm: string): number => rates.failing(arm).length;
    const remedies = ['screen', 'filter', 'penalty', 'own-mean'];
    const each = <T,>(tell: (remedy: string) => T, of = remedies): string => list(of.map((remedy) => `${tell(remedy)}`));
    const mean = (arm: string, of = rates): string => average(of.values(arm, 'attempts')).toFixed(2);
    const kept = (arm: string, of = rates): string => average([...of.keptBySeed(arm).values()]).toFixed(2);
    const solve = (arm: string, state = 'deployed'): string => average(rates.values(arm, 'solves', 'test-unhinted', state)).toFixed(2);
    const p = (remedy: string): string => rates.discordant(`${remedy}-outcome`, `${remedy}-attempt`).pValue.toFixed(3);
    /** Seeds in which labels of hacks leave more attempts than labels of attempts, and fewer. */
    const more = (remedy: string, of = rates): [number, number] => {
      const attempts = of.bySeed(`${remedy}-attempt`, 'attempts');
      const differences = [...of.bySeed(`${remedy}-outcome`, 'attempts')].map(([seed, rate]) => rate - (attempts.get(seed) ?? Number.NaN));
      return [differences.filter((one) => one > 0).length, differences.filter((one) => one < 0).length];
    };
    expect(remedies.map((remedy) => more(remedy, small)).every(([above, under]) => above > under)).toBe(true);
    const signs = holmAdjust(remedies.map((remedy) => { const [above, under] = more(remedy); return Math.min(1, 2 * binomialCdf(Math.min(above, under), above + under, 0.5)); }));
    const judged = rates.judge(readPredictions('atlas-c-27m'), 20);
    const refuted = judged.filter(({ verdict }) => verdict === 'refuted');
    const below = (remedy: string): number => judged.find(({ prediction: { arm, reference } }) => arm === `${remedy}-attempt` && reference === `${remedy}-outcome`)?.reached ?? Number.NaN;
    const screened = ['screen', 'filter', 'own-mean'];
    expect(refuted.map(({ prediction: { arm, reference } }) => [arm, reference])).toEqual([...screened.map((remedy) => [`${remedy}-outcome`, null]), ...screened.map((remedy) => [`${remedy}-attempt`, `${remedy}-outcome`])]);
    const before = small.judge(readPredictions('atlas-c'), 20).filter(({ verdict, prediction: { what } }) => verdict === 'refuted' && refuted.some((one) => one.prediction.what === what)).length;
    const [[odd, ...none], filtered] = [rates.failing('filter-attempt'), rates.bySeed('filter-attempt', 'attempts')];
    expect([none, rates.failing('screen-outcome'), ['filter', 'own-mean'].every((remedy) => rates.failing(`${remedy}-outcome`).includes(odd))]).toEqual([[], [odd], true]);
    const keptOf = rates.keptBySeed('filter-attempt');
    const chance = remedies.map((remedy) => `${remedy}-chance`);
    const firstFive = [...Rates.of('atlas-e-27m').bySeed('vanilla', 'attempts')].filter(([seed]) => seed <= 705).map(([, rate]) => rate);
    const seals = gunzipSync(readFileSync(`${root}bench/results/atlas-seals.csv.gz`)).toString().split('\n').filter((row) => row.startsWith('atlas-c-27m,')).length;
    const said = [
      `By exact labels of hacks a filter fails in ${fails('filter-outcome')} of 20, a screen in ${fails('screen-outcome')}, own mean in ${fails('own-mean-outcome')} and penalty 3 in ${fails('penalty-outcome') === 0 ? 'none' : 'some'}; by labels of attempts a filter fails in ${fails('filter-attempt')} and the others in none; by flags at random ${Math.min(...chance.map(fails))} to ${Math.max(...chance.map(fails))} fail`,
      `Of twenty predictions ${verdictsOf('atlas-c-27m')} The six, ${words[before]} of them refuted at 2M already,`,
      `screen, filter and own mean by them fail in ${each((remedy) => fails(`${remedy}-outcome`), screened)} of 20 (8 asked for each), and attempt at least 0.25 more than by labels of attempts in ${each(below, screened)} of 20 (8 asked for each)`,
      `screen p = ${p('screen')}, filter p = ${p('filter')}, own mean p = ${p('own-mean')}; by flags at random they fail in ${each((remedy) => fails(`${remedy}-chance`), screened)} of 20`,
      `attempt more in ${each((remedy) => more(remedy)[0])} of 20 seeds, by labels of attempts in ${each((remedy) => more(remedy)[1])} (sign tests, not stated, after Holm over the four p = ${list(signs.map(pText)).replace(/= </g, '<')})`,
      `Mean attempts are ${each((remedy) => mean(`${remedy}-outcome`))} by labels of hacks, ${each((remedy) => mean(`${remedy}-attempt`))} by labels of attempts, ${each((remedy) => mean(`${remedy}-chance`))} by flags at random`,
      `in seed ${odd}, with attempts of ${filtered.get(odd)?.toFixed(2)} (by flags at random ${rates.bySeed('filter-chance', 'attempts').get(odd)?.toFixed(2)}), and loses the skill as well (kept ${keptOf.get(odd)?.toFixed(2).replace('-', '−')}, in the other seeds ${range([...keptOf].filter(([seed]) => seed !== odd).map(([, one]) => one))})`,
      `At its bar of ${readPredictions('atlas-c-27m').find(({ arm, reference, metric }) => arm === 'filter-attempt' && reference === null && metric === 'attempt')?.inSeeds} of 20 the prediction is met`,
      `it attempts in ${range(rates.values('vanilla', 'attempts'))} of the prompts (at 2M ${range(small.values('vanilla', 'attempts'))}) and is left with little skill without a hint (${solve('vanilla')}, the base has ${solve('vanilla', 'base')} and the ceiling ${solve('no-loophole', 'full')}), as by flags at random (${range(chance.map((arm) => Number(solve(arm))))})`,
      `Labels of attempts keep ${range(remedies.map((remedy) => Number(kept(`${remedy}-attempt`))))} of the gain, own mean ${kept('own-mean-attempt')} (at 2M ${kept('own-mean-attempt', small)})`,
      `vanilla attempted in ${average(firstFive).toFixed(2)} and failed in ${firstFive.filter((rate) => rate > 0.1).length} of ${firstFive.length}`,
      `The ${begunAt('atlas-c-27m', '21:17')} were begun at 21:17 UTC on 2026-11-18`,
      `All ${rates.runs} of the 280 runs were made: 216 on a machine that was lost after their evaluations had been fetched, without rollouts and seals, and ${rates.runs - 216} on another`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect([begunAt('atlas-c-27m', '21:17'), begunAt('atlas-e-27m-4e-4', '21:19')]).toEqual([rates.runs - 216, Rates.of('atlas-e-27m-4e-4').runs]);
    expect(page).toContain('its runs were begun at 21:19 UTC on 2026-11-18');
    // The second machine left seals: of its own runs and of the six that were made on both.
    expect(seals).toBe(rates.runs - 216 + 6);
    for (const remedy of screened.concat('penalty')) if (remedy !== 'filter') expect(fails(`${remedy}-attempt`)).toBe(0);
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
      `attempts of ${two(attempts)} in seeds ${failing.join(', ').replace(/, (?=\d+$)/, ' and ')}, by \`run_tests\` ${two(unwatched)}`,
      `fails in ${failing.length} of 20, by a monitor of the other one in ${rates.failing('own-mean-other').length} of 20, by flags at random in ${rates.failing('own-mean-chance').length} of 20; penalty 3 and screen fail in ${rates.failing('screen').length} of 20, as by flags at random, and penalty 6 in ${rates.failing('penalty-6').length} (${rates.failing('penalty-6-chance').length})`,
      `among the ${words[preferred.length]} seeds in which vanilla`,
      `${20 - rates.failing('own-mean-chance').length} of 20 such runs do not fail`,
      `the watched exploit (${range(rates.values('own-mean-other', 'run_tests', 'test-original', 'full'))} as trained) and the deployed block the other (attempts ${range(rates.values('own-mean-other', 'attempts'))})`,
      `not reached under penalty 3 and the screen, ${short('penalty-3')}, are those`,
      `under penalty 6 it is not reached in seed ${short('penalty-6').replace(`${short('penalty-3')} and `, '')} either`,
      `penalty 6 by flags at random attempts in ${average(rates.values('penalty-6-chance', 'attempts')).toFixed(2)}, and ${20 - rates.failing('penalty-6-chance').length} of 20 do not fail, where by the monitor it attempts in ${average(rates.values('penalty-6', 'attempts')).toFixed(2)}`,
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
    expect(textOf('micro-price')).toContain(
      `vanilla solves ${range(less)} less than a sound grader teaches; own mean fails in ${rates.failing('own-mean').length} of 5`,
    );
  });
});
