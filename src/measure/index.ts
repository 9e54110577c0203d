/** What a finished or running run is asked, one folder a question: its numbers, and what it writes into the run. */

export {
  emergence,
  emergenceByLoophole,
  firstUpdateAt,
  type TrainingPoint,
  trailingRate,
  trainingCurve,
} from './curve/emergence.ts';
export {
  type Evasion,
  readEvasion,
} from './evasion/evasion.ts';
export { type Attribution, attributeGradient, attributionWindows, type Deed } from './gate/attribution.ts';
export type {
  DirectionReport,
  IdealDirection,
  RandomBand,
} from './gate/directions.ts';
export type { Separation } from './gate/gate-report.ts';
export {
  type GateJudgement,
  type GateWindow,
  gateWindows,
  hasGate,
  judgeGate,
  judgeReinforced,
} from './gate/gate-report.ts';
export {
  judgeMonitor,
  type MonitorJudgement,
  type MonitorWindow,
  monitorQuarters,
  monitorWindows,
  type TargetJudgement,
} from './monitor/monitor-report.ts';
export {
  describeRelearning,
  finalWindow,
  type Relearning,
  type RelearningReport,
  relearnFolders,
  reportRelearning,
} from './relearn/relearning.ts';
