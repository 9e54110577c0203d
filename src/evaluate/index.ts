/** Rates of a policy on fixed sets of prompts: the sets, the states, what is evaluated when, and where it is stored. */
export { type ComparedEvaluation, compareRuns } from './compare-runs.ts';
export { type CurveChoice, type CurvePoint, curvePrompts, writeCurve } from './curve.ts';
export { findDamage } from './damage.ts';
export { evaluateTasks, evaluationKey, evaluationSeed, rowsTogether } from './evaluate.ts';
export { curveNames, evaluateAll, finalNames, lastCheckpoint, statesOf } from './plan.ts';
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
  type Probe,
  type ProbedAll,
  type ProbedPolicy,
  type ProbeEvaluation,
  type ProbeName,
  type ProbeOutcomes,
  ProbeStore,
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
  type OutcomeRow,
} from './store.ts';
