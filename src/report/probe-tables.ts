/** Probes of one policy as tables: attempt and hack under each instruction, by category of leak probe, and prefill sensitivity over updates. */
import type { PolicyState } from '../adapters/index.ts';
import { formatRate, type LeakProbe, type PrefillPoint, type ProbeEvaluation, summarise } from '../evaluate/index.ts';
import { stateName } from './evaluation-tables.ts';
import type { Table } from './table.ts';
import { noClaim, signed } from './tables.ts';

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

export const leakNote =
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
      interval === null ? '-' : `[${signed(interval.low)}, ${signed(interval.high)}]`,
    ]),
    notes: [
      `Openings are part of the completion that is judged. difference: of hacks. Interval: Student's, over prompts. ${noClaim}.`,
    ],
  };
}
