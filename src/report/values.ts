/** Results as values for further computation: CSV in long form, and JSON with every seed's value and every comparison. */

import { csvLine, fewestSeeds } from '../measure/table.ts';
import {
  claimSet,
  evaluatedSeeds,
  finalSample,
  labelInformed,
  metrics,
  type Results,
  type Sample,
  solveSet,
  states,
} from './aggregate.ts';
import { asksEmergence } from './all-tables.ts';
import { compareArms, comparedMetrics, withoutPlacebo } from './comparisons.ts';
import { judgeBar, judgePredictions } from './design.ts';
import { compareFailures, emergences, failuresOf, testEmergences } from './failures.ts';
import { keptAndRemoved, matchSolve } from './kept.ts';
import { leakedArms, prefilledArms, relearnedArms } from './probe-tables.ts';
import { describeUnknown } from './run-result.ts';
import { statementsOf } from './statements.ts';
import { trainingMetrics, trainingSample } from './training-tables.ts';

/** Every number of the tables with its seeds: of an arm on a set in a state, then of its training. */
function resultValues({ arms, sets }: Results) {
  return arms.flatMap((own) => {
    const { arm, usesOracle, runs } = own;
    const value = (set: string, state: string, metric: string, sample: Sample | null) => {
      if (sample === null) return [];
      const { single: _, ...numbers } = sample;
      return [{ arm, usesOracle, set, state, metric, ...numbers }];
    };
    const final = sets.flatMap((set) =>
      states.flatMap((state) =>
        metrics.flatMap((metric) => value(set, state, metric, finalSample(runs, set, state, metric))),
      ),
    );
    return [
      ...final,
      ...trainingMetrics.flatMap((metric) => value('training', 'full', metric.name, trainingSample(own, metric))),
    ];
  });
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
    comparedMetrics(set).flatMap((metric) => compareArms(results, set, metric)),
  );
  const runs = results.arms.flatMap((arm) => arm.runs);
  const [set, claimed] = [solveSet(results), claimSet(results)];
  const evaluated = (own: Results['arms'][number]['runs']): number =>
    claimed === undefined ? 0 : evaluatedSeeds(own, claimed);
  const informed = labelInformed(results);
  const unknown = describeUnknown(results);
  return {
    name: results.name,
    /** Whether every arm is evaluated in seeds enough for one. */
    claim: results.arms.every(({ runs: own }) => evaluated(own) >= fewestSeeds),
    values: resultValues(results),
    comparisons,
    failures: failuresOf(results),
    failureComparisons: compareFailures(results),
    withoutPlacebo: withoutPlacebo(results),
    statements: statementsOf(results),
    ...(informed.length === 0 ? {} : { labelInformed: informed }),
    ...(unknown === null ? {} : { unknown }),
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
    ...(results.missing.length === 0 ? {} : { missing: results.missing }),
    ...(results.failed.length === 0 ? {} : { failed: results.failed }),
  };
}
