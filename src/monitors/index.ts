export {
  type CutRule,
  defineMonitor,
  type Monitor,
  type MonitorDefinition,
  type MonitorReport,
  type MonitorSource,
} from './monitor.ts';
