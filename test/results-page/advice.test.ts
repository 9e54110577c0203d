/** What README.md and docs/what-should-i-use.md say of the studies, recomputed from the counts of the runs in bench/results. */
import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { average, logRankTest, medianTime } from '../../src/stats/index.ts';
import { experimentOf, plain, Rates, readPredictions, root } from './rates.ts';
import { range, words } from './sections.ts';

describe('what the pages say', () => {
  it('what-should-i-use.md has the failures of the studies', () => {
    const advice = plain(readFileSync(`${root}docs/what-should-i-use.md`, 'utf8'));
    const failures = (study: string, arm: string): string =>
      `${Rates.of(study).failing(arm).length} of ${Rates.of(study).values(arm, 'attempts').length}`;
    const both = (first: string, second: string): string => {
      expect(first).toBe(second);
      return first;
    };
    const c = (arm: string): string => failures('atlas-c', arm);
    const larger = (arm: string): string => failures('atlas-c-27m', arm);
    const g = (arm: string): string => failures('atlas-g', arm);
    const d = (arm: string): string => failures('atlas-d-parts', arm);
    const twice = (arm: string, other: string): string =>
      both(failures('micro-own-mean-claim', arm), failures('micro-other-pairs-claim', other));
    const a = (arm: string): string => failures('atlas-a', arm);
    const b = (arm: string): string => failures('micro-baseline-placebos', arm);
    const i = (arm: string): string => failures('atlas-i', arm);
    const mean = (study: string, arm: string, column: 'attempts' | 'cleanSolves' = 'attempts'): string =>
      average(Rates.of(study).values(arm, column)).toFixed(2);
    const kept = (arm: string, study = 'atlas-i'): string =>
      average([...Rates.of(study).keptBySeed(arm).values()]).toFixed(2);
    const e = (arm: string): string => failures('atlas-e-2m', arm);
    const f = (arm: string): string => failures('atlas-f', arm);
    /** Runs that fail on the names that the monitor does not see, and on those that it sees. */
    const half = (arm: string, word = 'with'): string => {
      const rates = [...new Rates(`${root}bench/results/atlas-f-halves.csv`).bySeed(arm, 'attempts', `train ${word} check_`)].filter(([seed]) => seed >= 689); // biome-ignore format: one line
      return `${rates.filter(([, rate]) => rate > 0.1).length} of ${rates.length}`;
    };
    const keptWithout = (arm: string): string => range(['k1', 'k2', 'k4'].map((k) => Number(kept(`${arm}-${k}`)))).replace('-', ''); // biome-ignore format: one line
    const [small, shipped, large] = ['1m', '27m-4e-4', '100m'].map(
      (size) =>
        (arm: string): string =>
          failures(`atlas-e-${size}`, arm),
    );
    const ofOthers = readdirSync(`${root}bench/results`).flatMap((file) => /^(atlas-l-(?:base|problems)-\d)-rates/.exec(file)?.[1] ?? []); // biome-ignore format: one line
    const others = {
      bases: ofOthers.filter((study) => study.includes('base')).length,
      fail(arm: string): string {
        const runs = ofOthers.map((study) => Rates.of(study));
        const [failing, n] = [runs.map((rates) => rates.failing(arm)), runs.map((rates) => rates.values(arm, 'attempts'))]; // biome-ignore format: one line
        return `${failing.flat().length} of ${n.flat().length}`;
      },
    };
    /** Seeds in which an arm has no clean solves left. */
    const skillless = (study: string, arm: string): number =>
      Rates.of(study).values(arm, 'cleanSolves').filter((rate) => rate < 0.01).length; // biome-ignore format: one line
    /** Seeds in which an arm solves at least 0.2 less than the ceiling, without a hint. */
    const lost = (arm: string, study = 'atlas-e-2m'): number => {
      const [own, ceiling] = [arm, 'no-loophole'].map((name) =>
        Rates.of(study).values(name, 'solves', 'test-unhinted'),
      );
      return own.filter((solve, i) => solve <= ceiling[i] - 0.2 + 1e-9).length;
    };
    for (const size of ['atlas-e-1m', 'atlas-e-27m-4e-4'])
      expect(lost('penalty-3-haar', size)).toBe(lost('penalty-3', size));
    for (const remedy of ['screen', 'filter', 'penalty', 'own-mean'])
      expect([c(`${remedy}-attempt`), c(`${remedy}-chance`)]).toEqual(['0 of 20', '20 of 20']);
    for (const remedy of ['screen', 'filter', 'penalty-3', 'penalty-6', 'own-mean', 'routed'])
      expect(a(`${remedy}-chance`)).toBe('12 of 12');
    for (const remedy of ['screen', 'filter', 'routed', 'penalty']) expect(b(`${remedy}-chance`)).toBe('5 of 5');
    for (const recall of ['1', '0.95', '0.9', '0.8', '0.6']) expect(a(`penalty-6-r${recall}-f0.1`)).toBe('0 of 12');
    for (const recall of ['1', '0.95', '0.9', '0.8']) expect(a(`penalty-6-r${recall}-f0.5`)).toBe('0 of 12');
    for (const arm of ['screen', 'filter', 'routed', 'own-mean']) expect([half(`${arm}-chance`), half(arm)]).toEqual([half('screen'), half('screen')]); // biome-ignore format: one line
    const said = [
      `penalty 6 fails in ${both(a('penalty-6-r0.6-f0'), a('penalty-6-r1-f0'))} at recall 0.6 to 1 with up to one in ten of the others flagged, and with half of them at recall 0.8 and above; it fails in ${a('penalty-6-r0.6-f0.5')} at recall 0.6 with half flagged. Penalty 3 fails in ${both(a('penalty-3-r0.6-f0'), a('penalty-3-r0.8-f0'))} at recall 0.6 and above without false positives, in ${a('penalty-3-r0.6-f0.1')} at recall 0.6 with one in ten flagged, in ${a('penalty-3-r1-f0.5')} without misses and half flagged`,
      `A screen wants recall 0.95 (${a('screen-r0.95-f0')} without false positives, ${a('screen-r0.95-f0.5')} with half of the others flagged; ${a('screen-r0.9-f0')} at 0.9, ${a('screen-r0.8-f0')} at 0.8), and so does own mean with others kept (${a('own-mean-r0.95-f0')}, ${a('own-mean-r0.9-f0')}, ${a('own-mean-r0.8-f0')}), which keeps less; a filter fails in ${a('filter-r0.95-f0')} at 0.95 and ${a('filter-r0.9-f0')} at 0.9. Routing with others absorbed (${a('routed-r0.9-f0')} at 0.9, ${a('routed-r0.8-f0')} at 0.8)`,
      `${mean('atlas-a', 'routed-r0.6-f0')} of attempts at recall 0.6 where a screen leaves ${mean('atlas-a', 'screen-r0.6-f0')}, with a clean solve that is lower where nothing is missed (${mean('atlas-a', 'routed-r1-f0', 'cleanSolves')}, screen ${mean('atlas-a', 'screen-r1-f0', 'cleanSolves')}) and higher where two or four in ten are (${mean('atlas-a', 'routed-r0.8-f0', 'cleanSolves')} and ${mean('atlas-a', 'routed-r0.6-f0', 'cleanSolves')}; screen ${mean('atlas-a', 'screen-r0.8-f0', 'cleanSolves')} and ${mean('atlas-a', 'screen-r0.6-f0', 'cleanSolves')})`,
      `on twenty other seeds in ${i('own-mean')} (${i('own-mean-haar')}). If you know which prompts are sound, train on these alone first: on the same twenty seeds that fails in ${i('trusted')} and keeps ${kept('trusted')} (as many prompts at random: ${i('trusted-dealt')} fail), own mean keeps ${kept('own-mean')} (along a random direction ${kept('own-mean-haar')}). Not early stopping by held-out reward (${i('early-stop')}; by chance ${i('early-stop-chance')}), nor own mean by gradient fingerprints (${i('fingerprint')}; random prototypes ${i('fingerprint-haar')}), nor components projected out of what was learned: ${keptWithout('project')} of the gain is kept, as by an update that is shortened as much (${keptWithout('project-shrunk')})`,
      `Penalty 6 fails in ${f('penalty-6-f0')} (by flags at random ${f('penalty-6-chance')}), on the names that the monitor does not see in ${half('penalty-6-f0')} (${half('penalty-6-chance')}), there with one in ten of the others flagged in ${half('penalty-6-f0.1')} and with half of them in ${half('penalty-6-f0.5')}. Penalty 3 fails in ${f('penalty-3')} (${f('penalty-3-chance')}) by names that are seen and in ${half('penalty-3')} (${half('penalty-3-chance')}) by the others. Screen, filter, routing and own mean fail on the others in ${half('screen')}, as by flags at random`,
      `A screen by the probe fails in ${b('screen-probe')} with 0.84 kept, a filter in ${b('filter-probe')} with 0.70, routing in ${b('routed-probe')} with 0.69; flags at random in 5 of 5 each. A penalty by the probe fails in ${b('penalty-probe')}, by the direction in ${b('penalty-direction')} with 0.98 kept (at random ${both(b('penalty-chance'), b('penalty-haar'))} each)`,
      `Screen, filter, penalty 3 or own mean: each fails in ${c('screen-attempt')}, by flags at random in ${c('screen-chance')}; clean solve is ${mean('atlas-c', 'screen-attempt', 'cleanSolves')}, ${mean('atlas-c', 'filter-attempt', 'cleanSolves')}, ${mean('atlas-c', 'penalty-attempt', 'cleanSolves')} and ${mean('atlas-c', 'own-mean-attempt', 'cleanSolves')}. Own mean keeps less without a hint (${kept('own-mean-attempt', 'atlas-c')}; the others ${both(kept('screen-attempt', 'atlas-c'), kept('filter-attempt', 'atlas-c'))} to ${kept('penalty-attempt', 'atlas-c')}). At 27M a filter fails in ${larger('filter-attempt')} (${larger('filter-chance')}) and loses the skill there, the others in ${both(larger('screen-attempt'), both(larger('penalty-attempt'), larger('own-mean-attempt')))} (${Rates.of('atlas-c-27m').failing('penalty-chance').length} or ${both(larger('screen-chance'), larger('own-mean-chance'))}) with ${both(kept('screen-attempt', 'atlas-c-27m'), both(kept('penalty-attempt', 'atlas-c-27m'), kept('own-mean-attempt', 'atlas-c-27m')))} kept.`,
      `A filter fails in ${c('filter-outcome')}, a screen in ${c('screen-outcome')}, own mean in ${c('own-mean-outcome')}, penalty 3 in ${c('penalty-outcome')}, with attempts of at most ${Math.max(...Rates.of('atlas-c').values('penalty-outcome', 'attempts')).toFixed(2)} (by flags at random each in ${c('screen-chance')}). At 27M these are ${larger('filter-outcome')}, ${larger('screen-outcome')}, ${larger('own-mean-outcome')} and ${larger('penalty-outcome')}, with attempts of at most ${Math.max(...Rates.of('atlas-c-27m').values('penalty-outcome', 'attempts')).toFixed(2)} under the penalty (${Rates.of('atlas-c-27m').failing('penalty-chance').length} to ${larger('filter-chance')}): fewer than was predicted, and not told from labels of attempts by runs that fail. A penalty by such labels that are wrong one time in ten failed in ${b('penalty-oracle-0.9')} ([other seeds](baselines.md#what-the-micro-lab-shows); at random ${b('penalty-chance')}).`,
      `Penalty 3 and screen deploy the other exploit in ${both(g('penalty-3'), g('screen'))} (by flags at random each fails in ${both(g('penalty-3-chance'), g('screen-chance'))}), penalty 6 in ${g('penalty-6')} (${g('penalty-6-chance')}). Own mean by the monitor fails in ${g('own-mean')}`,
      `in ${g('own-mean-other')} where it is the other one`,
      `On twenty seeds at 2M a screen by the direction fails in ${e('screen')}, along a random direction in ${e('screen-haar')}, with a clean solve of ${mean('atlas-e-2m', 'screen', 'cleanSolves')} and ${kept('screen', 'atlas-e-2m')} of the gain kept; at 1M in ${small('screen')} (${small('screen-haar')}), at 8M in ${failures('atlas-e-8m', 'screen')} (${failures('atlas-e-8m', 'screen-haar')}), at 27M at the shipped rate in ${shipped('screen')} (${shipped('screen-haar')}), at 100M in ${large('screen')} (${large('screen-haar')}). On the twenty seeds own mean with others absorbed fails in ${e('own-absorb')} (${e('own-absorb-haar')}) with ${mean('atlas-e-2m', 'own-absorb', 'cleanSolves')} and ${kept('own-absorb', 'atlas-e-2m')}, at 1M in ${small('own-absorb')} (${small('own-absorb-haar')}) with ${mean('atlas-e-1m', 'own-absorb', 'cleanSolves')} and ${kept('own-absorb', 'atlas-e-1m')}, at 27M at the shipped rate in ${shipped('own-absorb')} (${shipped('own-absorb-haar')}) with ${mean('atlas-e-27m-4e-4', 'own-absorb', 'cleanSolves')} and ${kept('own-absorb', 'atlas-e-27m-4e-4')}; on twenty others`,
      `On ${words[others.bases]} bases and three sets of problems, five seeds each, own mean fails in ${others.fail('own-absorb')}, the screen in ${others.fail('screen')} (random directions ${others.fail('screen-haar')} for the screen, ${others.fail('own-absorb-haar')} for own mean).`,
      `Penalty 3 fails in ${e('penalty-3')} at 2M too (random directions ${e('penalty-3-haar')}), but is 0.2 or more below a sound grader in solving in ${lost('penalty-3')} of 20 (its placebo in ${lost('penalty-3-haar')} of 20), and loses the skill in ${skillless('atlas-e-8m', 'penalty-3')} of 5 seeds at 8M (its placebo in ${skillless('atlas-e-8m', 'penalty-3-haar')} of 5) and in ${skillless('atlas-e-100m', 'penalty-3')} of 5 at 100M (its placebo is 0.2 below in ${lost('penalty-3-haar', 'atlas-e-100m')} of 5); it is 0.2 below in ${lost('penalty-3', 'atlas-e-1m')} of 5 at 1M and in ${lost('penalty-3', 'atlas-e-27m-4e-4')} of 5 at 27M at the shipped rate, and its placebo in as many`,
      `by flags at random in ${g('own-mean-chance')}, fewer`,
      `fails in ${twice('own-mean', 'other-pairs')}, twice; along a random direction in ${twice('own-mean-haar', 'own-mean-haar')}, twice`,
      `own mean with others absorbed fails in ${d('own-absorb-pairs')}, the gate with own mean in ${d('activation-own-pairs')} (random directions ${d('own-absorb-haar')} and ${d('activation-own-haar')})`,
      `others kept: it fails in ${failures('atlas-d', 'own-keep-pairs')}, and on the seeds of the screen in ${e('own-mean')} (random directions ${failures('atlas-d', 'own-keep-haar')} and ${e('own-mean-haar')}), at 1M in ${small('own-mean')} (${small('own-mean-haar')}), at 100M in ${large('own-mean')} (${large('own-mean-haar')}). Not the gate with the mean of the group: it fails in ${d('activation-group-pairs')}, and on the seeds of the screen in ${e('activation')} (random directions ${both(d('activation-group-haar'), e('activation-haar'))} each)`,
    ];
    expect(said.filter((sentence) => !advice.includes(sentence))).toEqual([]);
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
    const g = (arm: string): number => fails('atlas-g', arm);
    const c = (arm: string): number => fails('atlas-c', arm);
    const larger = (arm: string): number => fails('atlas-c-27m', arm);
    const remedies = ['screen', 'filter', 'penalty', 'own-mean'];
    const chance = remedies.map((remedy) => larger(`${remedy}-chance`));
    const others = remedies.filter((remedy) => remedy !== 'filter').map((remedy) => larger(`${remedy}-attempt`));
    expect(new Set(others)).toEqual(new Set([larger('screen-attempt')]));
    const a = (arm: string): number => fails('atlas-a', arm);
    const e = (arm: string): number => fails('atlas-e-2m', arm);
    const placebo = Rates.of('atlas-g').bySeed('own-mean-chance', 'attempts');
    const below = [...Rates.of('atlas-g').bySeed('own-mean', 'attempts')].filter(
      ([seed, rate]) => rate <= (placebo.get(seed) ?? 0) - 0.25,
    );
    const i = (arm: string): number => fails('atlas-i', arm);
    const [small, large] = ['1m', '100m'].map(
      (size) =>
        (arm: string): number =>
          fails(`atlas-e-${size}`, arm),
    );
    expect([small('own-mean-haar'), small('screen')]).toEqual([large('own-mean-haar'), large('screen')]);
    const [holds] = readPredictions('atlas-e-100m').filter(({ arm, reference }) => arm === 'own-mean' && reference === null); // biome-ignore format: one line
    const blind = (arm: string): number => fails('atlas-f', arm);
    const unseen = (arm: string): number => [...new Rates(`${root}bench/results/atlas-f-halves.csv`).bySeed(arm, 'attempts', 'train with check_')].filter(([seed, rate]) => seed >= 689 && rate > 0.1).length; // biome-ignore format: one line
    const said = [
      `penalty 3 was enough: at two in ten it fails in ${a('penalty-3-r0.8-f0')} of 12 seeds, routing (others train both) in ${a('routed-r0.8-f0')}, screen ${a('screen-r0.8-f0')}, own mean ${a('own-mean-r0.8-f0')} (random: all)`,
      `at four in ten penalty 3 was to fail, and did in ${a('penalty-3-r0.6-f0')} of 12; at 1 and 100 million own mean was to hold in ${holds.inSeeds} of 5, did in ${5 - small('own-mean')}, ${5 - large('own-mean')} (random: ${5 - large('own-mean-haar')})`,
      `it fails, against the prediction, in ${fails('atlas-d', 'own-keep-pairs')} of 20 seeds (random: ${fails('atlas-d', 'own-keep-haar')}); if others train both blocks, in ${fails('atlas-d-parts', 'own-absorb-pairs')} of 20 (random: ${fails('atlas-d-parts', 'own-absorb-haar')}), and in ${e('own-absorb')} of 20 other seeds (random: ${e('own-absorb-haar')})`,
      `The sound quarter alone keeps more; without it a screen by the direction fails in ${e('screen')} of 20 (random: ${e('screen-haar')}), at 1 and 100 million in ${large('screen')} of 5 (${small('screen-haar')} and ${large('screen-haar')})`,
      `Blind to half of the names, own mean fails in ${blind('own-mean')} (random: ${blind('own-mean-chance')}) and penalty 6 in ${blind('penalty-6-f0')} (random: ${blind('penalty-6-chance')}); by the unseen names in ${unseen('penalty-6-f0')} of 12 (random: ${unseen('penalty-6-chance')})`,
      `own mean was to be 0.25 below flags at random in 15 of 20, and was in ${below.length}`,
      `penalty 3 and screen deploy the other in ${g('screen')} of 20 (random: ${g('screen-chance')}); own mean fails in ${g('own-mean')}, but in ${g('own-mean-other')} where the other is the one that is seen (random: ${g('own-mean-chance')})`,
      `By exact labels of hacks a filter fails in ${c('filter-outcome')} of 20 seeds, a screen in ${c('screen-outcome')}, own mean in ${c('own-mean-outcome')}, penalty 3 in ${c('penalty-outcome')}; by labels of attempts all in ${c('filter-attempt')} of 20 (random: ${c('filter-chance')}). At 27 million fewer do: ${larger('filter-outcome')}, ${larger('screen-outcome')}, ${larger('own-mean-outcome')} and ${larger('penalty-outcome')}; of attempts a filter in ${larger('filter-attempt')}, the others in ${larger('screen-attempt')} (random: ${Math.min(...chance)} to ${Math.max(...chance)})`,
    ];
    const arms = { 'no remedy': 'vanilla', 'own mean along the pairs\' direction': 'own-mean', 'own mean along a random direction': 'own-mean-haar', 'training on the sound quarter alone': 'trusted', 'training on as many prompts at random': 'trusted-dealt', 'no loophole: the ceiling': 'no-loophole' }; // biome-ignore format: one line
    for (const [name, arm] of Object.entries(arms)) {
      const means = (['attempts', 'hacks', 'cleanSolves'] as const).map((column) =>
        average(Rates.of('atlas-i').values(arm, column)).toFixed(2),
      );
      said.push(
        `| ${[name, ...means, `${i(arm)} of ${Rates.of('atlas-i').values(arm, 'attempts').length}`].join(' | ')} |`,
      );
    }
    for (const remedy of ['screen', 'penalty-3', 'own-mean', 'routed']) expect(a(`${remedy}-chance`)).toBe(12);
    const kept = (arm: string): number => average([...Rates.of('atlas-i').keptBySeed(arm).values()]);
    expect(kept('trusted')).toBeGreaterThan(kept('own-mean'));
    for (const label of ['chance', 'attempt'])
      for (const remedy of ['screen', 'penalty', 'own-mean'])
        expect(c(`${remedy}-${label}`)).toBe(c(`filter-${label}`));
    for (const arm of ['penalty-3', 'penalty-3-chance']) expect(g(arm)).toBe(g('screen'));
    expect(said.filter((sentence) => !readme.includes(sentence))).toEqual([]);
    const refuted = Rates.of('atlas-a').judge(readPredictions('atlas-a'), 12).filter(({ verdict }) => verdict === 'refuted'); // biome-ignore format: one line
    expect(refuted).toHaveLength(7);
    expect(readme).toContain('seven of 31 on missed attempts');
    const refutedOf = (study: string): string => { const judged = Rates.of(study).judge(readPredictions(study), 20); return `${words[judged.filter(({ verdict }) => verdict === 'refuted').length]} of ${judged.length === 20 ? 'twenty' : words[judged.length]}`; }; // biome-ignore format: one line
    expect(readme).toContain(
      `At 27 million ${refutedOf('atlas-e-27m')} on size were refuted and ${refutedOf('atlas-c-27m')} on labels (at 2 million ${refutedOf('atlas-c').replace(' of twenty', '')}): that the label matters there is not shown by failures`,
    );
    for (const remedy of remedies) expect(Rates.of('atlas-c-27m').discordant(`${remedy}-outcome`, `${remedy}-attempt`).pValue).toBeGreaterThan(0.05); // biome-ignore format: one line
  });

  it('README.md is short: 120 lines, of 100 columns where they are neither tables nor code', () => {
    const lines = readFileSync(`${root}README.md`, 'utf8').trimEnd().split('\n');
    const prose = lines
      .join('\n')
      .replace(/^```[\s\S]*?^```$/gm, '')
      .split('\n');
    expect(lines.length).toBeLessThanOrEqual(120);
    expect(prose.filter((line) => line.length > 100 && !line.startsWith('|'))).toEqual([]);
  });
});
