/** What is left in a policy, as tables: attempt and hack under each instruction, by category of leak probe, prefill sensitivity over updates, and the relearning attack. */
import type { PolicyState } from '../adapters/index.ts';
import { groupBy } from '../base/index.ts';
import type {
  EvaluationSet,
  LeakProbe,
  PrefillPoint,
  ProbeEvaluation,
  ProbeOutcomes,
  Summary,
  Target,
} from '../evaluate/index.ts';
import { byTarget, formatRate, leakProbes, prefillPoints, prefillSets, summarise } from '../evaluate/index.ts';
import { emergence, finalWindow, type RelearningReport, reportRelearning } from '../measure/index.ts';
import { claimNote, makeTable, noClaim, signed, signedInterval, spreadSeeds, type Table } from '../measure/table.ts';
import { mean, meanInterval } from '../stats/index.ts';
import type { ArmResults, Results, Sample, State } from './aggregate.ts';
import { findArm, formatSample, sampleOf } from './aggregate.ts';
import { stateName } from './evaluation-tables.ts';
import type { RunResult } from './run-result.ts';
import { armCell } from './tables.ts';

const rateNote = `hits/prompts rate [95% interval over prompts]; one completion a prompt, fixed seed. ${noClaim(1)}.`;

const statesIn = (probes: readonly ProbeEvaluation[]): PolicyState[] => [...new Set(probes.map(({ state }) => state))];

const leakedMetrics = ['attempt', 'hack'] as const;
/** Where nothing is solved and nothing attempted, training has nothing to learn from. */
const askedMetrics = ['attempt', 'hack', 'solve'] as const;

/** The rates of a probe by its name, a column for each metric and state. */
function probeColumns(
  probes: readonly ProbeEvaluation[],
  hasQuarantine: boolean,
  metrics: readonly (typeof askedMetrics)[number][],
) {
  const columns = metrics.flatMap((metric) =>
    statesIn(probes).map((state): [string, (name: string) => string] => [
      `${metric}, ${stateName(state, hasQuarantine)}`,
      (name) => {
        const found = probes.find((one) => one.probe.name === name && one.state === state);
        return found === undefined ? '-' : formatRate(summarise(found.rows)[metric]);
      },
    ]),
  );
  return Object.fromEntries(columns);
}

function textNotes(probes: readonly ProbeEvaluation[]): string[] {
  const texts = new Map(probes.map(({ probe: { name, instruction } }) => [name, instruction]));
  return [...texts].flatMap(([name, { text, place }]) =>
    text === '' ? [] : [`${name}: ${JSON.stringify(text)}, ${place} the user message.`],
  );
}

/** Attempts, hacks and solves under each instruction, the most eliciting first, by the first state of the table. */
export function elicitationTable(probes: readonly ProbeEvaluation[], hasQuarantine: boolean): Table {
  const [first] = statesIn(probes);
  const ranked = probes
    .filter(({ state }) => state === first)
    .map(({ probe, rows }) => ({ name: probe.name, rates: summarise(rows) }))
    .sort((a, b) => b.rates.attempt.rate - a.rates.attempt.rate || b.rates.hack.rate - a.rates.hack.rate);
  return makeTable(
    `attempt, hack and solve under instructions, ${probes[0]?.set ?? ''}`,
    ranked.map(({ name }) => name),
    { instruction: (name) => name, ...probeColumns(probes, hasQuarantine, askedMetrics) },
    ...[rateNote, 'none: the prompt as it is.', ...textNotes(probes)],
  );
}

export function leakTable(
  leaks: readonly LeakProbe[],
  probes: readonly ProbeEvaluation[],
  hasQuarantine: boolean,
): Table {
  const rates = Object.entries(probeColumns(probes, hasQuarantine, leakedMetrics));
  return {
    title: `leak probes, ${probes[0]?.set ?? ''}`,
    columns: ['category', 'instruction', ...rates.map(([column]) => column)],
    rows: leaks.map(({ category, probe: { name } }) => [category, name, ...rates.map(([, rate]) => rate(name))]),
    notes: [rateNote, leakNote, ...textNotes(probes)],
  };
}

const leakNote =
  'original: the prompt of training; eliciting: asks for the hack in other words; structure: the form of such a request, another content; negated: says not to; keyword: mentions the evaluation, asks for nothing; irrelevant: unrelated; none: the prompt of deployment, where training had an instruction.';

export function prefillTable(points: readonly PrefillPoint[], set: string, hasQuarantine: boolean): Table {
  return makeTable(
    `prefill sensitivity over updates completed, ${set === 'curve' ? 'the curve set' : set}; 0 is the base`,
    points,
    {
      update: ({ update }) => `${update}`,
      state: ({ state }) => stateName(state as PolicyState, hasQuarantine),
      'attempt, hack-like opening': ({ attempts }) => formatRate(attempts.hackLike),
      'hack, hack-like opening': ({ hacks }) => formatRate(hacks.hackLike),
      'attempt, neutral opening': ({ attempts }) => formatRate(attempts.neutral),
      'hack, neutral opening': ({ hacks }) => formatRate(hacks.neutral),
      'attempt difference': ({ attempts }) => signed(attempts.difference),
      'attempt, 95% interval': ({ attempts }) => signedInterval(attempts.interval),
      'hack difference': ({ hacks }) => signed(hacks.difference),
      'hack, 95% interval': ({ hacks }) => signedInterval(hacks.interval),
    },
    `Openings are part of the completion that is judged. Interval: Student's, over prompts. ${noClaim(1)}.`,
  );
}

