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
import { compareArms, comparedMetrics, withoutPlacebo } from './comparisons.ts';
import { judgeBar, judgePredictions } from './design.ts';
import { compareFailures, emergences, failuresOf, testEmergences } from './failures.ts';
import { keptAndRemoved, matchSolve } from './kept.ts';
import { evasionValues, monitorValues } from './monitor-tables.ts';
import { leakedArms, prefilledArms } from './probe-tables.ts';
import { costValues, processMetrics, processValue } from './process.ts';
import { relearnedArms } from './relearned.ts';
import type { RunResult } from './run-result.ts';
import { statementsOf } from './statements.ts';
import { csvLine } from './table.ts';

interface ResultValue extends Omit<Sample, 'single'> {
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
      ...[arm, `${usesOracle}`, set, state, metric, `${n}`, `${mean}`, `${sem ?? ''}`],
      ...[seeds.join(' '), values.join(' ')],
    ]),
  );
  return `${[csvLine(columns), ...lines].join('\n')}\n`;
}

export function resultsJson(results: Results, { emergence = asksEmergence(results) } = {}) {
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
