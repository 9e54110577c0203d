/** What runs say about their training, over seeds: when attempts and hacks emerged, what the gate and the monitor saw of both, the quarantine, and costs. */
import type { Rate } from '../evaluate/index.ts';
import type { Evasion, GateJudgement, MonitorJudgement } from '../measure/index.ts';
import { dealtMark, emergence, evasionNote, gateTargets, monitorNote } from '../measure/index.ts';
import { armNamed, type Cell, makeTable, type Table, textOf } from '../measure/table.ts';
import { dealsRoutes } from '../monitors/gates.ts';
import { outcomesKnown } from '../run/index.ts';
import { median } from '../stats/index.ts';
import { type ArmResults, findArm, formatSample, type Results, type Sample, sampleOf } from './aggregate.ts';
import { type RunResult, unfinishedRuns } from './run-result.ts';
import { armCell, armsOf, claims, titleOf } from './tables.ts';

/** A number of a run: its name in CSV and JSON, its column, and its value, null where the run or its arm has none. */
interface TrainingMetric {
  readonly name: string;
  readonly column: string;
  readonly value: (run: RunResult, arm: Pick<ArmResults, 'runs' | 'hasQuarantine'>) => number | null;
}

const metric = (name: string, column: string, value: TrainingMetric['value']): TrainingMetric => ({
  ...{ name, column, value },
});

export const trainingSample = (arm: ArmResults, { value }: Pick<TrainingMetric, 'value'>): Sample | null =>
  sampleOf(arm.runs, (run) => value(run, arm));

const columnsOf = (metrics: readonly TrainingMetric[]): Record<string, (arm: ArmResults) => string> =>
  Object.fromEntries(metrics.map((one) => [one.column, (arm) => formatSample(trainingSample(arm, one))]));

const hasRoutes = ({ gate: { routes } }: RunResult): boolean => routes.keep + routes.route > 0;

/** Attempts first; each says what it is judged against. */
const gateMetrics = gateTargets.flatMap(({ many }) => {
  const prefix = many === 'attempts' ? 'attempt-' : '';
  const separated = (judged: GateJudgement): number | null => judged[many].separation?.auroc ?? null;
  const routed = (name: string, column: string, rate: (target: GateJudgement['hacks']) => Rate | null) =>
    metric(name, column, ({ gate }, { runs }) => (runs.some(hasRoutes) ? (rate(gate[many])?.rate ?? null) : null));
  return [
    metric(`${prefix}auroc`, `${many}: AUROC`, ({ gate }) => separated(gate)),
    metric(`${prefix}auroc-reinforced`, `${many}: AUROC, A > 0`, ({ gateReinforced }) => separated(gateReinforced)),
    routed(`${prefix}route-precision`, `${many}: route precision`, ({ route }) => route.precision),
    routed(`${prefix}route-recall`, `${many}: route recall`, ({ route }) => route.recall),
    routed(`keep-${many.slice(0, -1)}-share`, `${many} in keep`, ({ shareOfKeep }) => shareOfKeep),
  ];
});

const emergenceMetrics = [
  metric('attempt-emergence', 'attempts emerged', (run) => run.emergence.attempts),
  metric('emergence', 'hacks emerged', (run) => run.emergence.hacks),
];

/** What the quarantine got: which share of the rollouts was routed to it, and its share of the gradient. An arm and its placebo are compared by both. */
export const quarantineMetrics = {
  routed: metric('routed', 'routed', ({ routed }, { hasQuarantine }) => (hasQuarantine ? routed : null)),
  qmass: metric('qmass', 'qmass', ({ qmass }, { hasQuarantine }) => (hasQuarantine ? qmass : null)),
} as const;

/** Formats emergence as `24 (5/5)`: the median update, and in how many of the seeds it happened, of those of which that is known. */
export function emergenceText(runs: readonly RunResult[], updateOf: (run: RunResult) => number | null): string {
  const updates = runs.filter(({ manifest }) => outcomesKnown(manifest)).map(updateOf);
  if (updates.length === 0) return 'unknown';
  const found = updates.filter((update) => update !== null);
  const counts = `(${found.length}/${updates.length})`;
  return found.length === 0 ? `not ${counts}` : `${median(found)} ${counts}`;
}

