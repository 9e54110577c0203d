/**
 * Paired differences between arms. Over seeds: the mean difference with Student's interval, the p-value of the paired t-test (the
 * exact sign-flip test when the differences have no spread), adjusted by Holm over the comparisons of one table, and the
 * smallest difference that this many seeds would find (power 0.8). Over prompts: McNemar's exact test on the discordant
 * prompts of all seeds; it says something about these trained models, not about new seeds.
 */

import type { FinalSet } from '../evaluate/index.ts';
import { pairRows } from '../evaluate/index.ts';
import {
  detectablePairedDifference,
  holmAdjust,
  mcnemarExact,
  mean,
  meanInterval,
  oneSampleStudentTest,
  signFlipTest,
  standardDeviation,
} from '../stats/index.ts';
import { type ArmResults, finalSample, type Results } from './aggregate.ts';

export type ComparedMetric = 'hack' | 'solve';

/** What is compared on a set: where no loophole is open, nothing can be a hack. */
export const comparedMetrics = (set: FinalSet): readonly ComparedMetric[] =>
  set === 'test-unhinted' ? ['solve'] : ['hack', 'solve'];

export interface Comparison {
  readonly set: FinalSet;
  readonly metric: ComparedMetric;
  readonly arm: string;
  readonly against: string;
  /** Seeds that both arms have. */
  readonly seeds: readonly number[];
  /** Mean difference of the deployed rates: arm − against. */
  readonly difference: number;
  /** Number of seeds in which the arm is below what it is compared with. */
  readonly below: number;
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly pValue: number | null;
  readonly test: 'paired t' | 'sign flip' | null;
  readonly adjusted: number | null;
  /** Smallest detectable difference; null with fewer than two seeds, or when the differences have no spread. */
  readonly detectable: number | null;
  readonly prompts: { readonly onlyArm: number; readonly onlyAgainst: number; readonly pValue: number };
}

export function compareArms(results: Results, set: FinalSet, metric: ComparedMetric, oracle: boolean): Comparison[] {
  const reference = (name: string | null): ArmResults | undefined => results.arms.find(({ arm }) => arm === name);
  const references = [reference(results.baseline), reference(results.placebo)].filter((arm) => arm !== undefined);
  const found = results.arms
    .filter((arm) => arm.usesOracle === oracle)
    .flatMap((arm) =>
      references
        .filter((against) => against.arm !== arm.arm)
        // The placebo is compared with the baseline; the baseline with the placebo would be the same comparison.
        .filter((against) => arm.arm !== results.baseline || against.arm !== results.placebo)
        .flatMap((against) => compare(arm, against, set, metric)),
    );
  const tested = found.filter(({ pValue }) => pValue !== null);
  const adjusted = holmAdjust(tested.map(({ pValue }) => pValue ?? 1));
  return found.map((one) => ({ ...one, adjusted: adjusted[tested.indexOf(one)] ?? null }));
}

function compare(arm: ArmResults, against: ArmResults, set: FinalSet, metric: ComparedMetric): Comparison[] {
  const [own, other] = [arm, against].map(({ runs }) => finalSample(runs, set, 'deployed', metric));
  if (own === null || other === null) return [];
  const seeds = own.seeds.filter((seed) => other.seeds.includes(seed));
  if (seeds.length === 0) return [];
  const at = (sample: typeof own, seed: number): number => sample.values[sample.seeds.indexOf(seed)];
  const differences = seeds.map((seed) => at(own, seed) - at(other, seed));
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
      adjusted: null,
      prompts: overPrompts(arm, against, seeds, set, metric),
    },
  ];
}

function overSeeds(differences: readonly number[]): Pick<Comparison, 'interval' | 'pValue' | 'test' | 'detectable'> {
  if (differences.length < 2) return { interval: null, pValue: null, test: null, detectable: null };
  const { low, high } = meanInterval(differences);
  const deviation = standardDeviation(differences);
  if (deviation <= 1e-12) {
    const { pValue } = signFlipTest(differences, { seed: 1 });
    return { interval: { low, high }, pValue, test: 'sign flip', detectable: null };
  }
  const { pValue } = oneSampleStudentTest(differences);
  const detectable = detectablePairedDifference(deviation, differences.length);
  return { interval: { low, high }, pValue, test: 'paired t', detectable };
}

function overPrompts(
  arm: ArmResults,
  against: ArmResults,
  seeds: readonly number[],
  set: FinalSet,
  metric: ComparedMetric,
): Comparison['prompts'] {
  let [onlyArm, onlyAgainst] = [0, 0];
  for (const seed of seeds) {
    const rows = ({ runs }: ArmResults) => runs.find((run) => run.seed === seed)?.final[set]?.deployed ?? [];
    for (const [a, b] of pairRows(rows(arm), rows(against))) {
      if (a[metric] && !b[metric]) onlyArm++;
      if (!a[metric] && b[metric]) onlyAgainst++;
    }
  }
  return { onlyArm, onlyAgainst, pValue: mcnemarExact(onlyArm, onlyAgainst).pValue };
}
