/** What results say of one arm: its rates, and how they differ from those of its placebos and of the baseline. */

import type { FinalSet } from '../evaluate/index.ts';
import { equalsP, fewestSeeds, formatP, leastP } from '../measure/table.ts';
import { labelInformed, type Results } from './aggregate.ts';
import type { Comparison } from './comparisons.ts';
import { awaitedPlacebos, awaitedText, compareArms, withoutPlacebo } from './comparisons.ts';
import { failuresOf } from './failures.ts';
import { meanRatesOf, percentText, pointsText } from './mean-rates.ts';

export function armFacts({ results, set }: { readonly results: Results; readonly set: FinalSet }) {
  const [attempts, hacks] = [compareArms(results, set, 'attempt'), compareArms(results, set, 'hack')];
  const alone = withoutPlacebo(results);
  return results.arms
    .filter(({ arm }) => arm !== results.baseline)
    .flatMap(({ arm, usesOracle, hasQuarantine, runs }) => {
      const [full, deployed] = [meanRatesOf(arm, runs, set, 'full'), meanRatesOf(arm, runs, set, 'deployed')];
      if (full === null || deployed === null) return [];
      const failures = failuresOf(results).find((one) => one.arm === arm);
      const found = hacks.flatMap((hack, i) => (hack.arm === arm ? [{ attempt: attempts[i], hack }] : []));
      // What an arm removes beyond its placebo is what speaks for it.
      const isLast = ({ hack }: (typeof found)[number]): number => Number(hack.against === results.baseline);
      const tests = found.toSorted((a, b) => isLast(a) - isLast(b));
      const facts = {
        arm,
        usesOracle,
        isInformed: labelInformed(results).includes(arm),
        hasQuarantine,
        full,
        deployed,
      };
      return [{ ...facts, failures, tests, hasPlacebo: !alone.includes(arm), awaited: awaitedPlacebos(results, arm) }];
    });
}

export function armText(facts: ReturnType<typeof armFacts>[number]): string {
  const { arm, usesOracle, isInformed, hasQuarantine, full, deployed, failures, tests, hasPlacebo, awaited } = facts;
  const rates = (metric: 'attempt' | 'hack'): string =>
    hasQuarantine
      ? `${metric} ${percentText(full[metric])} as trained, ${percentText(deployed[metric])} deployed`
      : `${metric} ${percentText(deployed[metric])}`;
  const mark = usesOracle ? ' (uses labels)' : isInformed ? ' (settings informed by labels)' : '';
  const fail = failures === undefined ? '' : ` (${failText(failures)})`;
  const whole = hasQuarantine ? '' : ' with all that it trained deployed';
  const differences = tests.map(
    ({ attempt, hack }) => `attempts ${differenceText(attempt)}, hacks ${differenceText(hack)}${quarantineText(hack)}`,
  );
  return `${[
    `${arm}${mark}: ${rates('attempt')}${fail}; ${rates('hack')}${whole}, at solve ${percentText(deployed.solve)} (${percentText(deployed.cleanSolve)} without an attempt)`,
    ...differences,
    ...(hasPlacebo ? [] : [awaited.length === 0 ? 'no placebo in this study' : `its ${awaitedText(awaited)}`]),
  ].join('; ')}.`;
}

function differenceText({ against, difference, below, adjusted, seeds, test: kind }: Comparison): string {
  const points = `${pointsText(difference)} ${against}`;
  if (seeds.length < 2) return points;
  const test = seeds.length < fewestSeeds ? 'too few for a test' : `p ${equalsP(adjusted)} after Holm`;
  // The test of differences without a spread is bounded by the number of seeds, however large the difference.
  const least = leastP(seeds.length);
  const isBounded = seeds.length >= fewestSeeds && kind === 'sign flip' && difference !== 0 && least >= 0.001;
  const bound = isBounded
    ? `: all seeds differ alike, so that signs are flipped, and ${seeds.length} seeds cannot give less than ${formatP(least)} before Holm`
    : '';
  return `${points} (below it in ${below} of ${seeds.length} seeds; ${test}${bound})`;
}

/** What the quarantines got, beside a comparison of arms with one each. */
function quarantineText({ against, routed, qmass }: Comparison): string {
  const shares = [
    ['rollouts (routed)', routed],
    ['gradient (qmass)', qmass],
  ] as const;
  const said = shares.flatMap(([what, { arm: own, against: other }]) =>
    own === null || other === null ? [] : [`${own.toFixed(2)} of the ${what}, that of ${against} ${other.toFixed(2)}`],
  );
  return said.length === 0 ? '' : `; its quarantine got ${said.join(', and ')}`;
}

function failText({ failed, n }: { readonly failed: number; readonly n: number }): string {
  if (n === 1) return failed === 1 ? 'the run fails' : 'the run does not fail';
  return `${failed} of ${n} runs fail`;
}
