/**
 * Paired differences between arms. Over seeds: the mean difference with Student's interval, the p-value of the paired t-test (the
 * exact sign-flip test when the differences have no spread), adjusted by Holm over the comparisons of one table, and the
 * smallest difference that this many seeds would find (power 0.8); of fewer than three seeds, the mean alone. Over prompts: the sign-flip test of one difference per prompt,
 * summed over the seeds, since what one prompt gives in several seeds is not independent; it says something about these trained
 * models, not about new seeds.
 */
import type { FinalSet } from '../evaluate/index.ts';
import { pairRows } from '../evaluate/index.ts';
import { spreadSeeds } from '../measure/table.ts';
import {
  detectablePairedDifference,
  holmAdjust,
  mean,
  meanInterval,
  oneSampleStudentTest,
  signFlipTest,
  standardDeviation,
  within,
} from '../stats/index.ts';
import { type ArmResults, armsToRun, finalSample, findArm, type Results, sharedSeeds } from './aggregate.ts';
import { quarantineMetrics, trainingSample } from './training-tables.ts';

export type ComparedMetric = 'attempt' | 'hack' | 'solve';

/** What is compared on a set, attempts first; where no loophole is open, nothing can be a hack. */
export const comparedMetrics = (set: FinalSet): readonly ComparedMetric[] =>
  set === 'test-unhinted' ? ['solve'] : ['attempt', 'hack', 'solve'];

export type Comparison = ReturnType<typeof compareArms>[number];

/** `oracle`: only arms with, or without, labels. */
export function compareArms(results: Results, set: FinalSet, metric: ComparedMetric, oracle?: boolean) {
  return testArms(results, oracle, (arm, against) => compare(arm, against, set, metric));
}

/** Tests of each arm against the baseline and its placebos; the p-values of arms with labels, and of those without, are adjusted by Holm together. */
export function testArms<Test extends { readonly pValue: number | null }>(
  results: Results,
  oracle: boolean | undefined,
  test: (arm: ArmResults, against: ArmResults) => readonly Test[],
): (Test & { readonly adjusted: number | null })[] {
  if (oracle === undefined) return [false, true].flatMap((each) => testArms(results, each, test));
  const found = results.arms
    .filter(({ usesOracle }) => usesOracle === oracle)
    .flatMap((arm) => comparedWith(results, arm.arm).flatMap((against) => test(arm, against)));
  const tested = found.filter(({ pValue }) => pValue !== null);
  const adjusted = holmAdjust(tested.map(({ pValue }) => pValue ?? 1));
  return found.map((one) => ({ ...one, adjusted: adjusted[tested.indexOf(one)] ?? null }));
}

/** The placebos of an arm: its own, or the experiment's. An arm that is itself a placebo has only those that it names. */
export function placebosOf({ design, baseline, placebo }: Results, arm: string): readonly string[] {
  const own = design.arms.find(({ name }) => name === arm)?.placebos ?? null;
  if (own !== null) return own;
  const isPlacebo = arm === placebo || design.arms.some(({ placebos }) => placebos?.includes(arm));
  return placebo === null || isPlacebo || arm === baseline ? [] : [placebo];
}

export function isPlacebo(results: Results, arm: string): boolean {
  return arm === results.placebo || results.arms.some((other) => placebosOf(results, other.arm).includes(arm));
}

/** Arms that claim something and have none of their placebos among these runs; the baseline and the ceiling are what others are compared with. */
export function withoutPlacebo(results: Results): string[] {
  const { arms, baseline, design } = results;
  return arms
    .map(({ arm }) => arm)
    .filter((arm) => arm !== baseline && arm !== design.ceiling && !isPlacebo(results, arm))
    .filter((arm) => !placebosOf(results, arm).some((placebo) => findArm(results, placebo) !== undefined));
}

/** Placebos of an arm that are planned, and of which no run is there yet. */
export function awaitedPlacebos(results: Results, arm: string): string[] {
  const planned = armsToRun(results);
  return placebosOf(results, arm).filter((name) => planned.has(name) && findArm(results, name) === undefined);
}

export const awaitedText = (placebos: readonly string[]): string =>
  `${placebos.length === 1 ? 'placebo' : 'placebos'} (${placebos.join(', ')}) ${placebos.length === 1 ? 'has' : 'have'} not been run yet`;

/** What the quarantines of an arm and of its placebo got, means over the seeds that are compared, is similar up to this ratio. */
const similarRatio = 1.25;

