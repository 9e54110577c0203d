/**
 * What leaves the lab: adapters and merged models with their cards and deletion certificates, and the numbers and samples of a run in
 * the formats of other viewers (TensorBoard, Weights & Biases, Trackio, Inspect).
 */
export type { DeletionCertificate } from './certificate.ts';
export {
  exportInspect,
  exportMetrics,
  type LogFormat,
  LogSink,
  logFolder,
  logFormats,
  type MetricLog,
  metricLogs,
} from './logs/logs.ts';
export { exportPolicy } from './source.ts';
