/**
 * Which evaluations belong together. A final evaluation has base, full and deployed on every set, and the scales in between on the
 * first set. A curve has one set at the base and at every chosen checkpoint, full and deployed. Two runs are compared by their last evaluations.
 */
import { type AdaptedState, stateOfScale } from '../adapters/policy-state.ts';
import { UserError } from '../base/index.ts';
import type { Manifest, RunDirectory } from '../run/index.ts';
import { type ByTarget, byTarget, formatRate, type OutcomeRates, pairRows, summarise } from './rates.ts';
import type { CurveSet, EvaluationSet } from './sets.ts';
import { type Evaluation, type EvaluationName, EvaluationStore } from './store.ts';

export function statesOf({ hasQuarantine }: Pick<Manifest, 'hasQuarantine'>): readonly AdaptedState[] {
  return hasQuarantine ? ['full', 'deployed'] : ['full'];
}

/** `scales`: those of the quarantine between 0 (deployed) and 1 (as trained), for the first set, with one sample; `samples`: of each prompt elsewhere. */
export function finalNames(
  states: readonly AdaptedState[],
  {
    update,
    sets,
    scales,
    limit,
    samples = 1,
  }: Pick<EvaluationName, 'update' | 'limit'> & {
    readonly sets: readonly EvaluationSet[];
    readonly scales: readonly number[];
    readonly samples?: number | undefined;
  },
): EvaluationName[] {
  const firsts = sets.flatMap((set): EvaluationName[] => [
    { update: 0, set, state: 'base', limit },
    ...states.map((state) => ({ update, set, state, limit })),
  ]);
  const further = Array.from({ length: samples - 1 }, (_, i) => firsts.map((name) => ({ ...name, sample: i + 1 })));
  const names = [...firsts, ...further.flat()];
  if (!states.includes('deployed') || sets.length === 0) return names;
  // Scale 0 is deployed and 1 is full: they are not evaluated twice.
  const between = scales.map(stateOfScale).filter((state) => !states.includes(state));
  return [...names, ...between.map((state) => ({ update, set: sets[0], state, limit }))];
}

export function curveNames(
  states: readonly AdaptedState[],
  checkpoints: readonly number[],
  every: number,
  set: CurveSet = 'curve',
): EvaluationName[] {
  const last = checkpoints.at(-1);
  const chosen = checkpoints.filter((update) => update > 0 && (update % every === 0 || update === last));
  return [
    { update: 0, set, state: 'base', limit: null },
    ...chosen.flatMap((update) => states.map((state): EvaluationName => ({ update, set, state, limit: null }))),
  ];
}

/** Refuses points of which some have no checkpoint, while checkpoints between them are passed over. */
export function expectPoints(checkpoints: readonly number[], every: number): void {
  const saved = checkpoints.filter((update) => update > 0);
  const last = saved.at(-1) ?? 0;
  const unsaved = Array.from({ length: Math.floor(last / every) }, (_, i) => (i + 1) * every).filter(
    (update) => !saved.includes(update),
  );
  const passed = saved.filter((update) => update % every !== 0 && update !== last);
  if (unsaved.length === 0 || passed.length === 0) return;
  throw new UserError({
    call: `--every ${every}`,
    expected: `a checkpoint after update ${unsaved.slice(0, 3).join(', ')}`,
    found: `checkpoints after ${saved.slice(0, 5).join(', ')}${saved.length > 5 ? ', …' : ''}`,
    fix: `Take points that were saved: --every ${saved[0]}`,
  });
}

export function lastCheckpoint(run: RunDirectory): number {
  return run.listCheckpoints().at(-1) ?? 0;
}

export type ComparedEvaluation = ReturnType<typeof compareRuns>[number];

/** The evaluations of the last update that was evaluated, and of the base. Without a quarantine, what is trained is deployed. */
function lastEvaluations(run: RunDirectory): Evaluation[] {
  const all = new EvaluationStore(run.path)
    .all()
    .filter(({ set }) => !['curve', 'monitor', 'validation'].includes(set));
  const last = Math.max(0, ...all.map(({ update }) => update));
  const own = all.filter(({ update }) => update === last || update === 0);
  if (run.readManifest().hasQuarantine) return own;
  return own.flatMap((one) => (one.state === 'full' ? [one, { ...one, state: 'deployed' as const }] : [one]));
}

/** Rates of both runs, and numbers of prompts with an attempt, or a hack, in one of them only; null where they were asked different prompts. */
export function compareRuns(first: RunDirectory, second: RunDirectory) {
  const others = lastEvaluations(second);
  return lastEvaluations(first).flatMap((one) => {
    const other = others.find((each) => each.set === one.set && each.state === one.state && each.limit === one.limit);
    if (other === undefined) return [];
    const [a, b] = [summarise(one.rows), summarise(other.rows)];
    const both = (metric: keyof OutcomeRates): [string, string] => [formatRate(a[metric]), formatRate(b[metric])];
    const rates = {
      attempt: both('attempt'),
      hack: both('hack'),
      solve: both('solve'),
      cleanSolve: both('cleanSolve'),
    };
    return [{ set: one.set, prompts: one.rows.length, state: one.state, ...rates, inOne: discordant(one, other) }];
  });
}

function discordant(one: Evaluation, other: Evaluation): ByTarget<[number, number]> | null {
  // Prompts of other problems cannot be paired.
  if (one.key !== other.key && one.rows.some(({ problem }, i) => problem !== other.rows[i]?.problem)) return null;
  const pairs = pairRows(one.rows, other.rows);
  return byTarget((label) => [
    pairs.filter(([a, b]) => a[label] && !b[label]).length,
    pairs.filter(([a, b]) => !a[label] && b[label]).length,
  ]);
}
