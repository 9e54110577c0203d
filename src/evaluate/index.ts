/** Rates of a policy on fixed sets of prompts: the sets, the states, what is evaluated when, and where it is stored. */

export { type CurveChoice, type CurvePoint, curvePrompts, writeCurve } from './curve.ts';
export { evaluateTasks, evaluationKey, evaluationSeed, rowsTogether } from './evaluate.ts';
export {
  type ComparedEvaluation,
  compareRuns,
  curveNames,
  evaluateAll,
  finalNames,
  lastCheckpoint,
  statesOf,
} from './plan.ts';
export {
  type PrefillPoint,
  parsePrefillSet,
  prefillNames,
  prefillPoints,
  prefillSets,
  writePrefillCurve,
} from './prefill.ts';
export {
  evaluateProbes,
  instructionProbe,
  type LeakProbe,
  leakProbes,
  openingProbe,
  type ProbedAll,
  type ProbedPolicy,
  parseProbedSet,
  probedSets,
} from './probe.ts';
export {
  compareStates,
  formatRate,
  type OutcomeRates,
  pairRows,
  type Rate,
  rateOrNull,
  type Summary,
  summarise,
} from './rates.ts';
export {
  type CurveSet,
  curveSets,
  type EvaluationSet,
  evaluationTasks,
  expectFilled,
  type FinalSet,
  finalSets,
  parseCurveSet,
  parseSet,
  splitOf,
} from './sets.ts';
export {
  type Evaluation,
  type EvaluationOutcomes,
  type EvaluationRow,
  EvaluationStore,
  findDamage,
  type OutcomeRow,
  type Probe,
  type ProbeEvaluation,
  type ProbeName,
  type ProbeOutcomes,
  ProbeStore,
} from './store.ts';
