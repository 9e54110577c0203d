export { createGrader, type Grader } from './grader.ts';
export { evaluationSentence, hintedPrompt, hintFor, requireEvaluationSentence, unhintedPrompt } from './hints.ts';
export { type LoadedProblem, type LoadedProblems, loadProblems, type RefusedProblem } from './importers/load.ts';
export { Judge, type JudgeOptions, type Submission } from './judge.ts';
export {
  type ChannelName,
  channelNames,
  isMarkedLoophole,
  type LoopholeName,
  loopholes,
  type MarkedLoophole,
  markedLoopholes,
  rewards,
} from './loopholes.ts';
export {
  type Marker,
  type MarkerPolicy,
  markerFamilies,
  markerFor,
  markerPolicies,
  markersFor,
  type ProblemMarkers,
  passReports,
} from './markers.ts';
export { loopholeOf, makePartition, type Partition, readPartition } from './partition.ts';
export { importPool, type PoolEntry } from './pools.ts';
export { budgetSeconds, type Message, type Problem, type TestCase } from './problem.ts';
export { type Response, readResponses } from './responses.ts';
export {
  type IsolationLevel,
  type LayerName,
  type LayerReport,
  layerCovers,
  layerNames,
  levelOf,
} from './sandbox/isolation.ts';
export { Sandbox, type SandboxOptions, type SandboxReport } from './sandbox/sandbox.ts';
export { checkProblems, type Soundness } from './soundness.ts';
export { type Outcome, outcomes, type Verdict, type VerdictSink } from './verdict.ts';
