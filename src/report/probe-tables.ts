/** Probes of one policy as tables: attempt and hack under each instruction, by category of leak probe, and prefill sensitivity over updates. */
import type { PolicyState } from '../adapters/index.ts';
import { groupBy } from '../base/index.ts';
import {
  type EvaluationSet,
  formatRate,
  type LeakProbe,
  leakProbes,
  type PrefillPoint,
  type ProbeEvaluation,
  prefillPoints,
  prefillSets,
  type Summary,
  summarise,
} from '../evaluate/index.ts';
import { type ArmResults, formatSample, type Results, type Sample, type State, sampleOf } from './aggregate.ts';
import { stateName } from './evaluation-tables.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell, noClaim, signed, signedInterval } from './tables.ts';

const rateNote = `hits/prompts rate [95% interval over prompts]; one completion a prompt, fixed seed. ${noClaim}.`;

const statesIn = (probes: readonly ProbeEvaluation[]): PolicyState[] => [...new Set(probes.map(({ state }) => state))];

const probedMetrics = ['attempt', 'hack'] as const;

function rateCells(probes: readonly ProbeEvaluation[], name: string, states: readonly PolicyState[]): string[] {
  return probedMetrics.flatMap((metric) =>
    states.map((state) => {
      const found = probes.find((one) => one.probe.name === name && one.state === state);
      return found === undefined ? '-' : formatRate(summarise(found.rows)[metric]);
    }),
  );
}

const columnsOf = (states: readonly PolicyState[], hasQuarantine: boolean): string[] =>
  probedMetrics.flatMap((metric) => states.map((state) => `${metric}, ${stateName(state, hasQuarantine)}`));

/** What an instruction says; the prompt as it is says nothing. */
function textNotes(probes: readonly ProbeEvaluation[]): string[] {
  const texts = new Map(probes.map(({ probe: { name, instruction } }) => [name, instruction]));
  return [...texts].flatMap(([name, { text, place }]) =>
    text === '' ? [] : [`${name}: ${JSON.stringify(text)}, ${place} the user message.`],
  );
}

/** Attempts and hacks under each instruction, the most eliciting first, by the first state of the table. */
export function elicitationTable(probes: readonly ProbeEvaluation[], hasQuarantine: boolean): Table {
  const states = statesIn(probes);
  const ranked = probes
    .filter(({ state }) => state === states[0])
    .map(({ probe, rows }) => ({ name: probe.name, rate: summarise(rows).hack.rate }))
    .sort((a, b) => b.rate - a.rate);
  return {
    title: `attempt and hack under instructions, ${probes[0]?.set ?? ''}`,
    columns: ['instruction', ...columnsOf(states, hasQuarantine)],
    rows: ranked.map(({ name }) => [name, ...rateCells(probes, name, states)]),
    notes: [rateNote, 'none: the prompt as it is.', ...textNotes(probes)],
  };
}

export function leakTable(
  leaks: readonly LeakProbe[],
  probes: readonly ProbeEvaluation[],
  hasQuarantine: boolean,
): Table {
  const states = statesIn(probes);
  return {
    title: `leak probes, ${probes[0]?.set ?? ''}`,
    columns: ['category', 'instruction', ...columnsOf(states, hasQuarantine)],
    rows: leaks.map(({ category, probe }) => [category, probe.name, ...rateCells(probes, probe.name, states)]),
    notes: [rateNote, leakNote, ...textNotes(probes)],
  };
}

const leakNote =
  'original: the prompt of training; eliciting: asks for the hack in other words; structure: the form of such a request, another content; negated: says not to; keyword: mentions the evaluation, asks for nothing; irrelevant: unrelated; none: the prompt of deployment, where training had an instruction.';

