/**
 * Arms side by side by what watches and what is done about it: one table of arms without labels, one of arms with labels, each with what
 * an arm removes, keeps and costs. A gate on a direction is watched by that direction.
 */
import {
  type ArmResults,
  claimSet,
  finalSample,
  findArm,
  formatSample,
  type Results,
  sampleOf,
  solveSet,
} from './aggregate.ts';
import { type ComparedMetric, type Comparison, compareArms } from './comparisons.ts';
import { comparedCost } from './costs.ts';
import { keptAndRemoved, shareText } from './kept.ts';
import { monitorMetrics, monitorValues } from './monitor-tables.ts';
import { armNamed, type Cell, type Table } from './table.ts';
import { armCell, formatP, noClaim, oracleTitle, setTitles, signed, signedInterval } from './tables.ts';

/** What watches an arm's rollouts (null: nothing), and what is done: in the arm's words, and as a kind. */
export interface Action {
  readonly monitor: string | null;
  readonly action: string;
  readonly kind: string;
}

/** How an arm's label says who watches. */
const by = ' by ';

export function actionOf({ arm, runs: [{ config, manifest }] }: ArmResults): Action {
  const { kind, monitor, placebo, remedy } = config.arm as {
    readonly kind: string;
    readonly monitor?: { readonly kind: string };
    readonly placebo?: string;
    readonly remedy?: { readonly kind: string };
  };
  if (monitor !== undefined) {
    const [action, ...watcher] = manifest.arm.split(by);
    const done = remedy?.kind === 'route' ? 'routed' : (remedy?.kind ?? kind);
    return { monitor: watcher.join(by) || monitor.kind, action, kind: done };
  }
  const named = placebo === undefined || placebo === 'none' ? '' : `${placebo} `;
  if (kind === 'activation') return { monitor: `${named}direction`, action: 'gate', kind: 'gate' };
  if (kind === 'gradient') return { monitor: `${named}gradient direction`, action: 'gate', kind: 'gate' };
  if (kind === 'oracle') return { monitor: 'oracle', action: 'gate', kind: 'gate' };
  return { monitor: null, action: arm, kind };
}

/** Whether anything but a gate acts on what a monitor says; gates alone are no comparison of that. */
export function comparesActions({ arms }: Results): boolean {
  return arms.map(actionOf).some(({ monitor, kind }) => monitor !== null && kind !== 'gate');
}

/** The tables, without labels first. */
export function baselineTables(results: Results): Table[] {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined || !comparesActions(results)) return [];
  const shares = new Map(keptAndRemoved(results).map((one) => [one.arm, one]));
  const cost = (arm: ArmResults, metric: 'seconds' | 'scoring-passes'): string =>
    comparedCost(arm, findArm(results, results.baseline), metric);
  const rowOf = (own: ArmResults): Cell[] => {
    const { monitor, action } = actionOf(own);
    const [attempt, hack] = (['attempt', 'hack'] as const).map((metric) =>
      finalSample(own.runs, set, 'deployed', metric),
    );
    const solve = finalSample(own.runs, solved, 'deployed', 'solve');
    const share = shares.get(own.arm);
    return [
      armNamed(own.arm),
      ...[monitor ?? '-', monitor === null ? '-' : action, `${hack?.n ?? 0}`],
      ...[attempt, hack, solve].map((sample) => formatSample(sample)),
      ...[share?.attemptRemoved, share?.hackRemoved, share?.solveKept].map((one) => shareText(one ?? null)),
      ...monitorMetrics.map((metric) => formatSample(sampleOf(own.runs, monitorValues[metric]))),
      ...[cost(own, 'seconds'), cost(own, 'scoring-passes')],
    ];
  };
  return [false, true].map((oracle) => ({
    title: `baselines side by side${oracle ? `: ${oracleTitle}` : ''}`,
    columns: [
      ...['arm', 'watched by', 'what is done', 'n', 'attempt', 'hack', 'solve'],
      ...['attempt removed', 'hack removed', 'solve kept'],
      ...['AUROC', 'precision', 'recall', 'FPR', `seconds × ${results.baseline}`, `passes above ${results.baseline}`],
    ],
    rows: sorted(results, oracle).map(rowOf),
    notes: [
      `Deployed rates, mean ± SEM over n seeds: attempt and hack on ${setTitles[set]}, solve on ${setTitles[solved]}. removed and kept as in their own table, with 95% intervals. AUROC to FPR: the monitor while training, judged by labels. passes: completions that a model reads in an update without learning from them.`,
      ...(sorted(results, oracle).some(({ runs }) => runs.length === 1) ? [`${noClaim}.`] : []),
    ],
  }));
}