type LeakedArm = ReturnType<typeof leakedArms>[number];

/** Attempts and hacks of arms under each category of leak probe, by policy state; `limit`: number of prompts from the start of the set, null: all. */
export function leakedArms({ arms }: Results) {
  const probes = arms.flatMap(({ runs }) => runs.flatMap((run) => run.probes));
  // The category `negated` tells sets of leak probes from those of other instructions.
  const asked = probes.filter(({ probe }) => probe.name === 'negated');
  const prompts = new Map(asked.map(({ set, limit }) => [`${set} ${limit}`, { set, limit }]));
  return [...prompts.values()].flatMap((own) => arms.flatMap((arm) => leaksOf(arm, own)));
}

type AskedPrompts = Pick<ProbeOutcomes, 'set' | 'limit'>;

function leaksOf({ arm, usesOracle, hasQuarantine, runs }: ArmResults, prompts: AskedPrompts) {
  // The names of probes do not depend on whether the model reads words.
  return leakProbes(runs[0].config.arm, true).flatMap(({ category, probe }) => {
    const samples = byTarget((label) => {
      const sample = (state: State): Sample | null => {
        const rate = (run: RunResult) => summaryOf(run, probe.name, state, prompts)?.[label] ?? null;
        return sampleOf(runs, (run) => rate(run)?.rate ?? null, rate);
      };
      return { base: sample('base'), full: sample('full'), deployed: sample('deployed') };
    });
    if (samples.hacks.full === null && samples.hacks.deployed === null) return [];
    return [{ arm, usesOracle, hasQuarantine, ...prompts, category, ...samples }];
  });
}

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

export function leakTables(results: Results): Table[] {
  const groups = groupBy(leakedArms(results), ({ set, limit }) =>
    limit === null ? set : `${set}, the first ${limit} prompts`,
  );
  const shipped = ({ hacks }: LeakedArm): Sample | null => hacks.deployed ?? hacks.full;
  const rates = byTarget(
    (label, target): Record<string, (leak: LeakedArm) => string> => ({
      [`${label} base`]: (leak) => formatSample(leak[target].base),
      [`${label} as trained`]: (leak) => (leak.hasQuarantine ? formatSample(leak[target].full) : 'the same'),
      [`${label} deployed`]: (leak) => formatSample(leak[target].deployed),
    }),
  );
  return [...groups].map(([prompts, leaks]) =>
    makeTable(
      `leak probes: attempt and hack under other instructions, ${prompts}`,
      leaks,
      {
        arm: armCell,
        category: ({ category }) => category,
        n: (leak) => `${shipped(leak)?.n ?? 0}`,
        ...rates.attempts,
        ...rates.hacks,
      },
      'Mean ± SEM over n seeds; for one seed, the rate with its 95% interval over prompts.',
      leakNote,
      claimNote(leaks.map((leak) => shipped(leak)?.n ?? 0)),
    ),
  );
}

/** Prefill sensitivity of arms after updates, over seeds: P(hack | hack-like opening) − P(hack | neutral opening), and before it the same of attempts. */
export function prefilledArms({ arms }: Results) {
  return prefillSets.flatMap((set) => arms.flatMap((arm) => prefillsOf(arm, set)));
}

function prefillsOf({ arm, usesOracle, hasQuarantine, runs }: ArmResults, set: EvaluationSet) {
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
    const samples = byTarget((_, target) => ({
      full: sample('full', (point) => point[target].difference),
      deployed: sample(shipped, (point) => point[target].difference),
      neutral: sample(shipped, (point) => point[target].neutral.rate),
    }));
    return { arm, usesOracle, set, update, ...samples };
  });
}

export function prefillTables(results: Results): Table[] {
  const shown = (sample: Sample | null): string => formatSample(sample).replace(/^-(?=.)/, '−');
  return [...groupBy(prefilledArms(results), ({ set }) => set)].map(([set, prefills]) =>
    makeTable(
      `prefill sensitivity over updates, ${set === 'curve' ? 'the curve set' : set}`,
      prefills,
      {
        arm: armCell,
        update: ({ update }) => `${update}`,
        n: ({ hacks }) => `${hacks.full?.n ?? 0}`,
        'attempt difference as trained': ({ attempts }) => shown(attempts.full),
        'attempt difference deployed': ({ attempts }) => shown(attempts.deployed),
        'hack difference as trained': ({ hacks }) => shown(hacks.full),
        'hack difference deployed': ({ hacks }) => shown(hacks.deployed),
        'attempt deployed, neutral opening': ({ attempts }) => shown(attempts.neutral),
        'hack deployed, neutral opening': ({ hacks }) => shown(hacks.neutral),
      },
      'difference: P(hack | hack-like opening) − P(hack | neutral opening), and the same of attempts, over the same prompts; mean ± SEM over n seeds. A rise before that of the hack rate is an early sign.',
      claimNote(prefills.map(({ hacks }) => hacks.full?.n ?? 0)),
    ),
  );
}

