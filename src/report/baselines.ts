/**
 * Arms side by side by what watches and what is done about it: one table of arms without labels, one of arms with labels, each with what
 * an arm removes, keeps and costs. A gate on a direction is watched by that direction.
 */
import type { Target } from '../evaluate/index.ts';
import { dealtMark } from '../measure/index.ts';
import { armNamed, claimNote, formatP, makeTable, signed, signedInterval, type Table } from '../measure/table.ts';
import { parseSetting } from '../run/index.ts';
import {
  type ArmResults,
  claimSet,
  evaluatedSeeds,
  finalSample,
  findArm,
  formatSample,
  type Results,
  solveSet,
} from './aggregate.ts';
import { type ComparedMetric, type Comparison, compareArms } from './comparisons.ts';
import { soundSolve } from './found.ts';
import { keptAndRemoved, shareText } from './kept.ts';
import { armCell, rateColumns, setTitles, titleOf } from './tables.ts';
import { comparedCost, isDealt, monitorColumns } from './training-tables.ts';

/** What watches an arm's rollouts (null: nothing), and what is done: in the arm's words, and as a kind. */
const by = ' by ';

export function actionOf({ arm, runs: [{ config, manifest }] }: ArmResults) {
  const { kind, monitor, placebo, remedy } = config.arm as {
    readonly kind: string;
    readonly monitor?: { readonly kind: string };
    readonly placebo?: string;
    readonly remedy?: { readonly kind: string };
  };
  if (monitor !== undefined) {
    const [action, ...watcher] = manifest.arm.split(by);
    const done = remedy?.kind === 'route' ? 'routed' : (remedy?.kind ?? kind);
    // A label ends its details with a comma before it names the monitor.
    return { monitor: watcher.join(by) || monitor.kind, action: action.replace(/,$/, ''), kind: done };
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

export function baselineTables(results: Results): Table[] {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined || !comparesActions(results)) return [];
  const shares = new Map(keptAndRemoved(results).map((one) => [one.arm, one]));
  const removed = (target: Target) => (arm: ArmResults) => shareText(shares.get(arm.arm)?.removed[target] ?? null);
  const solvedElsewhere = {
    [soundSolve]: ({ runs }: ArmResults) => formatSample(finalSample(runs, solved, 'deployed', 'solve')),
  };
  return [false, true].map((oracle) =>
    makeTable(
      titleOf('baselines side by side', undefined, oracle),
      armsInOrder(results, oracle),
      {
        arm: ({ arm }) => armNamed(arm),
        'watched by': (arm) => actionOf(arm).monitor ?? '-',
        'what is done': (arm) => (actionOf(arm).monitor === null ? '-' : actionOf(arm).action),
        n: ({ runs }) => `${evaluatedSeeds(runs, set)}`,
        ...rateColumns<ArmResults>(({ runs }, metric) => finalSample(runs, set, 'deployed', metric)),
        ...(solved === set ? {} : solvedElsewhere),
        'attempt removed': removed('attempts'),
        'hack removed': removed('hacks'),
        'solve kept': ({ arm }) => shareText(shares.get(arm)?.solveKept ?? null),
        ...monitorColumns,
        [`seconds × ${results.baseline}`]: (arm) => comparedCost(results, arm, 'seconds'),
        [`passes above ${results.baseline}`]: (arm) => comparedCost(results, arm, 'passes'),
      },
      `Deployed rates, mean ± SEM over n seeds, on ${setTitles[set]}${solved === set ? '' : `; the last of them on ${setTitles[solved]}`}. removed and kept as in their own table, with 95% intervals. AUROC to FPR: the monitor while training, over all rollouts, also those that carried no gradient, judged by labels of attempts and of hacks. passes: completions that a model reads in an update without learning from them.`,
      dealtNote(armsInOrder(results, oracle)),
      claimNote(armsInOrder(results, oracle).map(({ runs }) => evaluatedSeeds(runs, set))),
    ),
  );
}

function dealtNote(arms: readonly ArmResults[]): string | false {
  const dealt = arms.filter(isDealt).map(({ arm }) => arm);
  return dealt.length > 0 && `AUROC to FPR of ${dealt.join(', ')}: its monitor by ${dealtMark}.`;
}

function armsInOrder({ arms, baseline, design }: Results, oracle: boolean): ArmResults[] {
  const monitors = [...new Set(arms.map((arm) => actionOf(arm).monitor))].filter((monitor) => monitor !== null);
  const rank = (own: ArmResults): number => {
    if (own.arm === baseline) return -3;
    if (own.arm === design.ceiling) return -2;
    const { monitor } = actionOf(own);
    return monitor === null ? -1 : monitors.indexOf(monitor);
  };
  return arms.filter(({ usesOracle }) => usesOracle === oracle).toSorted((a, b) => rank(a) - rank(b));
}

export function ablationTable(results: Results): Table {
  const set = claimSet(results);
  const compared = (metric: ComparedMetric): Comparison[] =>
    set === undefined ? [] : compareArms(results, set, metric);
  const hacks = compared('hack');
  const found = compared('attempt').map((one, i) => ({ ...one, own: findArm(results, one.arm), hacks: hacks[i] }));
  return makeTable(
    titleOf('what each part buys', set),
    found,
    {
      arm: ({ arm, own }) => armCell({ arm, usesOracle: own?.usesOracle === true }, { set }),
      against: ({ against }) => against,
      ...rateColumns<(typeof found)[number]>((row, metric) =>
        finalSample(row.own?.runs ?? [], row.set, 'deployed', metric),
      ),
      routed: ({ routed }) => routed.arm?.toFixed(2) ?? '-',
      'its routed': ({ routed }) => routed.against?.toFixed(2) ?? '-',
      qmass: ({ qmass }) => qmass.arm?.toFixed(2) ?? '-',
      'its qmass': ({ qmass }) => qmass.against?.toFixed(2) ?? '-',
      'attempt difference': ({ difference }) => signed(difference),
      '95% interval, attempt': ({ interval }) => signedInterval(interval),
      'p (Holm), attempt': ({ adjusted }) => formatP(adjusted),
      'hack difference': (row) => signed(row.hacks.difference),
      '95% interval, hack': (row) => signedInterval(row.hacks.interval),
      'p (Holm), hack': (row) => formatP(row.hacks.adjusted),
      seeds: ({ seeds }) => `${seeds.length}`,
    },
    'Deployed rates. Only what an arm removes beyond a placebo that routed a similar share, at a similar qmass, speaks for its direction. Intervals and p-values are those of the paired differences in attempts, then of those in hacks.',
    claimNote(found.map(({ seeds }) => seeds.length)),
  );
}

/** A change as the runs have it, since the call of a study may have set the same key to another value; `isShared`: the runs of all arms have that value. */
function asTrained(change: string, { runs: [run] }: ArmResults, arms: readonly ArmResults[]) {
  const key = change.slice(0, change.indexOf('='));
  const at = (table: unknown): unknown => key.split('.').reduce<unknown>((inner, part) => Object(inner)[part], table);
  const [stated, trained] = [at(parseSetting(change, 'set')), at(run.config)];
  // A text may be a path, which a config has resolved.
  const isPlain = typeof trained === 'number' || typeof trained === 'boolean';
  const isShared = isPlain && arms.length > 1 && arms.every((arm) => at(arm.runs[0].config) === trained);
  return { text: isPlain && trained !== stated ? `${key}=${trained}` : change, isShared };
}

export function settingsTable(results: Results): Table {
  const set = claimSet(results);
  const found = results.design.arms.flatMap(({ name, recipe, set: stated }) => {
    const arm = findArm(results, name);
    if (arm === undefined || set === undefined) return [];
    return [{ ...arm, set, recipe, changes: stated.map((change) => asTrained(change, arm, results.arms)) }];
  });
  type Row = (typeof found)[number];
  const changed = ({ changes }: Row, shared: boolean): string[] =>
    changes.flatMap(({ text, isShared }) => (isShared === shared ? [text] : []));
  const shared = [...new Set(found.flatMap((row) => changed(row, true)))];
  return makeTable(
    titleOf('what the arms change', set),
    found,
    {
      arm: (arm) => armCell(arm, { set }),
      n: ({ runs, set: on }) => `${evaluatedSeeds(runs, on)}`,
      recipe: ({ recipe }) => recipe,
      'changes to it': (row) => changed(row, false).join(' ') || '-',
      ...rateColumns<Row>((row, metric) => finalSample(row.runs, row.set, 'deployed', metric), ' deployed'),
    },
    shared.length > 0 && `No difference between arms, since the runs of all have it: ${shared.join(' ')}.`,
  );
}
