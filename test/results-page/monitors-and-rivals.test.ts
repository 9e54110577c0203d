/** What docs/results.md says of studies A and F (the quality of the monitor, and one that is half blind) and I (rivals), recomputed from the counts of the runs. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { average, signTest } from '../../src/stats/index.ts';
import { experimentOf, plain, pText, Rates, rankCorrelation, readPredictions, root } from './rates.ts';
import { list, range, textOf, verdictsOf, words } from './sections.ts';

describe('what the text says', () => {
  it('atlas-a: which remedy fails by which monitor, and by what penalties are ordered', () => {
    const rates = Rates.of('atlas-a');
    const text = textOf('atlas-a');
    const fails = (arm: string): number => rates.failing(arm).length;
    const judged = rates.judge(readPredictions('atlas-a'), 12);
    const verdicts = judged.map(({ verdict }) => verdict);
    const said12 = (arm: string, reference: string | null = null, metric = 'attempt') => {
      const [{ reached, prediction }] = judged.filter((one) => one.prediction.arm === arm && one.prediction.reference === reference && one.prediction.metric === metric); // biome-ignore format: one line
      return { reached, asked: prediction.inSeeds };
    };
    const [filter, ownMean, lessThanScreen, moreThanScreen, price] = [said12('filter-r0.9-f0'), said12('own-mean-r0.9-f0'), said12('own-mean-r0.6-f0', 'screen-r0.6-f0'), said12('screen-r0.9-f0', 'own-mean-r0.9-f0'), said12('penalty-6-r1-f0.5', null, 'kept')]; // biome-ignore format: one line
    const keptBy = (arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    const refutedSentences = [
      `The filter at recall 0.9 was to hold in ${filter.asked} of 12 and does in ${filter.reached}. Own mean was to fail there in ${ownMean.asked} and does in ${ownMean.reached}, to attempt 0.1 less than the screen at recall 0.6 (${lessThanScreen.reached} of 12), and 0.05 more at recall 0.9 (${moreThanScreen.reached} of 12).`,
      `at most 0.8 of the gain in ${price.asked} of 12 and does in ${price.reached} (${keptBy('penalty-6-r1-f0.5')} on average, ${keptBy('penalty-6-r1-f0')} without false positives)`,
    ];
    for (const recall of ['0.9', '0.8', '0.6'])
      expect(rates.discordant(`own-mean-r${recall}-f0`, `screen-r${recall}-f0`).pValue).toBeCloseTo(1);
    const counted = (wanted: string): number => verdicts.filter((verdict) => verdict === wanted).length;
    const cells = rates.arms.flatMap((arm) => {
      const [, remedy, recall, wrong] = /^(.*)-r([\d.]+)-f([\d.]+)$/.exec(arm) ?? [];
      return remedy === undefined ? [] : [{ arm, remedy, recall: Number(recall), wrong: Number(wrong) }];
    });
    const penalties = cells
      .filter(({ remedy }) => remedy.startsWith('penalty'))
      .map(({ arm, remedy, recall, wrong }) => ({ arm, push: Number(remedy.at(-1)) * (recall - wrong) }));
    const strong = penalties.filter(({ push }) => push > 1.75);
    const border = penalties.filter(({ push }) => push > 1.45 && push < 1.55);
    expect(strong.map(({ arm }) => fails(arm)).filter((count) => count > 0)).toEqual([]);
    expect(border.map(({ arm }) => arm).sort()).toEqual(['penalty-3-r0.6-f0.1', 'penalty-3-r1-f0.5']);
    const [middle] = penalties.filter(({ push }) => push > 1.25 && push < 1.45);
    const weak = penalties.filter(({ push }) => push < 1.25).map(({ arm }) => fails(arm)).sort((a, b) => b - a); // biome-ignore format: one line
    const withoutMisses = cells.filter(({ recall }) => recall === 1).filter(({ arm }) => fails(arm) > 0);
    expect(withoutMisses.map(({ arm }) => arm)).toEqual(['penalty-3-r1-f0.5']);
    for (const remedy of ['screen', 'filter', 'penalty-3', 'penalty-6', 'own-mean', 'routed']) {
      expect(fails(`${remedy}-chance`)).toBe(12);
    }
    const of = (remedy: string): string[] => cells.filter((cell) => cell.remedy === remedy).map(({ arm }) => arm);
    const [own, screen] = ['own-mean', 'screen'].map(
      (remedy) =>
        (cell: string): number[] =>
          rates.values(`${remedy}-${cell}`, 'attempts'),
    );
    const signs = (cell: string) => signTest(screen(cell), own(cell));
    /** Seeds in which the screen attempts less than routing, and more. */
    const lower = (cell: string): number[] => { const apart = rates.values(`routed-${cell}`, 'attempts').map((rate, i) => rate - screen(cell)[i]); return [apart.filter((by) => by > 0).length, apart.filter((by) => by < 0).length]; }; // biome-ignore format: one line
    const byRecall = ['1', '0.95', '0.9', '0.8', '0.6'].map((recall) => ({ recall, of: ['0', '0.1', '0.5'].map((wrong) => `r${recall}-f${wrong}`) })); // biome-ignore format: one line
    const told = byRecall.flatMap(({ of }) => of).filter((cell) => signs(cell).pValue < 0.05);
    const [, most, ...less] = byRecall.map(({ of }) => of.map((cell) => ['screen', 'filter', 'own-mean'].map((remedy) => average(rates.values(`${remedy}-${cell}`, 'attempts')) > average(rates.values(`routed-${cell}`, 'attempts'))))); // biome-ignore format: one line
    expect(less.flat(2)).not.toContain(false);
    expect(most.map(([ofScreen]) => ofScreen)).toEqual([false, false, true]);
    expect(text).toContain(
      'leaks less than these three on average where one attempt in ten or more is missed (at recall 0.95 a screen leaks less in two cells of three)',
    );
    expect(told).toEqual(['r0.95-f0.1', 'r0.9-f0.5', ...byRecall[3].of, ...byRecall[4].of]);
    const mean = (arm: string, column: 'attempts' | 'cleanSolves' = 'attempts'): string =>
      average(rates.values(arm, column)).toFixed(2);
    const against = (cell: string): string =>
      ['screen', 'own-mean', 'filter']
        .map((remedy) => rates.discordant(`${remedy}-${cell}`, `routed-${cell}`).pValue.toFixed(3))
        .join(', ')
        .replace(/^/, 'p = ')
        .replace(/, (?=[^,]*$)/, ' and ');
    for (const remedy of ['screen', 'own-mean', 'filter']) {
      const routed = rates.values('routed-r0.6-f0', 'attempts');
      expect(rates.values(`${remedy}-r0.6-f0`, 'attempts').filter((rate, i) => rate > routed[i])).toHaveLength(12);
    }
    /** Every run of a remedy; `auroc` where its scores were kept. */
    const points = (remedy: string) =>
      cells
        .filter((cell) => cell.remedy === remedy)
        .flatMap(({ arm, recall, wrong }) =>
          [...rates.bySeed(arm, 'attempts')].map(([seed, attempts]) => ({
            ...{ arm, recall, wrong, attempts, auroc: rates.aurocBySeed(arm).get(seed) },
            flags: Math.round(500 * (1 + recall - wrong)),
          })),
        );
    const scored = (remedy: string) =>
      points(remedy).flatMap(({ auroc, ...point }) => (auroc === undefined ? [] : [{ ...point, auroc }]));
    const cellsWithScores = ['routed', 'filter', 'screen', 'own-mean', 'penalty-3', 'penalty-6'].map((remedy) => new Set(scored(remedy).map(({ arm }) => arm)).size); // biome-ignore format: one line
    expect(cellsWithScores).toEqual([15, 9, 4, 4, 4, 4]);
    const withAttempts = <Point extends { attempts: number }>(all: readonly Point[], by: (point: Point) => number): string => rankCorrelation(all.map(by), all.map(({ attempts }) => attempts)).toFixed(2).replace('-', '−'); // biome-ignore format: one line
    /** Of the runs whose scores were kept: attempts with the AUROC, and with the recall. */
    const correlations = (remedy: string): string =>
      `${withAttempts(scored(remedy), ({ auroc }) => auroc)} and ${withAttempts(scored(remedy), ({ recall }) => recall)}`;
    /** Of all runs, with the AUROC that flags without a score have: penalties go with it, the others with the recall. */
    for (const remedy of ['screen', 'filter', 'penalty-3', 'penalty-6', 'own-mean', 'routed']) {
      const [byFlags, byRecalls] = [
        ({ flags }: { flags: number }) => flags,
        ({ recall }: { recall: number }) => recall,
      ];
      const attempts = points(remedy).map((point) => point.attempts);
      const [withFlags, withRecall] = [points(remedy).map(byFlags), points(remedy).map(byRecalls)].map((by) =>
        rankCorrelation(by, attempts),
      );
      expect([remedy, withFlags < withRecall]).toEqual([remedy, remedy.startsWith('penalty')]);
    }
    const seals = gunzipSync(readFileSync(`${root}bench/results/atlas-seals.csv.gz`)).toString().trim().split('\n').map((line) => line.split(',')); // biome-ignore format: one line
    const strongRuns = seals.filter(([study, run]) => study === 'atlas-a' && strong.some(({ arm }) => run.replace(/-\d+$/, '') === arm)); // biome-ignore format: one line
    const [later, earlier] = [true, false].map((isLast) => strongRuns.filter(([, , commit]) => (commit === 'aa680b48') === isLast).map((seal) => seal[4])); // biome-ignore format: one line
    const solvesOf = (recall: string, remedies: readonly string[]): string[] =>
      remedies.map((remedy) => mean(`${remedy}-r${recall}-f0`, 'cleanSolves'));
    const routedBy = (say: (arm: string) => string | number): string =>
      byRecall.map(({ recall }) => say(`routed-r${recall}-f0`)).join(', ').replace(/, (?=[^,]*$)/, ' and '); // biome-ignore format: one line
    const [method] = ['science'].map((name) => plain(readFileSync(`${root}docs/${name}.md`, 'utf8')));
    expect(method).toContain(
      `attempts are ${routedBy((arm) => mean(arm))} at recall 1, 0.95, 0.9, 0.8 and 0.6 (flags at random ${mean('routed-chance')}); it fails in ${routedBy(fails)} of 12 (at random ${fails('routed-chance')})`,
    );
    /** As the recipe says it. */
    const leaks = /own mean leak [\d.]+ where one in ten is missed and [\d.]+ where four are/.exec(experimentOf('atlas-a').resolve)?.[0].replace('one in ten', 'one attempt in ten'); // biome-ignore format: one line
    const left = (...arms: readonly string[]): string => range(arms.map((arm) => Number(mean(arm))));
    const auroc = (arm: string): string => average([...rates.aurocBySeed(arm).values()]).toFixed(2);
    expect(auroc('routed-r0.6-f0.1')).toBe(auroc('routed-r1-f0.5'));
    const said = [
      `All ${rates.runs.toLocaleString('en')} of the 1,176 runs were made`,
      `Of ${verdicts.length} predictions ${counted('met')} are met, ${words[counted('refuted')]} are refuted, ${counted('open') === 0 ? 'none' : counted('open')} is open.`,
      `solves less where nothing is missed (${solvesOf('1', ['routed']).join()} against ${range(solvesOf('1', ['own-mean', 'filter', 'screen']).map(Number))}). By flags at random every remedy fails in ${fails('routed-chance')} of 12.`,
      `fail at \`r0.6-f0\` and at \`r0.9-f0.1\`, and fails in ${words[fails('penalty-3-r0.6-f0') + fails('penalty-3-r0.9-f0.1')].replace('no', 'none')} of 12`,
      ...refutedSentences,
      `had ${leaks}: it leaks ${mean('own-mean-r0.9-f0')} and ${mean('own-mean-r0.6-f0')}.`,
      `in the ${strong.length} cells at 1.8 or more none of ${12 * strong.length} runs fails (${new Set([...later, ...earlier]).size} are distinct by their rollouts), in the two at 1.5 (penalty 3 at \`r0.6-f0.1\` and \`r1-f0.5\`) ${border
        .map(({ arm }) => fails(arm))
        .sort()
        .join(
          ' and ',
        )} of 12, in the one at 1.35 ${fails(middle.arm)}, in the four at 1.2 or less ${list(weak)}, by flags at random ${fails('penalty-3-chance') + fails('penalty-6-chance')} of 24`,
      `the screen fails in ${fails('screen-r0.8-f0')} of 12 and penalty 3 in ${fails('penalty-3-r0.8-f0') === 0 ? 'none' : 'some'} (p = ${rates.discordant('screen-r0.8-f0', 'penalty-3-r0.8-f0').pValue.toFixed(3)})`,
      `by the same flags: ${['0.9', '0.8', '0.6'].map((recall, i) => `${fails(`own-mean-r${recall}-f0`)} and ${fails(`screen-r${recall}-f0`)}${i === 0 ? ' of 12' : ''} at ${i === 0 ? 'recall ' : ''}${recall}`).join(', ')} (p = 1 each;`,
      `in ${words[told.length - 1]} of the fifteen cells by the sign test (p < 0.05: all of recall 0.8 and 0.6, and \`r0.9-f0.5\`), the screen in one (\`r0.95-f0.1\`)`,
      `it fails in ${fails('routed-r0.8-f0')} of 12, the screen in ${fails('screen-r0.8-f0')}, own mean in ${fails('own-mean-r0.8-f0')}, the filter in ${fails('filter-r0.8-f0')} (${against('r0.8-f0')}; where one in ten is, ${fails('routed-r0.9-f0')} against ${fails('screen-r0.9-f0')}, ${fails('own-mean-r0.9-f0')} and ${fails('filter-r0.9-f0')}, ${against('r0.9-f0')})`,
      `it fails in ${fails('routed-r0.6-f0')}, but attempts in ${mean('routed-r0.6-f0')} of the prompts, they in ${mean('screen-r0.6-f0')}, ${mean('own-mean-r0.6-f0')} and ${mean('filter-r0.6-f0')}`,
      `lower without errors (${mean('routed-r1-f0', 'cleanSolves')}; screen ${mean('screen-r1-f0', 'cleanSolves')}) and higher where two or four in ten are missed (${['routed', 'screen'].map((remedy) => ['0.8', '0.6'].map((recall) => mean(`${remedy}-r${recall}-f0`, 'cleanSolves')).join(' and ')).join('; screen ')}), and no cell keeps more than ${Math.max(...of('routed').map((arm) => average([...rates.keptBySeed(arm).values()]))).toFixed(2)}`,
      `At recall 0.95 it is the screen that attempts less, in ${lower('r0.95-f0')[0]} and ${lower('r0.95-f0.1')[0]} of 12 seeds (more in ${lower('r0.95-f0')[1]} and ${lower('r0.95-f0.1')[1]}), with none and one in ten of the others flagged`,
      `by flags at random it attempts in ${mean('routed-chance')} of the prompts, the screen by such flags in ${mean('screen-chance')}; all ${fails('routed-chance')} fail`,
      `is ${correlations('penalty-3')} under penalty 3, ${correlations('penalty-6')} under penalty 6; ${correlations('routed')} under routing, ${correlations('filter')} under the filter, ${correlations('screen')} under the screen, ${correlations('own-mean')} under own mean`,
      `At an AUROC of ${auroc('routed-r1-f0.5')} routing leaves ${mean('routed-r1-f0.5')} where nothing is missed (\`r1-f0.5\`) and ${mean('routed-r0.6-f0.1')} where four in ten are (\`r0.6-f0.1\`)`,
      `where one attempt in ten is missed: ${fails('screen-r0.9-f0')}, ${fails('screen-r0.9-f0.1')} and ${fails('screen-r0.9-f0.5')} of 12`,
      `at 0.95 the filter ${left('filter-r0.95-f0', 'filter-r0.95-f0.1', 'filter-r0.95-f0.5')} on average, screen and own mean ${left('screen-r0.95-f0.1', 'screen-r0.95-f0.5', 'own-mean-r0.95-f0.1', 'own-mean-r0.95-f0.5')}, at 0.8 these two ${left('screen-r0.8-f0.1', 'screen-r0.8-f0.5', 'own-mean-r0.8-f0.1', 'own-mean-r0.8-f0.5')} and routing ${left('routed-r0.8-f0', 'routed-r0.8-f0.1', 'routed-r0.8-f0.5')}; by flags at random routing leaves ${mean('routed-chance')} and`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
  });

  it('atlas-i: rivals, and what two sittings have in common', () => {
    const rates = Rates.of('atlas-i');
    const text = textOf('atlas-i');
    const again = Rates.of('atlas-i-again');
    const fails = (arm: string): string => `${rates.failing(arm).length} of ${rates.values(arm, 'attempts').length}`;
    const keptOf = (arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    const ofParts = (arm: string): string[] => ['k1', 'k2', 'k4'].map((k) => `${arm}-${k}`);
    const auroc = (arm: string): string => range([...rates.aurocBySeed(arm).values()]);
    const judged = rates.judge(readPredictions('atlas-i'), 20);
    const of = (arm: string, reference: string | null) => judged.filter(({ prediction, verdict }) => prediction.arm === arm && prediction.reference === reference && prediction.metric === 'attempt' && verdict !== 'open')[0];
    const [prints, margin, stopping] = [of('fingerprint', null), of('fingerprint', 'fingerprint-haar'), of('early-stop', 'early-stop-chance')];
    const [trusted, own] = ['trusted', 'own-mean'].map((arm) => rates.keptBySeed(arm));
    const more = [...trusted].filter(([seed, value]) => value > (own.get(seed) ?? Number.NaN)).length;
    const less = [...trusted].filter(([seed, value]) => value < (own.get(seed) ?? Number.NaN)).length;
    const only = (first: string, second: string) => rates.discordant(first, second);
    const stopped = rates.updatesOf('early-stop').filter((update) => update < 100);
    const quarters = [...rates.quartersBySeed('own-mean')];
    const [falling] = quarters.filter(([, values]) => Math.min(...values) < 0.9);
    const steady = quarters.filter(([seed]) => seed !== falling[0]);
    const mean = (arm: string): string => average(rates.values(arm, 'attempts')).toFixed(2);
    /** Early stopping at least 0.25 below chance, with the runs that were evaluated in both sittings as of the second. */
    const [byRule, byChance] = ['early-stop', 'early-stop-chance'].map((arm) => new Map([...rates.bySeed(arm, 'attempts'), ...again.bySeed(arm, 'attempts')]));
    const belowBySecond = [...byRule].filter(([seed, rate]) => rate <= (byChance.get(seed) ?? Number.NaN) - 0.25 + 1e-9).length;
    const said = [
      `All ${rates.arms.reduce((sum, arm) => sum + rates.values(arm, 'attempts').length, 0)} of the 500 runs were made`,
      `Of fourteen predictions ${verdictsOf('atlas-i')}`,
      `own mean by fingerprints does not fail (${prints.reached} of 20; ${prints.prediction.inSeeds} asked for)`,
      `0.25 less than stopping by chance (${stopping.reached} of 20; ${stopping.prediction.inSeeds} asked for; with the five runs as of the second sitting ${belowBySecond} of 20)`,
      `met by no seed more than the ${margin.reached} it asks for`,
      `fails in ${fails('trusted')} and keeps ${keptOf('trusted')} of the gain (as many prompts at random: ${fails('trusted-dealt')} fail); own mean fails in ${fails('own-mean')} and keeps ${keptOf('own-mean')} (random direction: ${fails('own-mean-haar')} fail). Early stopping fails in ${fails('early-stop')} (by chance ${rates.failing('early-stop-chance').length})`,
      `they keep more than own mean in ${more} of 20 and less in ${less} (sign test p < 0.001; own mean's random direction keeps ${keptOf('own-mean-haar')}, prompts at random ${keptOf('trusted-dealt')})`,
      `attempts in ${range(rates.values('early-stop', 'attempts'))} (stopped at updates ${Math.min(...stopped)} to ${Math.max(...stopped)}, in ${words[20 - stopped.length]} seeds not at all): ${words[only('early-stop', 'early-stop-chance').first]} seeds in which only the rule fails, ${words[only('early-stop', 'early-stop-chance').second]} in which only chance does (p = ${pText(only('early-stop', 'early-stop-chance').pValue)})`,
      `attempts are ${range(ofParts('project').flatMap((arm) => rates.values(arm, 'attempts')))} in 20 of 20 and ${list(ofParts('project').map(keptOf)).replace('-0.00', '0.00')} of the gain are kept; an update that is shortened as much does the same (attempts ${range(ofParts('project-shrunk').flatMap((arm) => rates.values(arm, 'attempts')))}, ${range(ofParts('project-shrunk').map(keptOf).map(Number))} kept)`,
      `of the same span fail in ${list(ofParts('project-random').map((arm) => rates.failing(arm).length))} of 20`,
      `components of the pairs' gradients ${fails('project-pairs-k1')} fail, as with their random control`,
      `by gradient fingerprints fails in ${fails('fingerprint')} with attempts of ${mean('fingerprint')}, with random prototypes in ${fails('fingerprint-haar')} with ${mean('fingerprint-haar')} (p = ${pText(only('fingerprint-haar', 'fingerprint').pValue)}), along the pairs' direction in none (${only('fingerprint', 'own-mean').first} and none, p ${pText(only('fingerprint', 'own-mean').pValue)})`,
      `is ${auroc('own-mean')} along the pairs' direction, ${auroc('own-mean-haar')} along random ones, ${auroc('fingerprint')} by fingerprints and ${auroc('fingerprint-haar')} by random prototypes. By quarter of training the pairs' direction stays at ${range(steady.flatMap(([, values]) => values))} in ${steady.length} seeds, and in seed ${falling[0]} it falls from ${falling[1][0].toFixed(2)} to ${list(falling[1].slice(1).map((one) => one.toFixed(2)))}, where the deployed policy attempts in ${rates.bySeed('own-mean', 'attempts').get(falling[0])?.toFixed(2)}`,
    ];
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(textOf('micro-own-mean-claim')).toContain(`(${fails('trusted')} fail, as of own mean; as many prompts at random ${fails('trusted-dealt')})`);
    expect(judged.filter(({ verdict }) => verdict === 'refuted')).toEqual([stopping, prints]);
    expect([margin.reached, margin.verdict]).toEqual([margin.prediction.inSeeds, 'met']);
    expect(signTest([...trusted.values()], [...trusted.keys()].map((seed) => own.get(seed) ?? Number.NaN)).pValue).toBeLessThan(0.001);
    for (const arm of ofParts('project')) expect(fails(arm)).toBe('0 of 20');
    for (const arm of ['project-pairs', 'project-pairs-random'].flatMap(ofParts)) expect(fails(arm)).toBe('20 of 20');
    // Five runs were evaluated in both sittings: they fail in both, and none has the same counts.
    const both = again.arms.flatMap((arm) => [...again.bySeed(arm, 'attempts').keys()].filter((seed) => again.bySeed(arm, 'solves', 'test-unhinted').has(seed) ).map((seed) => ({ arm, seed })));
    expect(both).toHaveLength(5);
    for (const { arm, seed } of both) {
      expect([rates.failing(arm), again.failing(arm)].map((seeds) => seeds.includes(seed))).toEqual([true, true]);
      expect(again.bySeed(arm, 'hacks').get(seed)).not.toBe(rates.bySeed(arm, 'hacks').get(seed));
    }
    const seals = gunzipSync(readFileSync(`${root}bench/results/atlas-seals.csv.gz`)).toString().trim().split('\n').map((line) => line.split(','));
    const sealed = (study: string) => new Map(seals.filter(([own]) => own === study).map(([, run, , , rollouts]) => [run, rollouts]));
    const [first, second] = ['atlas-i', 'atlas-i-again'].map(sealed);
    expect(text).toContain(`${second.size === 20 ? 'Twenty' : second.size} runs were trained in both sittings, and none of them came to the same rollouts`);
    expect([...second].filter(([run, rollouts]) => (first.get(run) ?? rollouts) === rollouts)).toEqual([]);
  }); // biome-ignore format: sentences

  it('atlas-f: a monitor half blind, by held-out prompts and apart by half', () => {
    const rates = Rates.of('atlas-f');
    const text = textOf('atlas-f');
    const fails = (arm: string): string => `${rates.failing(arm).length} of ${rates.values(arm, 'attempts').length}`;
    const keptOf = (arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    const attempts = (arm: string): string => range(rates.values(arm, 'attempts'));
    const mean = (arm: string): string => average(rates.values(arm, 'attempts')).toFixed(2);
    const refuted = rates.judge(readPredictions('atlas-f'), 20).filter(({ verdict }) => verdict === 'refuted');
    const [screen, third, fourth] = refuted;
    const halves = new Rates(`${root}bench/results/atlas-f-halves.csv`);
    /** Attempts on a half of the prompts of `train`, in the seeds of which it was stated. */
    const half = (arm: string, seen: boolean): number[] => [...halves.bySeed(arm, 'attempts', `train ${seen ? 'without' : 'with'} check_`)].filter(([seed]) => seed >= 689).map(([, rate]) => rate);
    const failing = (arm: string, seen = false): number => half(arm, seen).filter((rate) => rate > 0.1).length;
    const cells = (arm: string, seen: boolean): string => `${failing(arm, seen)} of ${half(arm, seen).length} | ${average(half(arm, seen)).toFixed(2)} | ${range(half(arm, seen))}`;
    const unseen = (arm: string): string => `${failing(arm)} of ${half(arm, false).length}`;
    const training = (arm: string): number[] => readFileSync(`${root}bench/results/atlas-f-training.csv`, 'utf8').trim().split('\n').map((line) => line.split(',')).filter(([run]) => run.replace(/-\d+$/, '') === arm).map((row) => Number(row[2]));
    const against = rates.discordant('screen', 'penalty-6-f0');
    const said = [
      `Penalty 6 fails in ${fails('penalty-6-f0')} (flags at random: ${fails('penalty-6-chance')}), and on the half that the monitor does not see in ${unseen('penalty-6-f0')} (${unseen('penalty-6-chance')}); there penalty 3 fails in ${unseen('penalty-3')} (${unseen('penalty-3-chance')}), screen, filter, routing and own mean in ${unseen('own-mean')}, as by flags at random.`,
      `Of fourteen predictions ${verdictsOf('atlas-f')}`,
      `0.05 less than penalty 3 in ${third.reached} of ${third.n} seeds and 0.25 less than the screen in ${fourth.reached} of ${fourth.n} (15 asked for each), and fails in ${fails('own-mean')} with attempts of ${attempts('own-mean')}, by flags at random in ${fails('own-mean-chance')} with ${attempts('own-mean-chance')}`,
      `the screen was to fail in ${screen.prediction.inSeeds} of 20 and does in ${screen.reached}`,
      `Routing with others absorbed fails in ${fails('routed')} and attempts less (${mean('routed')} on average; by flags at random ${mean('routed-chance')}, more in 19 of 20)`,
      `Penalty 6 keeps ${keptOf('penalty-6-f0')} of the gain, with one in ten of the others flagged ${keptOf('penalty-6-f0.1')}, with half of them ${keptOf('penalty-6-f0.5')}, and then fails in ${fails('penalty-6-f0.5')}`,
      `screen against penalty 6 ${against.first === 17 ? 'seventeen' : against.first} and none, exact McNemar p < 0.001`,
      `in at least 11 of 12 (${failing('screen')} each), routing in at least 10 (${failing('routed')}), penalty 6 in at most 2 (${failing('penalty-6-f0')}), penalty 3 attempts in at most 0.10 of the seen half in at least 8 (${12 - failing('penalty-3', true)})`,
      `penalty 3 was to fail on the unseen half in at least 10 and does in ${failing('penalty-3')}`,
      `penalty 6 fails on it in ${unseen('penalty-6-f0.5')} while held-out prompts, of the seen half, show ${fails('penalty-6-f0.5')}`,
      `penalty 6 fails in ${Rates.of('atlas-g').failing('penalty-6').length} of 20 (flags at random ${Rates.of('atlas-g').failing('penalty-6-chance').length})`,
      `both halves together, penalty 3 attempted in ${range(training('penalty-3'))} and by flags at random in ${range(training('penalty-3-chance'))}`,
    ];
    const early = halves.arms.flatMap((arm) => ['with', 'without'].map((word) => halves.bySeed(arm, 'attempts', `train ${word} check_`).get(688))).filter((rate) => rate !== undefined);
    expect(text).toContain(`${words[early.length / 2].replace(/^s/, 'S')} runs of seed 688 were evaluated so too: they stand in the CSV alone, and all fail on both halves`);
    expect(early.filter((rate) => rate <= 0.1)).toEqual([]);
    const columns = readFileSync(`${root}docs/results.md`, 'utf8').replace(/ {2,}/g, ' ');
    expect(said.filter((sentence) => !text.includes(sentence))).toEqual([]);
    expect(rates.arms.map((arm) => `| \`${arm}\` | ${cells(arm, false)} | ${cells(arm, true)} |`).filter((row) => !columns.includes(row))).toEqual([]);
    expect([against.second, against.pValue < 0.001]).toEqual([0, true]);
    expect(refuted.map(({ prediction: { arm, reference, inSeeds } }) => [arm, reference, inSeeds])).toEqual([['screen', null, 19], ['own-mean', 'penalty-3', 15], ['own-mean', 'screen', 15]]);
    for (const arm of ['vanilla', 'filter', 'routed', 'own-mean', 'screen-chance', 'filter-chance', 'penalty-3-chance', 'penalty-6-chance', 'routed-chance', 'own-mean-chance']) expect(failing(arm)).toBe(failing('screen'));
    const random = rates.bySeed('routed-chance', 'attempts');
    expect([...rates.bySeed('routed', 'attempts')].filter(([seed, rate]) => rate < (random.get(seed) ?? 0))).toHaveLength(19);
  }); // biome-ignore format: sentences
});