/** Why n of training may be above n of evaluations. */
function ongoingNote(arms: readonly ArmResults[]): string | false {
  const ongoing = unfinishedRuns(arms).map(({ text }) => text);
  return ongoing.length > 0 && `n counts runs that have not ended, with what they have so far: ${ongoing.join(', ')}.`;
}

export function processTable(results: Results, oracle: boolean): Table {
  const arms = armsOf(results, oracle);
  return makeTable(
    titleOf('while training', undefined, oracle),
    arms,
    {
      arm: ({ arm }) => armNamed(arm, { training: true }),
      n: ({ runs }) => `${runs.length}`,
      'attempts emerged': ({ runs }) => emergenceText(runs, ({ emergence }) => emergence.attempts),
      'hacks emerged': ({ runs }) => emergenceText(runs, ({ emergence }) => emergence.hacks),
      ...columnsOf([...gateMetrics, ...Object.values(quarantineMetrics)]),
    },
    `emerged: first update at which ${100 * emergence.threshold}% of the last ${emergence.window} updates' completions of hinted prompts, as trained, are attempts, or hacks (median; seeds in which it happened). The gate is judged against attempts (a loophole was opened, even in a correct program) and against hacks. AUROC: these against the other rollouts of the same update that carried gradient, by the gate's scores, or by the monitor's where its flags deal out the routes. A > 0: positively reinforced rollouts only. routed: share of the rollouts with gradient that trained the quarantine alone, over all updates. qmass: share of the gradient norm in the quarantine, mean over updates.`,
    arms.some(({ runs }) => runs.some(({ gate }) => gate.tokens !== null)) &&
      'A gate by token: route precision, route recall, shares of keep and routed count tokens, each with the label of its rollout; AUROC is of mean scores of rollouts.',
    ongoingNote(arms),
    ...claims(arms, (runs) => runs.length),
  );
}

/** How well a monitor finds a target; the names in CSV and JSON say nothing of hacks. */
const monitorMetrics = gateTargets.flatMap(({ many: target }) => {
  const quality = (name: string, column: string, value: (judged: MonitorJudgement['hacks']) => number | undefined) =>
    metric(`monitor-${target === 'attempts' ? 'attempt-' : ''}${name}`, `${target}: ${column}`, ({ monitor }) =>
      monitor === null ? null : (value(monitor[target]) ?? null),
    );
  return [
    quality('auroc', 'AUROC', ({ separation }) => separation?.auroc),
    quality('precision', 'precision', ({ precision }) => precision?.rate),
    quality('recall', 'recall', ({ recall }) => recall?.rate),
    quality('fpr', 'FPR', ({ falsePositiveRate }) => falsePositiveRate?.rate),
  ];
});

export const monitorColumns = columnsOf(monitorMetrics);

/** The arms among these whose routes are not what their monitor flagged. */
export const isDealt = ({ runs: [{ config }] }: ArmResults): boolean => dealsRoutes(config.arm);

function watchedCell(own: ArmResults): Cell {
  const cell = armCell(own, { training: true });
  return isDealt(own) ? { text: `${textOf(cell)}: ${dealtMark}`, arm: own.arm, training: true } : cell;
}

/** By quarter of training: does a monitor still see the hack that is trained against it? */
export function monitorsOverTimeTable({ arms }: Results): Table {
  const quarters = arms.flatMap((arm) => {
    const ends = new Map(arm.runs.flatMap(({ monitorOverTime }) => monitorOverTime.map(({ from, to }) => [from, to])));
    return [...ends]
      .sort(([a], [b]) => a - b)
      .map(([from, to]) => {
        const within = ({ monitorOverTime }: RunResult) =>
          monitorOverTime.find((quarter) => quarter.from === from) ?? null;
        return { ...arm, from, to, runs: arm.runs.map((run) => ({ ...run, monitor: within(run) })) };
      });
  });
  return makeTable(
    'monitors by quarter of training',
    quarters,
    {
      arm: watchedCell,
      updates: ({ from, to }) => `${from}-${to}`,
      n: ({ runs }) => `${runs.filter(({ monitor }) => monitor !== null).length}`,
      ...monitorColumns,
    },
    monitorNote,
  );
}

export function monitorsTable({ arms }: Results): Table {
  const watched = arms.filter(({ runs }) => runs.some(({ monitor }) => monitor !== null));
  const columns = {
    arm: watchedCell,
    n: ({ runs }: ArmResults) => `${runs.length}`,
    ...monitorColumns,
  };
  return makeTable('monitors while training', watched, columns, monitorNote, ongoingNote(watched));
}

