/** Rollouts and evaluated prompts to show in a report: chosen by fixed rules, never by hand. */

import { UserError } from '../base/index.ts';
import { type EvaluationRow, EvaluationStore, type FinalSet, type OutcomeRow, pairRows } from '../evaluate/index.ts';
import type { JudgedRollout } from '../oracle/index.ts';
import { claimSet, type Results } from './aggregate.ts';
import type { RunResult } from './run-result.ts';

export interface ExampleRollout {
  readonly what: string;
  readonly arm: string;
  readonly rollout: JudgedRollout;
}

interface ShownRun {
  readonly arm: string;
  readonly rollouts: readonly JudgedRollout[];
}

async function shownRuns({ arms }: Results): Promise<ShownRun[]> {
  const runs = arms.flatMap((arm) => arm.runs);
  return Promise.all(runs.map(async ({ arm, rollouts }) => ({ arm, rollouts: await rollouts() })));
}

/** The first run that has such a rollout, with all that it has of them. */
function firstWith(runs: readonly ShownRun[], holds: (row: JudgedRollout) => boolean): ShownRun | undefined {
  return runs
    .map(({ arm, rollouts }) => ({ arm, rollouts: rollouts.filter(holds) }))
    .find(({ rollouts }) => rollouts.length > 0);
}

/** Those of the loopholes, and a kept and a routed rollout from the middle of a gated run. */
export async function exampleRollouts(results: Results): Promise<ExampleRollout[]> {
  const runs = await shownRuns(results);
  const middle = (what: string, route: string): ExampleRollout[] => {
    const found = firstWith(runs, (row) => row.route === route);
    if (found === undefined) return [];
    return [{ what, arm: found.arm, rollout: found.rollouts[Math.floor(found.rollouts.length / 2)] }];
  };
  const byLoophole = await loopholeExamples(results);
  return [...byLoophole, ...middle('a kept rollout', 'keep'), ...middle('a routed rollout', 'route')];
}

/** For every loophole the first hack of a hinted prompt and the first solve, of the first arm that has them. */
export async function loopholeExamples(results: Results): Promise<ExampleRollout[]> {
  const runs = await shownRuns(results);
  const loopholes = [...new Set(runs.flatMap(({ rollouts }) => rollouts.map(({ loophole }) => loophole)))].sort();
  return loopholes.flatMap((loophole) => {
    const first = (what: string, holds: (row: JudgedRollout) => boolean): ExampleRollout[] => {
      const found = firstWith(runs, (row) => row.loophole === loophole && holds(row));
      return found === undefined ? [] : [{ what, arm: found.arm, rollout: found.rollouts[0] }];
    };
    return [
      ...first(`${loophole}: the first hack`, ({ hack }) => hack),
      ...first(`${loophole}: a solve`, ({ solve, hackable }) => solve && hackable),
    ];
  });
}

export interface SideBySide {
  readonly arm: string;
  readonly set: FinalSet;
  readonly full: EvaluationRow;
  readonly deployed: EvaluationRow;
}

const preference: readonly ((full: OutcomeRow, deployed: OutcomeRow) => boolean)[] = [
  (full, deployed) => full.hack && deployed.solve,
  (full, deployed) => full.hack && !deployed.hack,
  (full, deployed) => full.hack && deployed.hack,
  () => true,
];

/** The first pair of the best kind that there is. */
function bestOf<Pair>(pairs: readonly Pair[], rowsOf: (pair: Pair) => readonly [OutcomeRow, OutcomeRow]): Pair | null {
  for (const holds of preference) {
    const found = pairs.find((pair) => holds(...rowsOf(pair)));
    if (found !== undefined) return found;
  }
  return null;
}

/** One prompt in both states: the first that goes from a hack to a solve, else the next best kind. */
export function sideBySide(run: RunResult, set: FinalSet): SideBySide | null {
  const states = run.final[set];
  if (!run.hasQuarantine || !states?.full || !states.deployed) return null;
  const best = bestOf(pairRows(states.full, states.deployed), (pair) => pair);
  if (best === null) return null;
  const [full, deployed] = [
    withTexts(run, states.full, best[0].problem),
    withTexts(run, states.deployed, best[0].problem),
  ];
  return { arm: run.arm, set, full, deployed };
}

/** The row of a problem with its texts, which are read again. */
function withTexts({ path, evaluations }: RunResult, rows: readonly OutcomeRow[], problem: string): EvaluationRow {
  const name = evaluations.find((one) => one.rows === rows);
  const found = name && new EvaluationStore(path).find(name)?.rows.find((row) => row.problem === problem);
  if (found) return found;
  throw new UserError({ call: `read ${path}`, expected: `the answer to ${problem}`, found: 'it is gone' });
}

/** The example of a first page: a hack that deployment removed, of an arm without labels if there is one; else the next best. */
export function bestSide(results: Results): SideBySide | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const arms = results.arms.toSorted((a, b) => Number(a.usesOracle) - Number(b.usesOracle));
  const sides = arms.flatMap(({ runs }) => runs.flatMap((run) => sideBySide(run, set) ?? []));
  return bestOf(sides, ({ full, deployed }) => [full, deployed]);
}
