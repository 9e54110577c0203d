/**
 * What an update of each arm costs: seconds, and completions that a model reads without learning from them (log π_old, log π_ref,
 * features, a judge). Seconds are of the machine that ran the arm, and arms that ran side by side slow each other down.
 */
import { type ArmResults, findArm, formatSample, type Results, sampleOf } from './aggregate.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell } from './tables.ts';

/** Names as they stand in CSV and JSON. */
const costMetrics = ['seconds', 'scoring-passes'] as const;
type CostMetric = (typeof costMetrics)[number];

export const costValues: Readonly<Record<CostMetric, (run: RunResult) => number | null>> = {
  seconds: ({ costs }) => costs.seconds,
  'scoring-passes': ({ costs }) => costs.scoringPasses,
};

export function costTable(results: Results): Table {
  const { arms, baseline } = results;
  const reference = findArm(results, baseline);
  const known = arms.filter(({ runs }) => costMetrics.some((metric) => sampleOf(runs, costValues[metric]) !== null));
  return {
    title: 'cost of an update',
    columns: ['arm', 'n', 'seconds', `× ${baseline}`, 'scoring passes', `above ${baseline}`, 'asked beside'],
    rows: known.map((arm) => [
      armCell(arm),
      `${arm.runs.length}`,
      formatSample(sampleOf(arm.runs, costValues.seconds)),
      comparedCost(arm, reference, 'seconds'),
      formatSample(sampleOf(arm.runs, costValues['scoring-passes']), 0),
      comparedCost(arm, reference, 'scoring-passes'),
      askedText(arm.runs),
    ]),
    notes: [
      'seconds: median over updates, then mean over seeds; of the machine that ran the arm, and runs side by side slow each other down. scoring passes: completions that a model reads in an update without learning from them (log π_old of the rollouts that are trained, log π_ref, features, a judge); pairs at a rebuild are not counted. asked beside: what a monitor asked of others, by update.',
    ],
  };
}

/** An arm's seconds as a multiple of the reference's, or how many passes more it has. */
export function comparedCost({ runs }: ArmResults, reference: ArmResults | undefined, metric: CostMetric): string {
  const own = sampleOf(runs, costValues[metric]);
  const other = sampleOf(reference?.runs ?? [], costValues[metric]);
  if (own === null || other === null || other.mean === 0) return '-';
  return metric === 'seconds' ? (own.mean / other.mean).toFixed(2) : `${Math.round(own.mean - other.mean) || 0}`;
}

/** Means over the seeds of what the monitor counted beside passes. */
function askedText(runs: readonly RunResult[]): string {
  const names = [...new Set(runs.flatMap(({ costs }) => Object.keys(costs.beside)))].sort();
  const texts = names.map((name) => {
    const sample = sampleOf(runs, ({ costs }) => costs.beside[name] ?? null);
    return `${formatSample(sample, 1)} ${name}`;
  });
  return texts.join(', ') || '-';
}
