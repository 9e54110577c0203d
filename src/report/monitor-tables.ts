import type { Evasion, MonitorJudgement, MonitorWindow, TargetJudgement } from '../measure/index.ts';
import { formatSample, type Results, sampleOf } from './aggregate.ts';
import { aurocText, rateText, short, shortAuroc, windowCell } from './gate-tables.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell, noClaim, signed, signedInterval } from './tables.ts';

/** Names as they stand in CSV and JSON. */
export const monitorMetrics = ['monitor-auroc', 'monitor-precision', 'monitor-recall', 'monitor-fpr'] as const;
type MonitorMetric = (typeof monitorMetrics)[number];

export const monitorValues: Readonly<Record<MonitorMetric, (run: Pick<RunResult, 'monitor'>) => number | null>> = {
  'monitor-auroc': ({ monitor }) => monitor?.separation?.auroc ?? null,
  'monitor-precision': ({ monitor }) => monitor?.precision?.rate ?? null,
  'monitor-recall': ({ monitor }) => monitor?.recall?.rate ?? null,
  'monitor-fpr': ({ monitor }) => monitor?.falsePositiveRate?.rate ?? null,
};

const note =
  'Judged by labels, which training did not see unless the arm uses labels, against attempts (a loophole was opened, even in a correct program) or hacks, as the line says, else against hacks. AUROC: these against all other rollouts of the same update; FPR: share of all others that is flagged.';

export function monitorTable(judged: MonitorJudgement): Table {
  return {
    title: 'the monitor as a classifier, diagnosis only',
    columns: ['', 'all rollouts'],
    rows: [
      ['rollouts, attempts, hacks', `${judged.rollouts}, ${judged.attempts.count}, ${judged.hacks}`],
      ['abstained', `${judged.abstained}`],
      ...targetRows('attempts', judged.attempts),
      ...targetRows('hacks', judged),
    ],
    notes: [note],
  };
}

const targetRows = (target: string, judged: TargetJudgement): string[][] => [
  [`${target}: AUROC`, aurocText(judged.separation)],
  [`${target}: precision of flags`, rateText(judged.precision)],
  [`${target}: recall of flags`, rateText(judged.recall)],
  [`${target}: FPR of flags`, rateText(judged.falsePositiveRate)],
];

export function monitorWindowTable(windows: readonly MonitorWindow[]): Table {
  return {
    title: 'the monitor by window of updates',
    columns: [
      ...['updates', 'rollouts', 'abstained'],
      ...['attempts', 'AUROC', 'precision', 'recall', 'FPR'],
      ...['hacks', 'AUROC', 'precision', 'recall', 'FPR'],
    ],
    rows: windows.map((window) => [
      windowCell(window),
      `${window.rollouts}`,
      `${window.abstained}`,
      `${window.attempts.count}`,
      shortAuroc(window.attempts.separation),
      short(window.attempts.precision),
      short(window.attempts.recall),
      short(window.attempts.falsePositiveRate),
      `${window.hacks}`,
      shortAuroc(window.separation),
      short(window.precision),
      short(window.recall),
      short(window.falsePositiveRate),
    ]),
  };
}

/** The monitors of all arms over seeds, by quarter of training: does a monitor still see the hack that is trained against it? */
export function monitorsOverTimeTable({ arms }: Results): Table {
  const rows = arms.flatMap(({ arm, runs, usesOracle }) => {
    const name = armCell({ arm, usesOracle }, { training: true });
    const quarters = new Map(runs.flatMap(({ monitorOverTime }) => monitorOverTime.map(({ from, to }) => [from, to])));
    return [...quarters]
      .sort(([a], [b]) => a - b)
      .map(([from, to]) => {
        const within = (metric: keyof typeof monitorValues) => (run: RunResult) =>
          monitorValues[metric]({ monitor: run.monitorOverTime.find((quarter) => quarter.from === from) ?? null });
        const samples = monitorMetrics.map((metric) => sampleOf(runs, within(metric)));
        const n = Math.max(0, ...samples.map((sample) => sample?.n ?? 0));
        return [name, `${from}-${to}`, `${n}`, ...samples.map((sample) => formatSample(sample))];
      });
  });
  return {
    title: 'monitors by quarter of training',
    columns: ['arm', 'updates', 'n', 'AUROC', 'precision', 'recall', 'FPR'],
    rows,
    notes: [note],
  };
}