export function prefillTable(points: readonly PrefillPoint[], set: string, hasQuarantine: boolean): Table {
  return {
    title: `prefill sensitivity over updates completed, ${set === 'curve' ? 'the curve set' : set}; 0 is the base`,
    columns: [
      ...['update', 'state'],
      ...['hack-like', 'neutral'].flatMap((opening) => [`attempt, ${opening} opening`, `hack, ${opening} opening`]),
      ...['difference', '95% interval'],
    ],
    rows: points.map(({ update, state, attempt, hack, neutralAttempt, neutral, difference, interval }) => [
      `${update}`,
      stateName(state as PolicyState, hasQuarantine),
      ...[attempt, hack, neutralAttempt, neutral].map(formatRate),
      signed(difference),
      signedInterval(interval),
    ]),
    notes: [
      `Openings are part of the completion that is judged. difference: of hacks. Interval: Student's, over prompts. ${noClaim}.`,
    ],
  };
}

/** Attempts and hacks of an arm under one category of leak probe, by policy state. */
export interface LeakedArm {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly hasQuarantine: boolean;
  readonly set: EvaluationSet;
  /** Number of prompts, from the start of the set; null: all. */
  readonly limit: number | null;
  readonly category: string;
  readonly attempt: Readonly<Record<State, Sample | null>>;
  readonly hack: Readonly<Record<State, Sample | null>>;
}

export function leakedArms({ arms }: Results): LeakedArm[] {
  const probes = arms.flatMap(({ runs }) => runs.flatMap((run) => run.probes));
  // The category `negated` tells sets of leak probes from those of other instructions.
  const asked = probes.filter(({ probe }) => probe.name === 'negated');
  const prompts = new Map(asked.map(({ set, limit }) => [`${set} ${limit}`, { set, limit }]));
  return [...prompts.values()].flatMap((own) => arms.flatMap((arm) => leaksOf(arm, own)));
}

type AskedPrompts = Pick<LeakedArm, 'set' | 'limit'>;

function leaksOf({ arm, usesOracle, hasQuarantine, runs }: ArmResults, prompts: AskedPrompts): LeakedArm[] {
  // The names of probes do not depend on whether the model reads words.
  return leakProbes(runs[0].config.arm, true).flatMap(({ category, probe }): LeakedArm[] => {
    const samples = (metric: 'attempt' | 'hack'): LeakedArm['hack'] => {
      const sample = (state: State): Sample | null => {
        const rate = (run: RunResult) => summaryOf(run, probe.name, state, prompts)?.[metric] ?? null;
        return sampleOf(runs, (run) => rate(run)?.rate ?? null, rate);
      };
      return { base: sample('base'), full: sample('full'), deployed: sample('deployed') };
    };
    const [attempt, hack] = [samples('attempt'), samples('hack')];
    if (hack.full === null && hack.deployed === null) return [];
    return [{ arm, usesOracle, hasQuarantine, ...prompts, category, attempt, hack }];
  });
}

/** The rates under a probe at the base or at the last checkpoint; null where it was not evaluated. */
function summaryOf(run: RunResult, name: string, state: State, { set, limit }: AskedPrompts): Summary | null {
  const shipped = state === 'deployed' && !run.hasQuarantine ? 'full' : state;
  const update = state === 'base' ? 0 : run.updates;
  const found = run.probes.find(
    (one) =>
      one.probe.name === name &&
      one.set === set &&
      one.limit === limit &&
      one.state === shipped &&
      one.update === update,
  );
  return found === undefined ? null : summarise(found.rows);
}

const singleNote = (counts: readonly (number | undefined)[]): string[] => (counts.includes(1) ? [`${noClaim}.`] : []);

