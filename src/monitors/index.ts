export type { GridParts } from './combination.ts';
export { type CutDefinition, type CutInputs, defineCut, type FoundCut } from './cut.ts';
export { builtinCuts } from './cuts.ts';
export { type GateArmSettings, gateSettings, gateSettingsOf, gateTailsOf } from './gates.ts';
export { answersName } from './judge/answer-file.ts';
export { watchedArms, watchingArm } from './kinds.ts';
export {
  type CutRule,
  defineMonitor,
  type Monitor,
  type MonitorDefinition,
} from './monitor.ts';
export { blindMonitors, builtinRemedies } from './registry.ts';
export { othersKey } from './remedies/route.ts';
export { type Acts, defineRemedy, type RemedyDefinition } from './remedy.ts';
