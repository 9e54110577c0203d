/** Monitors as classifiers: of one run, by window of updates, and of all arms over their seeds. */

import { formatRate, type Rate } from '../evaluate/index.ts';
import type { MonitorJudgement, MonitorWindow, Separation, TargetJudgement } from '../measure/index.ts';
import { formatSample, type Results, sampleOf } from './aggregate.ts';
import { windowCell } from './gate-tables.ts';
import { monitorMetrics, monitorValues } from './monitor-metrics.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell } from './tables.ts';

const rateText = (rate: Rate | null): string => (rate === null ? '-' : formatRate(rate));
const short = (rate: Rate | null): string => (rate === null ? '-' : `${rate.count}/${rate.of}`);
const aurocText = (separation: Separation | null): string => {
  if (separation === null) return '-';
  const { auroc, interval } = separation;
  return interval === null
    ? auroc.toFixed(2)
    : `${auroc.toFixed(2)} [${interval.low.toFixed(2)}, ${interval.high.toFixed(2)}]`;
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
      window.attempts.separation === null ? '-' : window.attempts.separation.auroc.toFixed(2),
      short(window.attempts.precision),
      short(window.attempts.recall),
      short(window.attempts.falsePositiveRate),
      `${window.hacks}`,
      window.separation === null ? '-' : window.separation.auroc.toFixed(2),
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
