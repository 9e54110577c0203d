/**
 * The evaluation of the last checkpoint of each run, set by set, all on the same number of prompts. A run may have been evaluated
 * on all prompts and on the first few: of the numbers that every run has, the largest counts, for the base too.
 */
import type { PolicyState } from '../adapters/index.ts';
import { shellLine, UserError } from '../base/index.ts';
import type { EvaluationOutcomes, EvaluationSet, OutcomeRow } from '../evaluate/index.ts';
import { armDifferences, type Manifest } from '../run/index.ts';
import type { RunResult } from './run-result.ts';

export interface FinalStates {
  readonly base: readonly OutcomeRow[] | null;
  readonly full: readonly OutcomeRow[] | null;
  /** Rows of the policy that is shipped; the same as `full` for an arm without a quarantine. */
  readonly deployed: readonly OutcomeRow[] | null;
}

export interface EvaluatedStates {
  readonly evaluations: readonly EvaluationOutcomes[];
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
    if (!chosen.has(set)) chosen.set(set, commonPrompts(runs, set));
    return chosen.get(set) ?? null;
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

export function expectOneArm(
  arm: string,
  runs: readonly Pick<RunResult, 'path' | 'seed' | 'config' | 'manifest'>[],
): void {
  const [first, ...others] = runs;
  for (const other of others) {
    const differences = [
      ...armDifferences(first.config, other.config),
      ...inputDifferences(first.manifest, other.manifest),
    ];
    if (differences.length === 0) continue;
    throw new UserError({
      call: `results of the arm ${arm}`,
      expected: 'runs that differ in the seed only',
      found: `${first.path} and ${other.path}, which differ in ${differences.join(', ')}`,
      fix: 'They are different arms: put them into different folders, or make them arms of an experiment.',
    });
  }
  const twice = runs.find(({ seed }, i) => i > 0 && runs[i - 1].seed === seed);
  if (twice !== undefined) {
    const paths = runs.filter(({ seed }) => seed === twice.seed).map(({ path }) => path);
    throw new UserError({
      call: `results of the arm ${arm}`,
      expected: 'one run a seed',
      found: `seed ${twice.seed} twice (${paths.join(' and ')})`,
      fix: 'Put one of them into another folder.',
    });
  }
}

/** The same config may name files that changed between two runs. */
function inputDifferences(first: Manifest, second: Manifest): string[] {
  const compared: readonly (readonly [string, unknown, unknown])[] = [
    ['the weights of the model', first.identity.model, second.identity.model],
    ['the problems', first.identity.problems, second.identity.problems],
    ['the pairs', first.identity.pairs, second.identity.pairs],
    ['the models of the arm', JSON.stringify(first.identity.armModels), JSON.stringify(second.identity.armModels)],
    ['the run that the monitor learns from', runsOf(first, second), runsOf(second, first)],
    ['the file of loopholes', first.identity.partition, second.identity.partition],
    // Forks of one config may differ in what their parents learned from.
    ['the use of labels', first.usesOracle, second.usesOracle],
    ['the code of the plugins', first.identity.plugins, second.identity.plugins],
    ['the judge', first.identity.judge, second.identity.judge],
    ['the sampler', first.identity.sampler, second.identity.sampler],
    ['whether they were forked without a state', first.parent?.adapterOnly ?? null, second.parent?.adapterOnly ?? null],
    ['the update they were forked at', first.parent?.update ?? null, second.parent?.update ?? null],
  ];
  return compared.flatMap(([what, before, after]) => (before === after ? [] : [what]));
}

/** The runs that a run's arm learned from; where nobody noted them, those of the other. */
function runsOf({ identity: { armRuns } }: Manifest, other: Manifest): string {
  return JSON.stringify(armRuns ?? other.identity.armRuns);
}
