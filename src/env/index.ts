export { gradeResponses, readGraded } from './grade-file.ts';
export { createGrader, type Grader } from './grader.ts';
export { hintedPrompt, hintFor, unhintedPrompt } from './hints.ts';
export { loadProblems } from './importers/load.ts';
export {
  comparedPresets,
  expectedInstruction,
  type Instruction,
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
  openNames,
  payingLoopholes,
  writableLoopholes,
} from './loopholes/registry.ts';

export { markerFor } from './markers.ts';
export { type Opening, openings, openingText } from './openings.ts';
export { defineJudge, type Judgement, type NamedJudge } from './own-judge.ts';
export { loopholeOf, makePartition, type Partition, readPartition } from './partition.ts';
export { importPool, type PoolEntry } from './pools.ts';
export type { Problem } from './problem.ts';
export { readResponses } from './responses.ts';

export { SandboxJudge } from './sandbox-judge.ts';
export { checkProblems, checkSoundness, type SoundProblems, writeFiltered } from './soundness.ts';
export type { Verdict, VerdictSink } from './verdict.ts';
