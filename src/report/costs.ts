/** What runs say about their training as numbers: the gate, the quarantine, and what an update of each arm costs. */
import { type ArmResults, findArm, formatSample, type Results, sampleOf } from './aggregate.ts';
import type { RunResult } from './run-result.ts';
import type { Table } from './table.ts';
import { armCell } from './tables.ts';

/** Names as they stand in CSV and JSON. */
export const processMetrics = [
  'emergence',
  'auroc',
  'auroc-reinforced',
  'route-precision',
  'route-recall',
  'keep-hack-share',
  'qmass',
] as const;
export type ProcessMetric = (typeof processMetrics)[number];

/** The value of a metric for the runs of an arm. */
export function processValue({ runs, hasQuarantine }: ArmResults, metric: ProcessMetric) {
  const routes = runs.some(({ gate }) => gate.routes.keep + gate.routes.route > 0);
  const applies: Readonly<Partial<Record<ProcessMetric, boolean>>> = {
    'route-precision': routes,
    'route-recall': routes,
    'keep-hack-share': routes,
    qmass: hasQuarantine,
  };
  return (run: RunResult): number | null => (applies[metric] === false ? null : values[metric](run));
}

const values: Readonly<Record<ProcessMetric, (run: RunResult) => number | null>> = {
  emergence: (run) => run.emergence,
  auroc: ({ gate }) => gate.separation?.auroc ?? null,
  'auroc-reinforced': ({ gateReinforced }) => gateReinforced.separation?.auroc ?? null,
  'route-precision': ({ gate }) => gate.route.precision?.rate ?? null,
  'route-recall': ({ gate }) => gate.route.recall?.rate ?? null,
  'keep-hack-share': ({ gate }) => gate.hackShareOfKeep?.rate ?? null,
  qmass: ({ qmass }) => qmass,
};

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
