/** What a run's ledgers and verdicts say about training: the gate as a classifier, emergence, traces, the relearning attack. */

export {
  type Attribution,
  attributeGradient,
  attributionWindows,
  type Deed,
} from './attribution.ts';
export { type DirectionReport, reportDirections } from './direction-report.ts';
export {
  type CountedRollout,
  emergence,
  emergenceByLoophole,
  firstUpdateAt,
  type TrainingPoint,
  trailingHackRate,
  trailingSolveRate,
  trainingCurve,
} from './emergence.ts';
export {
  type Evasion,
  type EvasionRow,
  readEvasion,
  splitEvasion,
  writeEvasion,
} from './evasion.ts';
export {
  dealtUnchanged,
  type GateJudgement,
  type GateOutline,
  type GateWindow,
  gateWindows,
  hasGate,
  judgeGate,
  judgeReinforced,
  outlineGate,
  reinforced,
} from './gate-report.ts';
export { type IdealDirection, idealDirection } from './ideal-direction.ts';
export {
  groupBy,
  type JudgedRollout,
  type RolloutOutcome,
  type RunStatus,
  readCourse,
  readJudged,
  readOutcomes,
  readStatus,
  readSteps,
} from './judged.ts';
export {
  judgeMonitor,
  type MonitorJudgement,
  type MonitorOutline,
  type MonitorQuarter,
  type MonitorWindow,
  monitorQuarters,
  monitorWindows,
  outlineMonitor,
  type TargetJudgement,
  type WatchedRollout,
} from './monitor-report.ts';
export { type RandomBand, randomBand } from './random-directions.ts';
export {
  describeRelearning,
  finalWindow,
  type Relearning,
  type RelearningReport,
  relearnFolders,
  reportRelearning,
} from './relearning.ts';
export type { Separation } from './separation.ts';
export { featuredRollouts } from './stored-features.ts';
export { chooseTraces, type Trace } from './traces.ts';
