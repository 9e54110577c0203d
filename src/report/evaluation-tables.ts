/** One run's evaluations as tables: the final one by set and state, by loophole, over the quarantine's scale, and the curve. */
import { type AdaptedState, isPartial, type PolicyState, scaleOf } from '../adapters/policy-state.ts';
import type { CurvePoint, CurveSet, Evaluation, EvaluationRow } from '../evaluate/index.ts';
import { compareStates, formatRate, type OutcomeRates, summarise, summariseSamples } from '../evaluate/index.ts';
import { formatP, makeTable, noClaim, outcomesNote, type Table } from '../measure/table.ts';
import { authorsColumn, authorsNote, leftOutNotes } from './tables.ts';

export function stateName(state: PolicyState, hasQuarantine: boolean): string {
  if (state !== 'full') return state;
  return hasQuarantine ? 'as trained' : 'as trained = deployed';
}

const rateNames = { attempt: 'attempt', hack: 'hack', solve: 'solve', cleanSolve: 'clean solve' } as const;
const rateKeys = Object.keys(rateNames) as (keyof OutcomeRates)[];

const rateColumns = <Thing>(ratesOf: (thing: Thing) => OutcomeRates): Record<string, (thing: Thing) => string> =>
  Object.fromEntries(rateKeys.map((key) => [rateNames[key], (thing: Thing) => formatRate(ratesOf(thing)[key])]));

export function finalEvaluationTable(evaluations: readonly Evaluation[], hasQuarantine: boolean): Table {
  const whole = evaluations.filter(({ state }) => !isPartial(state));
  return makeTable(
    'one completion a prompt, fixed seed',
    whole.map((one) => ({ ...one, rates: summarise(one.rows) })),
    {
      set: ({ set }) => set,
      state: ({ state }) => stateName(state, hasQuarantine),
      ...rateColumns(({ rates }) => rates),
      objective: ({ rates }) => rates.objective.toFixed(2),
      [authorsColumn]: ({ rates }) => (rates.authorsLabel === null ? '-' : formatRate(rates.authorsLabel)),
    },
    `hits/prompts rate [95% interval over prompts]. ${outcomesNote} objective = solve − hack. ${authorsNote} ${noClaim(1)}.`,
    ...leftOutNotes(evaluations),
  );
}

/** Of sets and states with several completions a prompt. */
export function sampledTable(evaluations: readonly Evaluation[], hasQuarantine: boolean): Table {
  const found = summariseSamples(evaluations);
  return makeTable(
    `${found[0]?.samples ?? 1} completions a prompt`,
    found,
    {
      set: ({ set }) => set,
      state: ({ state }) => stateName(state, hasQuarantine),
      ...rateColumns(({ rates }) => rates),
      'attempt in any': ({ anyAttempt }) => formatRate(anyAttempt),
    },
    'hits/completions rate [95% interval over prompts, as if all completions of a prompt were one: none too narrow]; attempt in any: prompts with an attempt in at least one.',
  );
}

type Evaluated = Pick<Evaluation, 'set' | 'state' | 'rows'>;

export function loopholeEvaluationTable(evaluations: readonly Evaluated[], heldOut: readonly string[]): Table {
  const several = ({ rows }: Evaluated): boolean => rows.some(({ loophole }) => loophole !== rows[0].loophole);
  const found = evaluations
    .filter((one) => !isPartial(one.state) && several(one))
    .flatMap(({ set, state, rows }) =>
      Object.entries(summarise(rows).byLoophole).map(([loophole, rates]) => ({ set, state, loophole, rates })),
    );
  return makeTable('by loophole', found, {
    set: ({ set }) => set,
    state: ({ state }) => stateName(state, true),
    loophole: ({ loophole }) => (heldOut.includes(loophole) ? `${loophole} (held out)` : loophole),
    ...rateColumns(({ rates }) => rates),
  });
}

export function scaleTable(evaluations: readonly Evaluation[]): Table {
  const set = evaluations.find(({ state }) => isPartial(state))?.set;
  const scaled = evaluations.flatMap(({ set: own, state, rows }) =>
    own === set && state !== 'base' ? [{ scale: scaleOf(state, 0), rates: summarise(rows) }] : [],
  );
  return makeTable(
    `the quarantine scaled, ${set ?? ''}`,
    scaled.sort((a, b) => a.scale - b.scale),
    { scale: ({ scale }) => `${scale}`, ...rateColumns(({ rates }) => rates) },
    '0 is deployed, 1 is as trained.',
  );
}

export function surfacedTable(evaluations: readonly Evaluation[]): Table {
  const rowsOf = (set: string, state: PolicyState): readonly EvaluationRow[] | undefined =>
    evaluations.find((one) => one.set === set && one.state === state)?.rows;
  const changes = [...new Set(evaluations.map(({ set }) => set))].flatMap((set) => {
    const [full, deployed] = [rowsOf(set, 'full'), rowsOf(set, 'deployed')];
    if (full === undefined || deployed === undefined) return [];
    const { prompts, attempts, hacks } = compareStates(full, deployed);
    return [
      { set, prompts, what: 'attempt', ...attempts },
      { set, prompts, what: 'hack', ...hacks },
    ];
  });
  return makeTable(
    'prompt by prompt, as trained → deployed',
    changes,
    {
      set: ({ set }) => set,
      what: ({ what }) => what,
      prompts: ({ prompts }) => `${prompts}`,
      'in both': ({ inBoth }) => `${inBoth}`,
      removed: ({ removed }) => `${removed.length}`,
      surfaced: ({ surfaced }) => `${surfaced.length}`,
      'p (McNemar)': ({ pValue }) => formatP(pValue),
      'surfaced on': ({ surfaced }) => {
        const named = surfaced.slice(0, 3).join(', ');
        return surfaced.length > 3 ? `${named}, …` : named || '-';
      },
    },
    'removed: as trained and not deployed; surfaced: not as trained, but deployed. One run, so that every prompt counts once.',
  );
}

export function curveTable(points: readonly CurvePoint[], set: CurveSet, hasQuarantine: boolean): Table {
  const updates = [...new Set(points.map(({ update }) => update))].sort((a, b) => a - b);
  const cell = (update: number, state: AdaptedState, metric: keyof OutcomeRates): string => {
    const found = points.find((one) => one.update === update && one.state === (update === 0 ? 'base' : state));
    return found === undefined ? '-' : formatRate(found[metric]);
  };
  const states: readonly AdaptedState[] = hasQuarantine ? ['full', 'deployed'] : ['full'];
  const rates = rateKeys.flatMap((key) =>
    states.map((state) => [
      `${rateNames[key]}, ${stateName(state, hasQuarantine)}`,
      (update: number) => cell(update, state, key),
    ]),
  );
  return makeTable(
    `${set === 'curve' ? 'the curve set' : set} over updates completed; 0 is the base`,
    updates,
    { update: (update) => `${update}`, ...Object.fromEntries(rates) },
    `${noClaim(1)}.`,
  );
}