/** The arms of which that is not so, of the rollouts or of the gradient: what they remove beyond their placebo may be for how much they routed. */
export function unlikePlacebos(results: Results, set: FinalSet) {
  return compareArms(results, set, 'attempt').flatMap(({ arm, against, routed, qmass }) => {
    if (!placebosOf(results, arm).includes(against)) return [];
    const apart = Object.entries({ routed, qmass }).flatMap(([what, { arm: own, against: other }]) =>
      own === null || other === null || isSimilar(own, other) ? [] : [{ what, own, other }],
    );
    return apart.length === 0 ? [] : [{ arm, against, apart }];
  });
}

export function unlikeText(unlike: ReturnType<typeof unlikePlacebos>): string {
  const pairs = unlike.map(({ arm, against, apart }) => {
    const shares = apart.map(
      ({ what, own, other }, i) =>
        `${what} ${own.toFixed(2)}, its placebo ${i === 0 ? `${against} ` : ''}${other.toFixed(2)}`,
    );
    return `${arm} ${shares.join(', and ')}`;
  });
  return `${pairs.join('; ')}: not similar (means over seeds, a ratio above ${similarRatio}); the difference may be of mass.`;
}

/** Shares that are alike in the two digits that are shown are similar, however small. */
const isSimilar = (own: number, other: number): boolean =>
  own.toFixed(2) === other.toFixed(2) || Math.max(own, other) <= similarRatio * Math.min(own, other);

function comparedWith(results: Results, arm: string): ArmResults[] {
  const names = new Set([results.baseline, ...placebosOf(results, arm)]);
  names.delete(arm);
  return [...names].map((name) => findArm(results, name)).filter((found) => found !== undefined);
}

/** Of the seeds that both arms have: the mean difference of the deployed rates, arm − against. */
function compare(arm: ArmResults, against: ArmResults, set: FinalSet, metric: ComparedMetric) {
  const pairs = sharedSeeds(...[arm, against].map(({ runs }) => finalSample(runs, set, 'deployed', metric)));
  if (pairs.length === 0) return [];
  const seeds = pairs.map(({ seed }) => seed);
  const differences = pairs.map(({ values: [first, second] }) => first - second);
  return [
    {
      set,
      metric,
      arm: arm.arm,
      against: against.arm,
      seeds,
      difference: mean(differences),
      below: differences.filter((difference) => difference < 0).length,
      ...overSeeds(differences),
      routed: ofBoth(arm, against, seeds, 'routed'),
      qmass: ofBoth(arm, against, seeds, 'qmass'),
      prompts: overPrompts(arm, against, seeds, set, metric),
    },
  ];
}

/** What the quarantine of each arm got, the mean over the compared seeds; null for an arm without a quarantine. */
function ofBoth(
  arm: ArmResults,
  against: ArmResults,
  seeds: readonly number[],
  metric: keyof typeof quarantineMetrics,
): Readonly<Record<'arm' | 'against', number | null>> {
  const meanOf = (own: ArmResults): number | null => {
    const runs = own.runs.filter(({ seed }) => seeds.includes(seed));
    return trainingSample({ ...own, runs }, quarantineMetrics[metric])?.mean ?? null;
  };
  return { arm: meanOf(arm), against: meanOf(against) };
}

/** Of differences of rates. Without spread there is neither an interval, which of no width would claim too much, nor a smallest difference that could be found. */
export function overSeeds(differences: readonly number[]) {
  if (differences.length < spreadSeeds) return { interval: null, pValue: null, test: null, detectable: null };
  const deviation = standardDeviation(differences);
  if (deviation <= 1e-12) {
    const { pValue } = signFlipTest(differences, { seed: 1 });
    return { interval: null, pValue, test: 'sign flip', detectable: null };
  }
  const interval = within(-1, 1, meanInterval(differences));
  const { pValue } = oneSampleStudentTest(differences);
  const detectable = detectablePairedDifference(deviation, differences.length);
  return { interval, pValue, test: 'paired t', detectable };
}

function overPrompts(
  arm: ArmResults,
  against: ArmResults,
  seeds: readonly number[],
  set: FinalSet,
  metric: ComparedMetric,
) {
  const sums = new Map<string, number>();
  for (const seed of seeds) {
    const rows = ({ runs }: ArmResults) => runs.find((run) => run.seed === seed)?.final[set]?.deployed ?? [];
    for (const [a, b] of pairRows(rows(arm), rows(against))) {
      sums.set(a.problem, (sums.get(a.problem) ?? 0) + Number(a[metric]) - Number(b[metric]));
    }
  }
  const differences = [...sums.values()].filter((difference) => difference !== 0);
  return {
    higher: differences.filter((difference) => difference > 0).length,
    lower: differences.filter((difference) => difference < 0).length,
    pValue: differences.length === 0 ? 1 : signFlipTest(differences, { seed: 1 }).pValue,
  };
}
