export { watchedArms } from './arms/registry.ts';
export { cutKeys, cutRule, cutWords } from './cut.ts';
export { answersName } from './judge/answer-file.ts';
export {
  type CutRule,
  defineMonitor,
  type Monitor,
  type MonitorDefinition,
  type MonitorReport,
  type MonitorSource,
} from './monitor.ts';
export { blindMonitors } from './registry.ts';