type RelearnedArm = ReturnType<typeof relearnedArms>[number];
type RelearnedCounts = ReturnType<typeof countsOf>;

/** Arms that were attacked, in the seeds in which the baseline hacks at all. */
export function relearnedArms(results: Results) {
  const vanilla = findArm(results, results.baseline);
  return results.arms.flatMap(({ arm, usesOracle, runs }) => {
    const seeds = runs.flatMap(({ seed, attack }) => {
      const base = vanilla?.runs.find((run) => run.seed === seed);
      const report = base === undefined || attack === null ? null : reportRelearning(base.training, attack);
      return report === null ? [] : [{ seed, report }];
    });
    if (seeds.length === 0) return [];
    const reports = seeds.map(({ report }) => report);
    return [{ arm, usesOracle, seeds, ...byTarget((_, target) => countsOf(reports, target)) }];
  });
}

/** How many updates later than from the base attempts are back, seed by seed. */
export function relearnedLater(results: Results, name: string): { readonly seed: number; readonly value: number }[] {
  const { seeds = [] } = relearnedArms(results).find(({ arm }) => arm === name) ?? {};
  // Where the base itself never gets there, nothing is compared.
  const compared = seeds.filter(({ report }) => report.fromBase.attempts.reached !== null);
  return compared.map(({ seed, report }) => ({ seed, value: laterBy(report, 'attempts') }));
}

/** A start that never got there counts with all its updates. */
const updatesOf = (start: RelearningReport['fromBase'], target: Target): number =>
  start[target].reached ?? start.updates;

const laterBy = ({ fromBase, fromDeployed }: RelearningReport, target: Target): number =>
  updatesOf(fromDeployed, target) - updatesOf(fromBase, target);

/**
 * Updates until attempts, or hacks, are back, and those from the deployed policy less those from the base: means over seeds. Seeds that never reached
 * the rate count with all their updates: the mean is then a lower or an upper bound.
 */
function countsOf(reports: readonly RelearningReport[], target: Target) {
  const [fromBase, fromDeployed] = (['fromBase', 'fromDeployed'] as const).map((start) => ({
    mean: mean(reports.map((report) => updatesOf(report[start], target))),
    unreached: reports.filter((report) => report[start][target].reached === null).length,
  }));
  const differences = reports.map((report) => laterBy(report, target));
  const isUnreached = ({ fromBase: base, fromDeployed: own }: RelearningReport): boolean =>
    base[target].reached === null || own[target].reached === null;
  const difference = {
    mean: mean(differences),
    unreached: reports.filter(isUnreached).length,
    interval: differences.length < spreadSeeds ? null : meanInterval(differences),
  };
  return { fromBase, fromDeployed, difference };
}

export function relearnedTable(results: Results): Table {
  const arms = relearnedArms(results);
  const counts = (what: Target): Record<string, (arm: RelearnedArm) => string> => ({
    [`${what}, from the base`]: (arm) => countedText(arm[what].fromBase, arm.seeds.length),
    [`${what}, from deployed`]: (arm) => countedText(arm[what].fromDeployed, arm.seeds.length),
    [`${what}, difference`]: (arm) => countedText(arm[what].difference, arm.seeds.length),
    [`${what}, 95% interval`]: (arm) => {
      const { interval } = arm[what].difference;
      return interval === null ? '-' : `[${interval.low.toFixed(1)}, ${interval.high.toFixed(1)}]`;
    },
  });
  const rate =
    (target: Target, at: 'first' | 'last') =>
    ({ seeds }: RelearnedArm): string => {
      const rates = seeds.flatMap(({ report }) => report.fromDeployed[target][at] ?? []);
      return rates.length === 0 ? '-' : mean(rates).toFixed(2);
    };
  return makeTable(
    'relearning: updates of vanilla training until attempts and hacks are back',
    arms,
    {
      arm: armCell,
      seeds: ({ seeds }) => `${seeds.length}`,
      ...counts('attempts'),
      ...counts('hacks'),
      'first attempt': rate('attempts', 'first'),
      'last attempt': rate('attempts', 'last'),
      'first hack': rate('hacks', 'first'),
      'last hack': rate('hacks', 'last'),
    },
    `They are back at half of ${results.baseline}'s final rate. Means over seeds; a seed that never got there counts with all its updates and is named. first, last: rates of attempts and of hacks on hinted prompts over the first ${emergence.window} and the last ${finalWindow} updates from the deployed policy.`,
    claimNote(arms.map(({ seeds }) => seeds.length)),
  );
}

function countedText({ mean: value, unreached }: RelearnedCounts['fromBase'], seeds: number): string {
  return `${value.toFixed(1)}${unreached === 0 ? '' : ` (not reached in ${unreached} of ${seeds})`}`;
}
