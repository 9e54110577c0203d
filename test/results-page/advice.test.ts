/** What README.md and docs/what-should-i-use.md say of the studies, recomputed from the counts of the runs in bench/results. */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { average, logRankTest, medianTime } from '../../src/stats/index.ts';
import { armRow, experimentOf, plain, Rates, root } from './rates.ts';
import { list, plainTables, range, words } from './sections.ts';

describe('what the pages say', () => {
  it('what-should-i-use.md has the rates of the studies: a row names its study and arm', () => {
    const tables = plainTables(readFileSync(`${root}docs/what-should-i-use.md`, 'utf8'));
    const rows = tables.filter(([head]) => head[1] === 'study and arm').flatMap(([[, , ...headings], ...body]) => body.map((cells) => ({ headings, cells }))); // biome-ignore format: one line
    expect(rows.length).toBeGreaterThan(70);
    for (const { headings, cells } of rows) {
      const [study, arm] = cells[1].replaceAll('`', '').split('/');
      expect(cells).toEqual([...cells.slice(0, 2), ...armRow(study, Rates.of(study), arm, headings)]);
    }
  });

  it('what-should-i-use.md leaves out no study of results.md that has a remedy, and of study E no size', () => {
    const [advice, results] = ['what-should-i-use', 'results'].map((name) => readFileSync(`${root}docs/${name}.md`, 'utf8'));
    const studies = [...new Set([...results.matchAll(/bench\/results\/([\w-]+)-rates\.csv/g)].map(([, study]) => study))];
    // L is told in a sentence; of 27M the rate is used at which there was something to remove; two loopholes have twenty seeds in G.
    const elsewhere = /^atlas-l-|^atlas-e-27m$|^atlas-i-again$|^micro-two-loopholes$/;
    const named = (study: string, arm: string): boolean => advice.includes(`\`${study}/${arm}`);
    expect(studies.filter((study) => !elsewhere.test(study) && !named(study, ''))).toEqual([]);
    const sizes = studies.filter((study) => study.startsWith('atlas-e-') && !elsewhere.test(study));
    const remedies = ['screen', 'own-absorb', 'own-mean', 'activation', 'penalty-3'];
    const made = sizes.flatMap((study) => remedies.filter((arm) => Rates.of(study).arms.includes(arm)).map((arm) => [study, arm]));
    expect(made.filter(([study, arm]) => !named(study, `${arm}\``))).toEqual([]);
  }); // biome-ignore format: one line each

  it('what-should-i-use.md says of the studies what no row of it has', () => {
    const advice = plain(readFileSync(`${root}docs/what-should-i-use.md`, 'utf8'));
    const failures = (study: string, arm: string): string => `${Rates.of(study).failing(arm).length} of ${Rates.of(study).values(arm, 'attempts').length}`; // biome-ignore format: one line
    /** Runs that fail on the names that the monitor does not see. */
    const unseen = (arm: string): string => {
      const rates = [...new Rates(`${root}bench/results/atlas-f-halves.csv`).bySeed(arm, 'attempts', 'train with check_')].filter(([seed]) => seed >= 689); // biome-ignore format: one line
      return `${rates.filter(([, rate]) => rate > 0.1).length} of ${rates.length}`;
    };
    const ofOthers = readdirSync(`${root}bench/results`).flatMap((file) => /^(atlas-l-(?:base|problems)-\d)-rates/.exec(file)?.[1] ?? []); // biome-ignore format: one line
    const elsewhere = (arm: string): string => {
      const runs = ofOthers.map((study) => Rates.of(study));
      return `${runs.flatMap((rates) => rates.failing(arm)).length} of ${runs.flatMap((rates) => rates.values(arm, 'attempts')).length}`;
    };
    /** Seeds in which an arm solves at least 0.2 less than the ceiling, without a hint. */
    const lost = (study: string, arm: string): string => {
      const [own, ceiling] = [arm, 'no-loophole'].map((name) => Rates.of(study).values(name, 'solves', 'test-unhinted')); // biome-ignore format: one line
      return `${own.filter((solve, i) => solve <= ceiling[i] - 0.2 + 1e-9).length} of ${own.length}`;
    };
    const [ours, placebo] = ['penalty-3', 'penalty-3-haar'].map((arm) => ['2m', '1m', '8m', '27m-4e-4', '100m'].map((size) => lost(`atlas-e-${size}`, arm))); // biome-ignore format: one line
    const kept = (arm: string): string =>
      range(['k1', 'k2', 'k4'].map((k) => average([...Rates.of('atlas-i').keptBySeed(`${arm}-${k}`).values()]))).replace('-', ''); // biome-ignore format: one line
    const [[failed]] = [...Rates.of('atlas-c-27m').bySeed('filter-attempt', 'attempts')].filter(([, rate]) => rate > 0.1); // biome-ignore format: one line
    for (const arm of ['screen', 'filter', 'routed', 'own-mean']) expect([unseen(`${arm}-chance`), unseen(arm)]).toEqual([unseen('screen'), '12 of 12']); // biome-ignore format: one line
    for (const cell of [
      'r1-f0',
      'r0.95-f0',
      'r0.9-f0',
      'r0.8-f0',
      'r1-f0.1',
      'r0.95-f0.1',
      'r0.9-f0.1',
      'r0.8-f0.1',
      'r1-f0.5',
      'r0.95-f0.5',
      'r0.9-f0.5',
    ])
      expect(failures('atlas-a', `penalty-6-${cell}`)).toBe('0 of 12');
    const leak = (arm: string, recall: string): number => average(Rates.of('atlas-a').values(`${arm}-r${recall}-f0`, 'attempts')); // biome-ignore format: one line
    for (const recall of ['0.8', '0.6'])
      for (const arm of ['screen', 'filter', 'own-mean']) expect(leak(arm, recall)).toBeGreaterThan(leak('routed', recall)); // biome-ignore format: one line
    const said = [
      `in twelve of these seeds, penalty 6 fails in ${unseen('penalty-6-f0')} (by flags at random ${unseen('penalty-6-chance')}), with one in ten of the others flagged in ${unseen('penalty-6-f0.1')} and with half of them in ${unseen('penalty-6-f0.5')}, penalty 3 in ${unseen('penalty-3')} (${unseen('penalty-3-chance')}); screen, filter, routing and own mean fail in ${unseen('screen')}`,
      `On ${words[ofOthers.filter((study) => study.includes('base')).length]} bases and three sets of problems, five seeds each, own mean with others absorbed fails in ${elsewhere('own-absorb')}, the screen in ${elsewhere('screen')} (random directions ${elsewhere('own-absorb-haar')} for own mean, ${elsewhere('screen-haar')} for the screen)`,
      `in ${ours[0]} runs at 2M and in ${ours[1]} at 1M, ${ours[2]} at 8M, ${ours[3]} at 27M at the shipped rate and ${ours[4]} at 100M; its placebo does so in ${list(placebo)}`,
      `${kept('project')} of the gain is kept, as by an adapter that is shortened as much (${kept('project-shrunk')})`,
      `The run of the filter that fails at 27M solves ${Rates.of('atlas-c-27m').bySeed('filter-attempt', 'cleanSolves').get(failed)?.toFixed(2)} cleanly`,
    ];
    expect(said.filter((sentence) => !advice.includes(sentence))).toEqual([]);
    const keptOf = (remedy: string): number => average([...Rates.of('atlas-c').keptBySeed(`${remedy}-attempt`).values()]); // biome-ignore format: one line
    expect(advice).toContain('own mean keeps least there');
    for (const remedy of ['screen', 'filter', 'penalty']) expect(keptOf(remedy)).toBeGreaterThan(keptOf('own-mean'));
    expect(advice).toContain('a screen or own mean below recall 0.95, a filter below 1');
    for (const [cell, count] of [['filter-r0.95-f0', 3], ['screen-r0.95-f0', 0], ['screen-r0.9-f0', 3], ['own-mean-r0.9-f0', 4]] as const) expect(failures('atlas-a', cell)).toBe(`${count} of 12`); // biome-ignore format: one line
  });

  it('micro-lab.md says how often own mean with others kept fails without sound prompts', () => {
    const fails = (study: string, arm: string): number => Rates.of(study).failing(arm).length;
    expect(plain(readFileSync(`${root}docs/micro-lab.md`, 'utf8'))).toContain(
      `fails in ${fails('atlas-d', 'own-keep-pairs')} of 20 (${fails('atlas-d', 'own-keep-haar')}), on other seeds in ${fails('atlas-e-2m', 'own-mean')} of 20 (${fails('atlas-e-2m', 'own-mean-haar')}), so set \`arm.others=absorb\` there (${fails('atlas-d-parts', 'own-absorb-pairs')} of 20, random direction ${fails('atlas-d-parts', 'own-absorb-haar')}; on those other seeds ${fails('atlas-e-2m', 'own-absorb')} of 20, ${fails('atlas-e-2m', 'own-absorb-haar')})`,
    );
  });

  it('micro-claim.md and baselines.md say what their tables have', () => {
    const pages = ['micro-claim', 'baselines'].map((name) => plain(readFileSync(`${root}docs/${name}.md`, 'utf8')));
    const [claim, parts, others] = ['micro-claim', 'micro-ablation-placebos', 'micro-baseline-placebos'].map((study) => Rates.of(study)); // biome-ignore format: one line
    const mean = (rates: Rates, arm: string, column: 'attempts' | 'hacks' | 'cleanSolves' = 'attempts'): string =>
      average(rates.values(arm, column)).toFixed(2);
    const kept = (rates: Rates, arm: string): string => average([...rates.keptBySeed(arm).values()]).toFixed(2);
    const less = (rates: Rates, arm: string, placebo: string, column: 'attempts' | 'hacks' = 'attempts'): number[] => {
      const own = rates.values(arm, column);
      return rates.values(placebo, column).map((rate, i) => rate - own[i]);
    };
    const lower = (rates: Rates, arm: string, placebo: string): number =>
      less(rates, arm, placebo).filter((difference) => difference > 0).length;
    const [hacks, attempts] = (['hacks', 'attempts'] as const).map((column) =>
      less(claim, 'activation', 'haar', column),
    );
    const said = [
      `as it was stated (${less(claim, 'activation', 'vanilla', 'hacks').filter((rate) => rate > 0 && hacks.every((one) => one >= 0.05)).length} of 5; vanilla ${mean(claim, 'vanilla', 'hacks')}; ${mean(claim, 'activation', 'hacks')} against ${mean(claim, 'haar', 'hacks')}), and in attempts: ${range(attempts)} less in 5 of 5 (${mean(claim, 'activation')} against ${mean(claim, 'haar')}), with ${kept(claim, 'activation')} kept`,
      `${mean(claim, 'activation')} of attempts, ${range(claim.values('activation', 'attempts'))} by seed`,
      `exact McNemar p = ${claim.discordant('haar', 'activation').pValue.toFixed(3)}`,
      `The gate by labels of outcomes fails in ${claim.failing('oracle').length} of 5`,
      `${range(claim.values('haar', 'attempts'))} along random directions and ${range(claim.values('mass-matched', 'attempts'))} with dealt routes`,
      `${kept(claim, 'activation')} by the gate, ${kept(claim, 'haar')} and ${kept(claim, 'mass-matched')} by its placebos, ${kept(claim, 'absorb')} without a gate`,
      `attempts less than its placebo in ${lower(claim, 'gradient', 'gradient-haar')} of 5 (${mean(claim, 'gradient')} against ${mean(claim, 'gradient-haar')}), by 0.25 in ${less(claim, 'gradient', 'gradient-haar').filter((rate) => rate >= 0.25).length}`,
      `(${mean(claim, 'symmetric')} against ${mean(claim, 'symmetric-haar')}, lower in ${lower(claim, 'symmetric', 'symmetric-haar')} of 5)`,
      `in ${lower(claim, 'scorda', 'scorda-reversed')} of 5 (${mean(claim, 'scorda')} against ${mean(claim, 'scorda-reversed')}), fails in all, and keeps ${kept(claim, 'scorda')}`,
      `a frozen B in ${parts.failing('frozen-b').length}, rank 16 in ${parts.failing('rank-16').length}`,
      `in ${lower(others, 'screen-probe', 'routed-probe')} of 5 (${mean(others, 'screen-probe')} against ${mean(others, 'routed-probe')}) and keeps more (${kept(others, 'screen-probe')} against ${kept(others, 'routed-probe')})`,
      `routed by flags at random attempts are ${mean(others, 'routed-chance')}, and ${mean(others, 'routed-chance-0.8')} at a rate of 0.8`,
      `penalty and screen fail in ${others.failing('screen-oracle-0.9').length} of 5, the filter in ${others.failing('filter-oracle-0.9').length}, routing in ${others.failing('routed-oracle-0.9').length} (attempts ${range(others.values('routed-oracle-0.9', 'attempts'))}, at the bar; ${kept(others, 'routed-oracle-0.9')} kept`,
    ];
    expect(said.filter((sentence) => !pages.some((page) => page.includes(sentence)))).toEqual([]);
    for (const arm of ['frac-0.5', 'rank-2']) expect(parts.failing(arm)).toEqual([]);
    for (const arm of ['no-kl', 'no-kl-haar']) expect(parts.failing(arm)).toHaveLength(5);
    expect(others.failing('penalty-oracle-0.9')).toHaveLength(others.failing('screen-oracle-0.9').length);
  });

  it('micro-claim.md has the verdicts of five earlier bars, from the values that were kept', () => {
    const page = plain(readFileSync(`${root}docs/micro-claim.md`, 'utf8'));
    const hacksOf = (study: string, arm: string): number[] => {
      const lines = gunzipSync(readFileSync(`${root}bench/results/${study}.csv.gz`)).toString().trim().split('\n');
      const [row] = lines.filter((line) => line.startsWith(`${arm},`) && line.includes(',test-original,deployed,hack,'));
      return row.split(',')[9].split(' ').map(Number);
    };
    const reached = (study: string, arm: string, reference: string | null, atMost: number): number => {
      const others = reference === null ? null : hacksOf(study, reference);
      return hacksOf(study, arm).filter((rate, i) => rate - (others?.[i] ?? 0) <= atMost + 1e-9).length;
    };
    /** In how many seeds the bar of the recipe is reached; all have to. */
    const ofBar = (study: string): number => {
      const { bar, seeds } = experimentOf(study);
      if (bar === null) throw new Error(`${study} has no bar`);
      expect([bar.metric, bar.inSeeds, seeds.length]).toEqual(['hack', 5, 5]);
      return reached(study, bar.arm, bar.reference, bar.atMost ?? Number.NaN);
    };
    const said = [
      `pairs about style (\`micro-ablations\`, ${ofBar('micro-ablations')} of 5)`,
      // Its bar is about two of four loopholes, and hacks by loophole were not kept.
      `over all four loopholes that margin is reached in ${ofBar('micro-heldout')} of 5)`,
      `at recall 0.4, reached in ${ofBar('micro-recall')} of 5`,
      `one cut for both routes at most at 0.05, reached in ${ofBar('micro-better')} of 5; on the same seeds the margin of the claim above, 0.05 below the random direction, is reached in ${reached('micro-better', 'activation', 'haar', -0.05)} of 5`,
      `a penalty by a probe on the same pairs, reached in ${ofBar('micro-baselines')} of 5`,
    ];
    expect(said.filter((sentence) => !page.includes(sentence))).toEqual([]);
    const refuted = ['micro-recall', 'micro-better', 'micro-baselines'].filter((study) => ofBar(study) < 5);
    expect(page).toContain(refuted.length === 3 && ofBar('micro-ablations') === 5 ? 'Three were refuted.' : 'another count');
  }); // biome-ignore format: sentences

  it('micro-claim.md says when runs first fail along the way', () => {
    const rates = Rates.of('micro-claim');
    const page = plain(readFileSync(`${root}docs/micro-claim.md`, 'utf8'));
    const p = (arm: string, placebo: string, digits = 3): string =>
      logRankTest(rates.waits(arm), rates.waits(placebo)).pValue.toFixed(digits);
    const [own, random] = ['activation', 'haar'].map((arm) => medianTime(rates.waits(arm)));
    /** Attempts of 64 prompts of the runs that are above 0.10 at an update. */
    const above = (arm: string, update: number): [number, number][] =>
      [...rates.bySeed(arm, 'attempts', 'curve', 'deployed', update)].filter(([, rate]) => rate > 0.1).map(([seed, rate]) => [seed, Math.round(64 * rate)]);
    const last = above('activation', 100);
    const back = above('activation', 40).filter(([seed]) => last.every(([other]) => other !== seed));
    expect(back).toHaveLength(1);
    const failed = rates.waits('activation').filter(({ time, happened }) => happened && time === 40).length;
    const said = [
      `above 0.10 at update 40 in ${failed} of 5 seeds, and on the same prompts at update 100 in ${last.length} of 5 (${last.map(([, count]) => count).join(', ').replace(/, (?=[^,]*$)/, ' and ')} of 64 in seeds ${last.map(([seed]) => seed).join(', ').replace(/, (?=[^,]*$)/, ' and ')}; along a random direction ${above('haar', 100).length} of 5); only seed ${back.map(([seed, count]) => `${seed} went back (${count} to ${Math.round(64 * (rates.bySeed('activation', 'attempts', 'curve', 'deployed', 100).get(seed) ?? 0))}`).join()})`,
      `(median ${own} against ${random}, log-rank p = ${p('activation', 'haar')}) and than with dealt routes (p = ${p('activation', 'mass-matched')}); symmetric tails later than along a random direction (p = ${p('symmetric', 'symmetric-haar')}), the gradient gate and signed CorDA not (p = ${p('gradient', 'gradient-haar', 2)} and ${p('scorda', 'scorda-reversed', 0)})`,
    ];
    expect(said.filter((sentence) => !page.includes(sentence))).toEqual([]);
    expect(rates.failing('activation')).toHaveLength(1);
  }); // biome-ignore format: sentences

  it('micro-claim.md has the attempts along the way', () => {
    const rates = Rates.of('micro-claim');
    const page = plain(readFileSync(`${root}docs/micro-claim.md`, 'utf8'));
    const rows = [...page.matchAll(/\| `([\w-]+)`, (as trained|deployed) \| ([\d. |]+?) \|(?= \||$| [A-Z])/g)];
    expect(rows).toHaveLength(6);
    for (const [, arm, state, cells] of rows) {
      const means = [20, 40, 60, 80, 100].map((update) =>
        average(rates.values(arm, 'attempts', 'curve', state === 'deployed' ? state : 'full', update)).toFixed(2),
      );
      expect(`${arm}: ${cells}`).toBe(`${arm}: ${means.join(' | ')}`);
    }
  });

  it('README.md has the failures of the studies', () => {
    const readme = plain(readFileSync(`${root}README.md`, 'utf8'));
    const fails = (study: string, arm: string): number => Rates.of(study).failing(arm).length;
    const [a, c, e, g, i] = ['atlas-a', 'atlas-c', 'atlas-e-2m', 'atlas-g', 'atlas-i'].map((study) => (arm: string): number => fails(study, arm)); // biome-ignore format: one line
    const clean = (arm: string): string => average(Rates.of('atlas-e-2m').values(arm, 'cleanSolves')).toFixed(2);
    const rival = (arm: string): string => average([...Rates.of('atlas-i').keptBySeed(arm).values()]).toFixed(2);
    const said = [
      `With a quarter of sound prompts it fails in ${i('own-mean')} of 20 runs (placebo ${i('own-mean-haar')}). With no sound prompt it was predicted to hold and fails in ${fails('atlas-d', 'own-keep-pairs')} of 20 (placebo ${fails('atlas-d', 'own-keep-haar')}), others kept; others absorbed, in ${fails('atlas-d-parts', 'own-absorb-pairs')} of 20 and ${e('own-absorb')} of 20 (placebos ${fails('atlas-d-parts', 'own-absorb-haar')} and ${e('own-absorb-haar')})`,
      `Of what a sound grader adds to solving without a hint the sound quarter keeps ${rival('trusted')}, own mean ${rival('own-mean')}.`,
      `a screen by the direction fails in ${e('screen')} of 20 (placebo ${e('screen-haar')}), at ${clean('screen')} clean solves; own mean, others absorbed, ${clean('own-absorb')}`,
      `at two misses in ten penalty 3 fails in ${a('penalty-3-r0.8-f0')} of 12, screen in ${a('screen-r0.8-f0')}, own mean in ${a('own-mean-r0.8-f0')} (placebos 12)`,
      `Penalty 3 and screen deploy the other in ${g('screen')} of 20 (placebos ${g('screen-chance')}). Own mean fails in ${g('own-mean')} where the one that is seen is mostly what is learned without a remedy, and in ${g('own-mean-other')} where it is the other (placebo ${g('own-mean-chance')})`,
      `no-trained-loophole) ${fails('micro-other-pairs-claim', 'other-pairs')} of 5 fail, placebo ${fails('micro-other-pairs-claim', 'own-mean-haar')}`,
      `By exact labels of hacks a screen fails in ${c('screen-outcome')} of 20 runs, own mean in ${c('own-mean-outcome')}, penalty 3 in ${c('penalty-outcome')}; by labels of attempts each in ${c('screen-attempt')} (placebos ${c('screen-chance')}). At 27 million weights, failures do not show that the label matters`,
    ];
    const arms = { 'no remedy': 'vanilla', 'own mean, others kept, along the pairs\' direction': 'own-mean', 'its placebo: along a random direction': 'own-mean-haar', 'training on the sound quarter alone': 'trusted', 'its placebo: on as many prompts at random': 'trusted-dealt', 'no loophole: the ceiling': 'no-loophole' }; // biome-ignore format: one line
    for (const [name, arm] of Object.entries(arms)) {
      const means = (['attempts', 'hacks', 'cleanSolves'] as const).map((column) => average(Rates.of('atlas-i').values(arm, column)).toFixed(2)); // biome-ignore format: one line
      said.push(`| ${[name, ...means, `${i(arm)} of ${Rates.of('atlas-i').values(arm, 'attempts').length}`].join(' | ')} |`); // biome-ignore format: one line
    }
    for (const remedy of ['screen', 'penalty-3', 'own-mean']) expect(a(`${remedy}-chance`)).toBe(12);
    for (const remedy of ['penalty', 'own-mean']) for (const label of ['chance', 'attempt']) expect(c(`${remedy}-${label}`)).toBe(c(`screen-${label}`)); // biome-ignore format: one line
    for (const arm of ['penalty-3', 'penalty-3-chance']) expect(g(arm)).toBe(g('screen'));
    for (const remedy of ['screen', 'filter', 'penalty', 'own-mean']) expect(Rates.of('atlas-c-27m').discordant(`${remedy}-outcome`, `${remedy}-attempt`).pValue).toBeGreaterThan(0.05); // biome-ignore format: one line
    expect(said.filter((sentence) => !readme.includes(sentence))).toEqual([]);
  });
});