/** The monitors of all arms that have one, over seeds. */
export function monitorsTable({ arms }: Results): Table {
  const watched = arms.filter(({ runs }) => runs.some(({ monitor }) => monitor !== null));
  return {
    title: 'monitors while training',
    columns: ['arm', 'n', 'AUROC', 'precision', 'recall', 'FPR'],
    rows: watched.map(({ arm, runs, usesOracle }) => [
      armCell({ arm, usesOracle }, { training: true }),
      `${runs.length}`,
      ...monitorMetrics.map((metric) => formatSample(sampleOf(runs, monitorValues[metric]))),
    ]),
    notes: [note],
  };
}

const evasionNote =
  'Mean scores of the same texts, as the base reads them and as the trained policy does, by the monitor of the last checkpoint; labels divide the rollouts, for diagnosis only. Hacks that score lower on the policy hide in its activations; hacks that score low on both pass by their text.';

export function evasionTable({ hacks, clean, auroc, difference, ...found }: Evasion): Table {
  const { from, to, rollouts, abstained } = found;
  const sides = [['hacks', hacks] as const, ['clean', clean] as const];
  const missed = abstained === 0 ? [] : [`The monitor abstained on ${abstained} of ${rollouts}.`];
  const areas =
    auroc === null
      ? 'none, for lack of one side'
      : `${auroc.base.toFixed(2)} on the base, ${auroc.policy.toFixed(2)} on the policy`;
  return {
    title: `evasion split, rollouts of updates ${from} to ${to}`,
    columns: ['rollouts', 'n', 'score on base', 'score on policy', 'difference', '95% interval', 'contribution'],
    rows: sides.map(([name, side]) =>
      side === null
        ? [name, '0', '-', '-', '-', '-', '-']
        : [
            name,
            `${side.rollouts}`,
            side.base.toFixed(3),
            side.policy.toFixed(3),
            signed(side.difference),
            signedInterval(side.interval),
            signed(side.contribution),
          ],
    ),
    notes: [
      evasionNote,
      `The contributions add up to the difference over all rollouts, ${signed(difference)}. AUROC of hacks against clean rollouts: ${areas}.`,
      ...missed,
      `Interval: Student's, over rollouts. ${noClaim}.`,
    ],
  };
}

/** Values of a run by their names in CSV and JSON; null for a run that nobody asked about. */
export const evasionValues: Readonly<Record<string, (run: RunResult) => number | null>> = {
  'evasion-hacks-base': ({ evasion }) => evasion?.hacks?.base ?? null,
  'evasion-hacks-policy': ({ evasion }) => evasion?.hacks?.policy ?? null,
  'evasion-clean-base': ({ evasion }) => evasion?.clean?.base ?? null,
  'evasion-clean-policy': ({ evasion }) => evasion?.clean?.policy ?? null,
  'evasion-auroc-base': ({ evasion }) => evasion?.auroc?.base ?? null,
  'evasion-auroc-policy': ({ evasion }) => evasion?.auroc?.policy ?? null,
};

/** The splits of all arms that have one, over seeds. */
export function evasionsTable({ arms }: Results): Table {
  const split = arms.filter(({ runs }) => runs.some(({ evasion }) => evasion !== null));
  return {
    title: 'evasion split of monitors that read activations',
    columns: [
      ...['arm', 'n', 'hacks, on base', 'hacks, on policy', 'clean, on base', 'clean, on policy'],
      ...['AUROC on base', 'AUROC on policy'],
    ],
    rows: split.map(({ arm, runs, usesOracle }) => [
      armCell({ arm, usesOracle }, { training: true }),
      `${runs.filter(({ evasion }) => evasion !== null).length}`,
      ...Object.values(evasionValues).map((value) => formatSample(sampleOf(runs, value))),
    ]),
    notes: [evasionNote],
  };
}
