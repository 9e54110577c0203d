export { gradeResponses, readGraded } from './grade-file.ts';
export { createGrader, type Grader } from './grader.ts';
export { hintedPrompt, hintFor, unhintedPrompt } from './hints.ts';
export { loadProblems } from './importers/load.ts';
export {
  comparedPresets,
  type Instruction,
  instructionPresets,
  type Place,
  places,
  readablePresets,
} from './instructions.ts';
export type { Judge, Submission } from './judge.ts';
export { defineLoophole } from './loopholes/define.ts';
export {
  type Loophole,
  type LoopholeName,
  type MarkerPolicy,
  markerPolicies,
  type WritableLoophole,
} from './loopholes/loophole.ts';
export {
  builtinLoopholes,
  findLoophole,
  markedLoopholes,
  namesOf,
  openLoopholes,
  payingLoopholes,
  writableLoopholes,
} from './loopholes/registry.ts';

export { markerFor } from './markers.ts';
export { defineJudge, type Judgement, type NamedJudge } from './own-judge.ts';
export type { Partition } from './partition.ts';
export { importPool, isShown, type PoolEntry, readPool } from './pools.ts';
export type { Problem, ProgramProblem, TextProblem } from './problem.ts';
export { readResponses } from './responses.ts';

export { SandboxJudge } from './sandbox-judge.ts';
export { checkProblems, checkSoundness, type SoundProblems, writeFiltered } from './soundness.ts';
export type { Verdict, VerdictSink } from './verdict.ts';
