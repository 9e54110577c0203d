/** The numbers and samples of a run in the formats of other viewers: TensorBoard, Weights & Biases, Trackio, Inspect. */
export {
  exportInspect,
  exportMetrics,
  type LogFormat,
  logFolder,
  logFormats,
} from './export-logs.ts';
export { LogSink, type MetricLog, metricLogs } from './log-sink.ts';
