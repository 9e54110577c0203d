/** What a finished or running run is asked, one folder a question: its numbers, and what it writes into the run. */

export {
  emergence,
  emergenceByLoophole,
  firstUpdateAt,
  type TrainingPoint,
  trailingHackRate,
  trailingSolveRate,
  trainingCurve,
} from './curve/emergence.ts';
export {
  type Evasion,
  readEvasion,
  writeEvasion,
} from './evasion/evasion.ts';
export { measureEvasion } from './evasion/measure-evasion.ts';
export {
  type Attribution,
  attributeGradient,
  attributionWindows,
  type Deed,
} from './gate/attribution.ts';
export {
  type DirectionReport,
  featuredRollouts,
  type IdealDirection,
  idealDirection,
  type RandomBand,
  randomBand,
  reportDirections,
} from './gate/directions.ts';
export {
  dealtUnchanged,
  type GateJudgement,
  type GateWindow,
  gateWindows,
  hasGate,
  judgeGate,
  judgeReinforced,
} from './gate/gate-report.ts';
export type { Separation } from './gate/separation.ts';
export {
  judgeMonitor,
  type MonitorJudgement,
  type MonitorWindow,
  monitorQuarters,
  monitorWindows,
  type TargetJudgement,
} from './monitor/monitor-report.ts';
export { attackConfig, expectFinished, expectUpdates, exportDeployed, openAttacked } from './relearn/attack.ts';
export {
  describeRelearning,
  finalWindow,
  type Relearning,
  type RelearningReport,
  relearnFolders,
  reportRelearning,
} from './relearn/relearning.ts';
export { chooseTraces, type Trace } from './traces/traces.ts';