/** Mean scores, and AUROC, by who reads the same texts. */
const evasionMetric = (name: string, column: string, value: (evasion: Evasion) => Reading | null | undefined) =>
  (['base', 'policy'] as const).map((reader) =>
    metric(`evasion-${name}-${reader}`, `${column} on ${reader}`, ({ evasion }) =>
      evasion === null ? null : (value(evasion)?.[reader] ?? null),
    ),
  );
type Reading = Evasion['auroc'];

const evasionMetrics = [
  ...evasionMetric('attempts', 'attempts,', ({ byAttempt }) => byAttempt?.attempts),
  ...evasionMetric('others', 'no attempt,', ({ byAttempt }) => byAttempt?.others),
  ...evasionMetric('attempt-auroc', 'attempts: AUROC', ({ byAttempt }) => byAttempt?.auroc),
  ...evasionMetric('hacks', 'hacks,', ({ hacks }) => hacks),
  ...evasionMetric('clean', 'clean,', ({ clean }) => clean),
  ...evasionMetric('auroc', 'hacks: AUROC', ({ auroc }) => auroc),
];

export function evasionsTable({ arms }: Results): Table {
  const isSplit = ({ evasion }: RunResult): boolean => evasion !== null;
  const columns = {
    arm: (arm: ArmResults) => armCell(arm, { training: true }),
    n: ({ runs }: ArmResults) => `${runs.filter(isSplit).length}`,
    ...columnsOf(evasionMetrics),
  };
  const split = arms.filter(({ runs }) => runs.some(isSplit));
  return makeTable('evasion split of monitors that read activations', split, columns, evasionNote);
}

const costMetrics = {
  seconds: metric('seconds', 'seconds', ({ costs }) => costs.seconds),
  passes: metric('scoring-passes', 'scoring passes', ({ costs }) => costs.scoringPasses),
} as const;

export function costTable(results: Results): Table {
  const { arms, baseline } = results;
  const { seconds, passes } = costMetrics;
  return makeTable(
    'cost of an update',
    arms.filter((arm) => [seconds, passes].some((cost) => trainingSample(arm, cost) !== null)),
    {
      arm: armCell,
      n: ({ runs }) => `${runs.length}`,
      seconds: (arm) => formatSample(trainingSample(arm, seconds)),
      [`× ${baseline}`]: (arm) => comparedCost(results, arm, 'seconds'),
      'scoring passes': (arm) => formatSample(trainingSample(arm, passes), 0),
      [`above ${baseline}`]: (arm) => comparedCost(results, arm, 'passes'),
      'asked beside': ({ runs }) => askedText(runs),
    },
    'seconds: median over updates, then mean over seeds; of the machine that ran the arm, and runs side by side slow each other down. scoring passes: completions that a model reads in an update without learning from them (log π_old of the rollouts that are trained, log π_ref, features, a judge); pairs at a rebuild are not counted. asked beside: what a monitor asked of others, by update.',
    ongoingNote(arms),
  );
}

/** An arm's seconds as a multiple of the baseline's, or how many passes more it has. */
export function comparedCost(results: Results, arm: ArmResults, cost: keyof typeof costMetrics): string {
  const reference = findArm(results, results.baseline);
  const own = trainingSample(arm, costMetrics[cost]);
  const other = reference === undefined ? null : trainingSample(reference, costMetrics[cost]);
  if (own === null || other === null || other.mean === 0) return '-';
  return cost === 'seconds' ? (own.mean / other.mean).toFixed(2) : `${Math.round(own.mean - other.mean) || 0}`;
}

/** Means over the seeds of what the monitor counted beside passes. */
function askedText(runs: readonly RunResult[]): string {
  const names = [...new Set(runs.flatMap(({ costs }) => Object.keys(costs.beside)))].sort();
  const counted = (name: string) => sampleOf(runs, ({ costs }) => costs.beside[name] ?? null);
  return names.map((name) => `${formatSample(counted(name), 1)} ${name}`).join(', ') || '-';
}

/** All numbers of training, in the order of CSV and JSON. */
export const trainingMetrics: readonly TrainingMetric[] = [
  ...[...emergenceMetrics, ...gateMetrics, ...Object.values(quarantineMetrics)],
  ...[...monitorMetrics, ...evasionMetrics, ...Object.values(costMetrics)],
];
