/** What a run says about its training, as numbers; null where the arm has no such thing: a gate, or a quarantine. */
import type { ArmResults } from './aggregate.ts';
import type { RunResult } from './run-result.ts';

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
