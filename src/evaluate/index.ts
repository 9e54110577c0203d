export { type EvaluationRow, rowsTogether } from './evaluate.ts';
export { curveNames, evaluateAll, finalNames, lastCheckpoint } from './plan.ts';
export { formatRate, type Rate, rateOrNull, summarise } from './rates.ts';
export { RunEvaluator, scaleOf, statesOf } from './run-evaluator.ts';
export { type EvaluationSet, type FinalSet, finalSets, parseSet } from './sets.ts';
export { compareStates, pairRows } from './states.ts';
export { type Evaluation, type EvaluationState, EvaluationStore } from './store.ts';
