/** How well a run's monitor did while training, as numbers; null for a run without a monitor. */
import type { RunResult } from './run-result.ts';

/** Names as they stand in CSV and JSON. */
export const monitorMetrics = ['monitor-auroc', 'monitor-precision', 'monitor-recall', 'monitor-fpr'] as const;
type MonitorMetric = (typeof monitorMetrics)[number];

export const monitorValues: Readonly<Record<MonitorMetric, (run: Pick<RunResult, 'monitor'>) => number | null>> = {
  'monitor-auroc': ({ monitor }) => monitor?.separation?.auroc ?? null,
  'monitor-precision': ({ monitor }) => monitor?.precision?.rate ?? null,
  'monitor-recall': ({ monitor }) => monitor?.recall?.rate ?? null,
  'monitor-fpr': ({ monitor }) => monitor?.falsePositiveRate?.rate ?? null,
};
