/** Rates of a policy on fixed sets of prompts: the sets, the states, what is evaluated when, and where it is stored. */
export { type CurvePoint, writeCurve } from './curve-file.ts';
export { type CurveChoice, curvePrompts } from './curve-set.ts';
export { rowsTogether } from './evaluate.ts';
export { curveNames, evaluateAll, finalNames, lastCheckpoint } from './plan.ts';
export { formatRate, type Rate, rateOrNull, summarise } from './rates.ts';
export { RunEvaluator, statesOf } from './run-evaluator.ts';
export {
  type CurveSet,
  curveSets,
  type EvaluationSet,
  expectFilled,
  type FinalSet,
  finalSets,
  parseCurveSet,
  parseSet,
} from './sets.ts';
export { compareStates, pairRows } from './states.ts';
export { type Evaluation, type EvaluationRow, EvaluationStore } from './store.ts';
