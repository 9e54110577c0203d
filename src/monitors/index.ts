export { watchedArms } from './arms/registry.ts';

export { answersName } from './judge/answer-file.ts';
export {
  defineMonitor,
  type Monitor,
  type MonitorDefinition,
} from './monitor.ts';
export { blindMonitors } from './registry.ts';