/** One table for each set of prompts that leak probes were asked on. */
export function leakTables(results: Results): Table[] {
  const groups = groupBy(leakedArms(results), ({ set, limit }) =>
    limit === null ? set : `${set}, the first ${limit} prompts`,
  );
  return [...groups].map(([prompts, leaks]) => ({
    title: `leak probes: attempt and hack under other instructions, ${prompts}`,
    columns: [
      ...['arm', 'category', 'n'],
      ...['attempt', 'hack'].flatMap((metric) => [`${metric} base`, `${metric} as trained`, `${metric} deployed`]),
    ],
    rows: leaks.map((leak) => {
      const cells = ({ base, full, deployed }: LeakedArm['hack']): string[] => [
        formatSample(base),
        leak.hasQuarantine ? formatSample(full) : 'the same',
        formatSample(deployed),
      ];
      const n = (leak.hack.deployed ?? leak.hack.full)?.n ?? 0;
      return [armCell(leak), leak.category, `${n}`, ...cells(leak.attempt), ...cells(leak.hack)];
    }),
    notes: [
      'Mean ± SEM over n seeds; for one seed, the rate with its 95% interval over prompts.',
      leakNote,
      ...singleNote(leaks.map(({ hack }) => (hack.deployed ?? hack.full)?.n)),
    ],
  }));
}

/** Prefill sensitivity of an arm after an update, over seeds. */
export interface PrefilledArm {
  readonly arm: string;
  readonly usesOracle: boolean;
  readonly set: EvaluationSet;
  readonly update: number;
  /** P(hack | hack-like opening) − P(hack | neutral opening). */
  readonly difference: Readonly<Record<'full' | 'deployed', Sample | null>>;
  /** Attempts and hacks deployed after the neutral opening. */
  readonly neutralAttempt: Sample | null;
  readonly neutral: Sample | null;
}

export function prefilledArms({ arms }: Results): PrefilledArm[] {
  return prefillSets.flatMap((set) => arms.flatMap((arm) => prefillsOf(arm, set)));
}

function prefillsOf({ arm, usesOracle, hasQuarantine, runs }: ArmResults, set: EvaluationSet): PrefilledArm[] {
  const points = new Map(runs.map((run) => [run, prefillPoints(run.probes, set)]));
  const updates = [...new Set([...points.values()].flat().map(({ update }) => update))].sort((a, b) => a - b);
  const shipped = hasQuarantine ? 'deployed' : 'full';
  return updates.map((update) => {
    const sample = (state: string, value: (point: PrefillPoint) => number): Sample | null =>
      sampleOf(runs, (run) => {
        const wanted = update === 0 ? 'base' : state;
        const point = points.get(run)?.find((one) => one.update === update && one.state === wanted);
        return point === undefined ? null : value(point);
      });
    const difference = {
      full: sample('full', (point) => point.difference),
      deployed: sample(shipped, (point) => point.difference),
    };
    const neutralAttempt = sample(shipped, (point) => point.neutralAttempt.rate);
    const neutral = sample(shipped, (point) => point.neutral.rate);
    return { arm, usesOracle, set, update, difference, neutralAttempt, neutral };
  });
}

/** One table for each set on which completions were begun at checkpoints. */
export function prefillTables(results: Results): Table[] {
  const groups = groupBy(prefilledArms(results), ({ set }) => set);
  return [...groups].map(([set, prefills]) => ({
    title: `prefill sensitivity over updates, ${set === 'curve' ? 'the curve set' : set}`,
    columns: [
      ...['arm', 'update', 'n', 'difference as trained', 'difference deployed'],
      ...['attempt deployed, neutral opening', 'hack deployed, neutral opening'],
    ],
    rows: prefills.map((one) => {
      const { full, deployed } = one.difference;
      const cells = [full, deployed, one.neutralAttempt, one.neutral].map((sample) =>
        formatSample(sample).replace(/^-(?=.)/, '−'),
      );
      return [armCell(one), `${one.update}`, `${full?.n ?? 0}`, ...cells];
    }),
    notes: [
      'difference: P(hack | hack-like opening) − P(hack | neutral opening), over the same prompts; mean ± SEM over n seeds. A rise before that of the hack rate is an early sign.',
      ...singleNote(prefills.map(({ difference }) => difference.full?.n)),
    ],
  }));
}