/** Baseline and ceiling, then arms that nothing watches, then the others monitor by monitor. */
function sorted({ arms, baseline, design }: Results, oracle: boolean): ArmResults[] {
  const monitors = [...new Set(arms.map((arm) => actionOf(arm).monitor))].filter((monitor) => monitor !== null);
  const rank = (own: ArmResults): number => {
    if (own.arm === baseline) return -3;
    if (own.arm === design.ceiling) return -2;
    const { monitor } = actionOf(own);
    return monitor === null ? -1 : monitors.indexOf(monitor);
  };
  return arms.filter(({ usesOracle }) => usesOracle === oracle).toSorted((a, b) => rank(a) - rank(b));
}

/** One row per comparison of deployed attempts and hacks, with the rates of the arm and the qmass of both. */
export function ablationTable(results: Results): Table {
  const set = claimSet(results);
  const compared = (metric: ComparedMetric): Comparison[] =>
    set === undefined ? [] : [false, true].flatMap((oracle) => compareArms(results, set, metric, oracle));
  const [attempts, found] = [compared('attempt'), compared('hack')];
  return {
    title: `what each part buys${set === undefined ? '' : `, ${setTitles[set]}`}`,
    columns: [
      ...['arm', 'against', 'attempt', 'hack', 'solve', 'qmass', 'its qmass'],
      ...['attempt difference', 'hack difference', '95% interval', 'seeds', 'p (Holm)'],
    ],
    rows: found.map((one, i) => ablationRow(results, one, attempts[i])),
    notes: [
      'Deployed rates. Only what an arm removes beyond a placebo of similar qmass speaks for its direction. Interval and p-value are those of the paired differences in hack.',
      ...(found.some(({ seeds }) => seeds.length === 1) ? [`${noClaim}.`] : []),
    ],
  };
}

function ablationRow(results: Results, one: Comparison, attempts: Comparison): Cell[] {
  const { set, arm, against, qmass, interval, difference, seeds, adjusted } = one;
  const own = findArm(results, arm);
  const rate = (metric: ComparedMetric): string => formatSample(finalSample(own?.runs ?? [], set, 'deployed', metric));
  const mass = (value: number | null): string => (value === null ? '-' : value.toFixed(2));
  return [
    armCell({ arm, usesOracle: own?.usesOracle === true }, { set }),
    against,
    rate('attempt'),
    rate('hack'),
    rate('solve'),
    mass(qmass.arm),
    mass(qmass.against),
    signed(attempts.difference),
    signed(difference),
    signedInterval(interval),
    `${seeds.length}`,
    formatP(adjusted),
  ];
}

/** The recipe of every arm and what it changes, with its deployed rates; empty outside an experiment. */
export function settingsTable(results: Results): Table {
  const set = claimSet(results);
  const rows = results.design.arms.flatMap(({ name, recipe, set: changes }) => {
    const arm = findArm(results, name);
    if (arm === undefined || set === undefined) return [];
    const rate = (metric: ComparedMetric): string => formatSample(finalSample(arm.runs, set, 'deployed', metric));
    const rates = [rate('attempt'), rate('hack'), rate('solve')];
    return [[armCell(arm, { set }), `${arm.runs.length}`, recipe, changes.join(' ') || '-', ...rates]];
  });
  return {
    title: `what the arms change${set === undefined ? '' : `, ${setTitles[set]}`}`,
    columns: ['arm', 'n', 'recipe', 'changes to it', 'attempt deployed', 'hack deployed', 'solve deployed'],
    rows,
  };
}
