/** Rates of a policy on fixed sets of prompts: the sets, the states, what is evaluated when, and where it is stored. */
export { type ComparedEvaluation, compareRuns } from './compare-runs.ts';
export { type CurvePoint, writeCurve } from './curve-file.ts';
export { type CurveChoice, curvePrompts } from './curve-set.ts';
export { findDamage } from './damage.ts';
export { evaluateTasks, rowsTogether } from './evaluate.ts';
export { evaluationKey, evaluationSeed } from './evaluation-key.ts';
export { curveNames, evaluateAll, finalNames, lastCheckpoint } from './plan.ts';
export {
  type PrefillPoint,
  parsePrefillSet,
  prefillNames,
  prefillPoints,
  prefillSets,
  writePrefillCurve,
} from './prefill.ts';
export {
  instructionProbe,
  type LeakProbe,
  leakProbes,
  openingProbe,
  type Probe,
  parseProbedSet,
  probedSets,
} from './probe.ts';
export { type ProbeEvaluation, type ProbeName, type ProbeOutcomes, ProbeStore } from './probe-store.ts';
export { evaluateProbes, type ProbedAll, type ProbedPolicy } from './probing.ts';
export { formatRate, type OutcomeRates, type Rate, rateOrNull, type Summary, summarise } from './rates.ts';
export { RunEvaluator, statesOf } from './run-evaluator.ts';
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
export { compareStates, pairRows } from './states.ts';
export {
  type Evaluation,
  type EvaluationOutcomes,
  type EvaluationRow,
  EvaluationStore,
  type OutcomeRow,
} from './store.ts';
