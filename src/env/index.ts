export { createGrader, type Grader } from './grader.ts';
export { evaluationSentence, hintedPrompt, hintFor, requireEvaluationSentence, unhintedPrompt } from './hints.ts';
export { type LoadedProblem, type LoadedProblems, loadProblems, type RefusedProblem } from './importers/load.ts';
export {
  comparedPresets,
  expectedInstruction,
  type Instruction,
  type InstructionPreset,
  instruct,
  instructionLabel,
  instructionPresets,
  leakPresets,
  type Place,
  places,
  readablePresets,
  readInstruction,
} from './instructions.ts';
export type { Judge, Submission } from './judge.ts';
export { defineLoophole } from './loopholes/define.ts';
export {
  type ExploitParts,
  type Loophole,
  type LoopholeName,
  type MarkedLoophole,
  type Marker,
  type MarkerLists,
  type MarkerPolicy,
  markerPolicies,
  type Observation,
  type PayingLoophole,
  type WritableLoophole,
} from './loopholes/loophole.ts';
export {
  builtinLoopholes,
  findLoophole,
  markedLoopholes,
  namesOf,
  openLoopholes,
  openNames,
  payingLoopholes,
  writableLoopholes,
} from './loopholes/registry.ts';
export { passReports } from './loopholes/words.ts';
export { markerFor, markersFor, type ProblemMarkers } from './markers.ts';
export { type OpenedProblem, type Opening, openings, openingText } from './openings.ts';
export { defineJudge, type Judgement, type JudgeSource, type NamedJudge } from './own-judge.ts';
export { loopholeOf, makePartition, type Partition, type PartitionOptions, readPartition } from './partition.ts';
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
export { SandboxJudge, type SandboxJudgeOptions } from './sandbox-judge.ts';
export { checkProblems, checkSoundness, type Soundness, type SoundProblems } from './soundness.ts';
export { type Outcome, outcomes, rewards, type Verdict, type VerdictSink } from './verdict.ts';
