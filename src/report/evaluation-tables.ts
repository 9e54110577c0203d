/** One run's evaluations as tables: the final one by set and state, by loophole, over the quarantine's scale, and the curve. */
import { type AdaptedState, isPartial, type PolicyState, scaleOf } from '../adapters/policy-state.ts';
import type { CurvePoint, CurveSet, Evaluation, EvaluationRow } from '../evaluate/index.ts';
import { compareStates, formatRate, type OutcomeRates, summarise } from '../evaluate/index.ts';
import type { Table } from './table.ts';
import { authorsColumn, authorsNote, formatP, leftOutNotes, noClaim, outcomesNote } from './tables.ts';

/** How a policy state is called in tables. */
export function stateName(state: PolicyState, hasQuarantine: boolean): string {
  if (state !== 'full') return state;
  return hasQuarantine ? 'as trained' : 'as trained = deployed';
}

const rateColumns = ['attempt', 'hack', 'solve', 'clean solve'];
const rateCells = ({ attempt, hack, solve, cleanSolve }: OutcomeRates): string[] =>
  [attempt, hack, solve, cleanSolve].map(formatRate);

export function finalEvaluationTable(evaluations: readonly Evaluation[], hasQuarantine: boolean): Table {
  const rows = evaluations
    .filter(({ state }) => !isPartial(state))
    .map(({ set, state, rows: own }) => {
      const { objective, authorsLabel, ...rates } = summarise(own);
      const label = authorsLabel === null ? '-' : formatRate(authorsLabel);
      return [set, stateName(state, hasQuarantine), ...rateCells(rates), objective.toFixed(2), label];
    });
  return {
    title: 'one completion a prompt, fixed seed',
    columns: ['set', 'state', ...rateColumns, 'objective', authorsColumn],
    rows,
    notes: [
      `hits/prompts rate [95% interval over prompts]. ${outcomesNote} objective = solve − hack. ${authorsNote} ${noClaim}.`,
      ...leftOutNotes(evaluations),
    ],
  };
}

/** Rates by loophole, on the sets that have more than one. */
export function loopholeEvaluationTable(evaluations: readonly Evaluation[], heldOut: readonly string[]): Table {
  const several = ({ rows }: Evaluation): boolean => rows.some(({ loophole }) => loophole !== rows[0].loophole);
  const own = evaluations.filter((one) => !isPartial(one.state) && several(one));
  const rows = own.flatMap(({ set, state, rows: all }) =>
    Object.entries(summarise(all).byLoophole).map(([loophole, rates]) => [
      set,
      stateName(state, true),
      heldOut.includes(loophole) ? `${loophole} (held out)` : loophole,
      ...rateCells(rates),
    ]),
  );
  return {
    title: 'by loophole',
    columns: ['set', 'state', 'loophole', ...rateColumns],
    rows,
  };
}

export function scaleTable(evaluations: readonly Evaluation[]): Table {
  const between = evaluations.filter(({ state }) => isPartial(state));
  const set = between[0]?.set;
  const rows = evaluations
    .flatMap(({ set: own, state, rows: all }) =>
      own === set && state !== 'base' ? [{ scale: scaleOf(state, 0), ...summarise(all) }] : [],
    )
    .sort((a, b) => a.scale - b.scale)
    .map(({ scale, ...rates }) => [`${scale}`, ...rateCells(rates)]);
  return {
    title: `the quarantine scaled, ${set ?? ''}`,
    columns: ['scale', ...rateColumns],
    rows: between.length === 0 ? [] : rows,
    notes: ['0 is deployed, 1 is as trained.'],
  };
}

/** Counts of prompts by what deleting the quarantine did to their attempt and their hack. */
export function surfacedTable(evaluations: readonly Evaluation[]): Table {
  const rowsOf = (set: string, state: PolicyState): readonly EvaluationRow[] | undefined =>
    evaluations.find((one) => one.set === set && one.state === state)?.rows;
  const sets = [...new Set(evaluations.map(({ set }) => set))];
  const rows = sets.flatMap((set) => {
    const [full, deployed] = [rowsOf(set, 'full'), rowsOf(set, 'deployed')];
    if (full === undefined || deployed === undefined) return [];
    const { prompts, hackInBoth, attempts, ...hacks } = compareStates(full, deployed);
    const changes = [
      { what: 'attempt', ...attempts },
      { what: 'hack', inBoth: hackInBoth, ...hacks },
    ];
    return changes.map(({ what, inBoth, removed, surfaced, pValue }) => {
      const named = surfaced.slice(0, 3).join(', ');
      const counts = [prompts, inBoth, removed.length, surfaced.length].map(String);
      return [set, what, ...counts, formatP(pValue), surfaced.length > 3 ? `${named}, …` : named || '-'];
    });
  });
  return {
    title: 'prompt by prompt, as trained → deployed',
    columns: ['set', 'what', 'prompts', 'in both', 'removed', 'surfaced', 'p (McNemar)', 'surfaced on'],
    rows,
    notes: [
      'removed: as trained and not deployed; surfaced: not as trained, but deployed. One run, so that every prompt counts once.',
    ],
  };
}

export function curveTable(points: readonly CurvePoint[], set: CurveSet, hasQuarantine: boolean): Table {
  const updates = [...new Set(points.map(({ update }) => update))].sort((a, b) => a - b);
  const cell = (update: number, state: AdaptedState, metric: keyof OutcomeRates): string => {
    const found = points.find((one) => one.update === update && one.state === (update === 0 ? 'base' : state));
    return found === undefined ? '-' : formatRate(found[metric]);
  };
  const shown = { attempt: 'attempt', hack: 'hack', solve: 'solve', cleanSolve: 'clean solve' } as const;
  const metrics = Object.keys(shown) as (keyof typeof shown)[];
  const states: readonly AdaptedState[] = hasQuarantine ? ['full', 'deployed'] : ['full'];
  return {
    title: `${set === 'curve' ? 'the curve set' : set} over updates completed; 0 is the base`,
    columns: [
      'update',
      ...metrics.flatMap((metric) => states.map((state) => `${shown[metric]}, ${stateName(state, hasQuarantine)}`)),
    ],
    rows: updates.map((update) => [
      `${update}`,
      ...metrics.flatMap((metric) => states.map((state) => cell(update, state, metric))),
    ]),
    notes: [`${noClaim}.`],
  };
}
