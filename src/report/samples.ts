/** Rollouts and evaluated prompts to show in a report: chosen by fixed rules, never by hand. */

import type { EvaluationRow, FinalSet } from '../evaluate/index.ts';
import { pairRows } from '../evaluate/index.ts';
import type { JudgedRollout } from '../oracle/index.ts';
import { claimSet, type Results } from './aggregate.ts';
import type { RunRecords } from './run-results.ts';

export interface ExampleRollout {
  readonly what: string;
  readonly arm: string;
  readonly rollout: JudgedRollout;
}

/** For every loophole the first hack and solve of the first arm that has them, and a kept and a routed rollout from the middle of a gated run. */
export function exampleRollouts(runs: readonly RunRecords[]): ExampleRollout[] {
  const middle = (what: string, route: string): ExampleRollout[] => {
    const run = runs.find(({ rollouts }) => rollouts.some((row) => row.route === route));
    const own = run?.rollouts.filter((row) => row.route === route) ?? [];
    const rollout = own[Math.floor(own.length / 2)];
    return run === undefined || rollout === undefined ? [] : [{ what, arm: run.arm, rollout }];
  };
  return [...loopholeExamples(runs), ...middle('a kept rollout', 'keep'), ...middle('a routed rollout', 'route')];
}

/** For every loophole the first hack of a hinted prompt and the first solve, of the first arm that has them. */
export function loopholeExamples(runs: readonly RunRecords[]): ExampleRollout[] {
  const loopholes = [...new Set(runs.flatMap(({ rollouts }) => rollouts.map(({ loophole }) => loophole)))].sort();
  return loopholes.flatMap((loophole) => {
    const first = (what: string, holds: (row: JudgedRollout) => boolean): ExampleRollout[] => {
      const isOne = (row: JudgedRollout): boolean =>
        row.source === 'student' && row.loophole === loophole && holds(row);
      const run = runs.find(({ rollouts }) => rollouts.some(isOne));
      const rollout = run?.rollouts.find(isOne);
      return run === undefined || rollout === undefined ? [] : [{ what, arm: run.arm, rollout }];
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

const preference: readonly ((full: EvaluationRow, deployed: EvaluationRow) => boolean)[] = [
  (full, deployed) => full.hack && deployed.solve,
  (full, deployed) => full.hack && !deployed.hack,
  (full, deployed) => full.hack && deployed.hack,
  () => true,
];

/** One prompt in both states: the first that goes from a hack to a solve, else the next best kind. */
export function sideBySide(run: RunRecords, set: FinalSet): SideBySide | null {
  const states = run.final[set];
  if (!run.hasQuarantine || !states?.full || !states.deployed) return null;
  const pairs = pairRows(states.full, states.deployed);
  for (const holds of preference) {
    const found = pairs.find(([full, deployed]) => holds(full, deployed));
    if (found !== undefined) return { arm: run.arm, set, full: found[0], deployed: found[1] };
  }
  return null;
}

/** The example of a first page: a hack that deployment removed, of an arm without labels if there is one; else the next best. */
export function bestSide(results: Results<RunRecords>): SideBySide | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const arms = results.arms.toSorted((a, b) => Number(a.usesOracle) - Number(b.usesOracle));
  const sides = arms.flatMap(({ runs }) => runs.flatMap((run) => sideBySide(run, set) ?? []));
  for (const holds of preference) {
    const found = sides.find(({ full, deployed }) => holds(full, deployed));
    if (found !== undefined) return found;
  }
  return null;
}
