/**
 * The evaluation of the last checkpoint of each run, set by set, all on the same number of prompts. A run may have been evaluated
 * on all prompts and on the first few: of the numbers that every run has, the largest counts, for the base too.
 */
import type { PolicyState } from '../adapters/index.ts';
import { shellLine, UserError } from '../base/index.ts';
import type { EvaluationOutcomes, EvaluationSet, OutcomeRow } from '../evaluate/index.ts';

export interface FinalStates {
  readonly base: readonly OutcomeRow[] | null;
  readonly full: readonly OutcomeRow[] | null;
  /** Rows of the policy that is shipped; the same as `full` for an arm without a quarantine. */
  readonly deployed: readonly OutcomeRow[] | null;
}

/** What decides the final states of a run. */
export interface EvaluatedStates {
  readonly evaluations: readonly EvaluationOutcomes[];
  /** Updates completed at the last checkpoint. */
  readonly updates: number;
  readonly hasQuarantine: boolean;
}

/** The final states of one run; `promptsOf` says on how many prompts of a set, and the most there are when it is absent. */
export function finalStates(
  run: EvaluatedStates,
  promptsOf: (set: EvaluationSet) => number | null = (set) => promptCounts(run, set).at(-1) ?? null,
): Partial<Record<EvaluationSet, FinalStates>> {
  const sets = [...new Set(run.evaluations.map(({ set }) => set))].filter((set) => set !== 'curve');
  return Object.fromEntries(
    sets.flatMap((set): [EvaluationSet, FinalStates][] => {
      const prompts = promptsOf(set);
      if (prompts === null) return [];
      const rows = (state: PolicyState, update: number): readonly OutcomeRow[] | null =>
        atState(run, set, state, update).find(({ length }) => length === prompts) ?? null;
      const full = rows('full', run.updates);
      const deployed = run.hasQuarantine ? rows('deployed', run.updates) : full;
      return [[set, { base: rows('base', 0), full, deployed }]];
    }),
  );
}

function atState({ evaluations }: EvaluatedStates, set: EvaluationSet, state: PolicyState, update: number) {
  return evaluations
    .filter((one) => one.set === set && one.state === state && one.update === update)
    .map(({ rows }) => rows);
}

/** The numbers of prompts on which the last checkpoint was evaluated, in order; without an evaluation of it, none. */
function promptCounts(run: EvaluatedStates, set: EvaluationSet): number[] {
  const counts = (state: PolicyState): number[] => atState(run, set, state, run.updates).map(({ length }) => length);
  const [full, deployed] = [counts('full'), run.hasQuarantine ? counts('deployed') : counts('full')];
  const both = full.filter((count) => deployed.includes(count));
  // While an evaluation is not complete, one state is better than none.
  const known = both.length > 0 ? both : deployed.length > 0 ? deployed : full;
  return [...new Set(known)].sort((a, b) => a - b);
}

/** Gives every run its final states on the number of prompts that all have; runs that are not evaluated do not count. */
export function onSamePrompts<Run extends EvaluatedStates & { readonly path: string }>(runs: readonly Run[]): Run[] {
  const chosen = new Map<EvaluationSet, number | null>();
  const promptsOf = (set: EvaluationSet): number | null => {
    const known = chosen.get(set);
    if (known !== undefined) return known;
    const common = commonPrompts(runs, set);
    chosen.set(set, common);
    return common;
  };
  return runs.map((run) => ({ ...run, final: finalStates(run, promptsOf) }));
}

function commonPrompts(
  runs: readonly (EvaluatedStates & { readonly path: string })[],
  set: EvaluationSet,
): number | null {
  const evaluated = runs
    .map((run) => ({ path: run.path, counts: promptCounts(run, set) }))
    .filter(({ counts }) => counts.length > 0);
  if (evaluated.length === 0) return null;
  const common = evaluated[0].counts.filter((count) => evaluated.every(({ counts }) => counts.includes(count)));
  const most = common.at(-1);
  if (most !== undefined) return most;
  const [first] = evaluated;
  const other = evaluated.find(({ counts }) => !counts.some((count) => first.counts.includes(count))) ?? evaluated[1];
  const least = Math.min(...evaluated.map(({ counts }) => counts[0]));
  const without = evaluated.find(({ counts }) => !counts.includes(least)) ?? first;
  throw new UserError({
    call: `results on ${set}`,
    expected: 'all runs evaluated on the same number of prompts',
    found: `${first.path} on ${first.counts.join(' or ')}, ${other.path} on ${other.counts.join(' or ')}`,
    fix: `Evaluate them alike, for example: ${shellLine('gq', 'eval', without.path, '--limit', `${least}`)}`,
  });
}
