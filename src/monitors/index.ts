export { type CutDefinition, defineCut } from './cut.ts';
export { builtinCuts } from './cuts.ts';
export { dealsRoutes, type GateArmSettings, gateSettings, gateSettingsOf, gateTailsOf } from './gates.ts';
export { watchedArms } from './kinds.ts';
export {
  defineMonitor,
  type KindTable,
  type Monitor,
  type MonitorDefinition,
} from './monitor.ts';
export { blindMonitors, builtinRemedies } from './registry.ts';
export { defineRemedy, type RemedyDefinition } from './remedy.ts';
