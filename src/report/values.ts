/** Results as values for further computation: CSV in long form, and JSON with every seed's value and every comparison. */
import {
  type ArmResults,
  finalSample,
  labelInformed,
  metrics,
  type Results,
  type Sample,
  sampleOf,
  solveSet,
  states,
} from './aggregate.ts';
import { asksEmergence } from './all-tables.ts';
import { type Comparison, compareArms, comparedMetrics, withoutPlacebo } from './comparisons.ts';
import type { Design } from './design.ts';
import { type BarVerdict, type JudgedPrediction, judgeBar, judgePredictions } from './design.ts';
import {
  compareFailures,
  type Emergence,
  type EmergenceTest,
  emergences,
  type FailureComparison,
  failuresOf,
  type RunFailures,
  testEmergences,
} from './failures.ts';
import { type KeptAndRemoved, keptAndRemoved, type MatchedSolve, matchSolve } from './kept.ts';
import { evasionValues, monitorValues } from './monitor-tables.ts';
import { type LeakedArm, leakedArms, type PrefilledArm, prefilledArms } from './probe-tables.ts';
import { costValues, processMetrics, processValue } from './process.ts';
import { type RelearnedArm, relearnedArms } from './relearned.ts';
import type { RunResult } from './run-result.ts';
import { type Said, statementsOf } from './statements.ts';
import { csvLine } from './table.ts';

export interface ResultValue extends Omit<Sample, 'single'> {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly set: string;
  readonly state: string;
  readonly metric: string;
}

function resultValues(results: Results): ResultValue[] {
  return results.arms.flatMap((arm) => [...finalValues(results, arm), ...processValues(arm)]);
}

function finalValues({ sets }: Results, arm: ArmResults): ResultValue[] {
  return sets.flatMap((set) =>
    states.flatMap((state) =>
      metrics.flatMap((metric) => toValue(arm, set, state, metric, finalSample(arm.runs, set, state, metric))),
    ),
  );
}

function processValues(arm: ArmResults): ResultValue[] {
  const named: readonly (readonly [string, (run: RunResult) => number | null])[] = [
    ...processMetrics.map(({ name }) => [name, processValue(arm, name)] as const),
    ...Object.entries(monitorValues),
    ...Object.entries(evasionValues),
    ...Object.entries(costValues),
  ];
  return named.flatMap(([metric, value]) => toValue(arm, 'training', 'full', metric, sampleOf(arm.runs, value)));
}

function toValue(
  { arm, usesOracle }: ArmResults,
  set: string,
  state: string,
  metric: string,
  sample: Sample | null,
): ResultValue[] {
  if (sample === null) return [];
  const { seeds, values, n, mean, sem } = sample;
  return [{ arm, usesOracle, set, state, metric, seeds, values, n, mean, sem }];
}

export function resultsCsv(results: Results): string {
  const columns = ['arm', 'uses_oracle', 'set', 'state', 'metric', 'n', 'mean', 'sem', 'seeds', 'values'];
  const lines = resultValues(results).map(({ arm, usesOracle, set, state, metric, n, mean, sem, seeds, values }) =>
    csvLine([
      arm,
      `${usesOracle}`,
      set,
      state,
      metric,
      `${n}`,
      `${mean}`,
      sem === null ? '' : `${sem}`,
      seeds.join(' '),
      values.join(' '),
    ]),
  );
  return `${[csvLine(columns), ...lines].join('\n')}\n`;
}

export interface ResultsJson {
  readonly name: string;
  readonly claim: boolean;
  readonly values: readonly ResultValue[];
  readonly comparisons: readonly Comparison[];
  /** Runs that fail, arm by arm, and paired by seed. */
  readonly failures: readonly RunFailures[];
  readonly failureComparisons: readonly FailureComparison[];
  /** Arms that stand beside no placebo of theirs. */
  readonly withoutPlacebo: readonly string[];
  /** What is said under the tables, each with the numbers that it is about. */
  readonly statements: readonly Said[];
  /** Arms whose settings labelled runs suggested; absent where there is none. */
  readonly labelInformed?: readonly string[];
  readonly design: Design;
  /** Whether the bar is met; null without a bar. */
  readonly bar: BarVerdict | null;
  /** The bar and the further predictions of a registered claim, each judged; `design.claim` has its hash and counts. */
  readonly predictions?: readonly JudgedPrediction[];
  readonly matchedSolve: readonly MatchedSolve[];
  readonly kept: readonly KeptAndRemoved[];
  /** When policies begin to attempt, with censoring; only where it was asked for. */
  readonly emergence?: readonly Emergence[];
  readonly emergenceTests?: readonly EmergenceTest[];
  readonly relearned: readonly RelearnedArm[];
  /** Leak probes and prefill sensitivity, where they were evaluated. */
  readonly leaks: readonly LeakedArm[];
  readonly prefills: readonly PrefilledArm[];
  readonly runs: readonly {
    readonly path: string;
    readonly arm: string;
    readonly seed: number;
    readonly status: string;
  }[];
  /** Runs that could not be read, and why. */
  readonly leftOut: Results['leftOut'];
}

export function resultsJson(results: Results, { emergence = asksEmergence(results) } = {}): ResultsJson {
  const comparisons = results.sets.flatMap((set) =>
    comparedMetrics(set).flatMap((metric) =>
      [false, true].flatMap((oracle) => compareArms(results, set, metric, oracle)),
    ),
  );
  const runs = results.arms.flatMap((arm) => arm.runs);
  const set = solveSet(results);
  const informed = labelInformed(results);
  return {
    name: results.name,
    /** Whether every arm has more than one seed. */
    claim: results.arms.every((arm) => arm.runs.length > 1),
    values: resultValues(results),
    comparisons,
    failures: failuresOf(results),
    failureComparisons: [false, true].flatMap((oracle) => compareFailures(results, oracle)),
    withoutPlacebo: withoutPlacebo(results),
    statements: statementsOf(results),
    ...(informed.length === 0 ? {} : { labelInformed: informed }),
    design: results.design,
    bar: judgeBar(results),
    ...(results.design.claim === undefined ? {} : { predictions: judgePredictions(results) }),
    matchedSolve: set === undefined ? [] : matchSolve(results, set),
    kept: keptAndRemoved(results),
    ...(emergence ? { emergence: emergences(results), emergenceTests: testEmergences(results) } : {}),
    relearned: relearnedArms(results),
    leaks: leakedArms(results),
    prefills: prefilledArms(results),
    runs: runs.map(({ path, arm, seed, status }) => ({ path, arm, seed, status })),
    leftOut: results.leftOut,
  };
}
