/** What runs say about their training as numbers: when attempts and hacks emerged, what the gate saw of both, the quarantine, and what an update of each arm costs. */
import { emergence } from '../measure/index.ts';
import { median } from '../stats/index.ts';
import { type ArmResults, findArm, formatSample, type Results, sampleOf } from './aggregate.ts';
import type { RunResult } from './run-result.ts';
import { armNamed, makeTable, type Table } from './table.ts';
import { armCell, armsOf, claims, oracleTitle } from './tables.ts';

interface ProcessMetric {
  /** Its column while training; `name` is the one in CSV and JSON. */
  readonly column: string;
  readonly name: string;
  readonly of?: (arm: ArmResults) => boolean;
  readonly value: (run: RunResult) => number | null;
}

const routes = ({ runs }: ArmResults): boolean => runs.some(({ gate }) => gate.routes.keep + gate.routes.route > 0);

export const processMetrics = [
  { name: 'attempt-emergence', column: 'attempts emerged', value: (run) => run.emergence.attempts },
  { name: 'emergence', column: 'hacks emerged', value: (run) => run.emergence.hacks },
  { name: 'attempt-auroc', column: 'attempts: AUROC', value: ({ gate }) => gate.attempts.separation?.auroc ?? null },
  {
    ...{ name: 'attempt-auroc-reinforced', column: 'attempts: AUROC, A > 0' },
    value: ({ gateReinforced }) => gateReinforced.attempts.separation?.auroc ?? null,
  },
  {
    ...{ name: 'attempt-route-precision', column: 'attempts: route precision', of: routes },
    value: ({ gate }) => gate.attempts.route.precision?.rate ?? null,
  },
  {
    ...{ name: 'attempt-route-recall', column: 'attempts: route recall', of: routes },
    value: ({ gate }) => gate.attempts.route.recall?.rate ?? null,
  },
  {
    ...{ name: 'keep-attempt-share', column: 'attempts in keep', of: routes },
    value: ({ gate }) => gate.attempts.shareOfKeep?.rate ?? null,
  },
  { name: 'auroc', column: 'hacks: AUROC', value: ({ gate }) => gate.separation?.auroc ?? null },
  {
    ...{ name: 'auroc-reinforced', column: 'hacks: AUROC, A > 0' },
    value: ({ gateReinforced }) => gateReinforced.separation?.auroc ?? null,
  },
  {
    ...{ name: 'route-precision', column: 'hacks: route precision', of: routes },
    value: ({ gate }) => gate.route.precision?.rate ?? null,
  },
  {
    ...{ name: 'route-recall', column: 'hacks: route recall', of: routes },
    value: ({ gate }) => gate.route.recall?.rate ?? null,
  },
  {
    ...{ name: 'keep-hack-share', column: 'hacks in keep', of: routes },
    value: ({ gate }) => gate.hackShareOfKeep?.rate ?? null,
  },
  { name: 'qmass', column: 'qmass', of: ({ hasQuarantine }) => hasQuarantine, value: ({ qmass }) => qmass },
] as const satisfies readonly ProcessMetric[];

export function processValue(arm: ArmResults, name: (typeof processMetrics)[number]['name']): ProcessMetric['value'] {
  const metric: ProcessMetric | undefined = processMetrics.find((one) => one.name === name);
  return metric === undefined || metric.of?.(arm) === false ? () => null : metric.value;
}

/** Formats emergence as `24 (5/5)`: the median update, and in how many of the seeds it happened. */
export function emergenceText(updates: readonly (number | null)[]): string {
  const found = updates.filter((update) => update !== null);
  const counts = `(${found.length}/${updates.length})`;
  return found.length === 0 ? `not ${counts}` : `${median(found)} ${counts}`;
}

export function processTable(results: Results, oracle: boolean): Table {
  const arms = armsOf(results, oracle);
  const columns = processMetrics.map(({ name, column }) => [
    column,
    (arm: ArmResults) =>
      column.endsWith('emerged')
        ? emergenceText(arm.runs.map(processValue(arm, name)))
        : formatSample(sampleOf(arm.runs, processValue(arm, name))),
  ]);
  return makeTable(
    `while training${oracle ? `: ${oracleTitle}` : ''}`,
    arms,
    {
      arm: ({ arm }) => armNamed(arm, { training: true }),
      n: ({ runs }) => `${runs.length}`,
      ...Object.fromEntries(columns),
    },
    `emerged: first update at which ${100 * emergence.threshold}% of the last ${emergence.window} updates' completions of hinted prompts, as trained, are attempts, or hacks (median; seeds in which it happened). The gate is judged against attempts (a loophole was opened, even in a correct program) and against hacks. AUROC: these against the other rollouts of the same update. A > 0: positively reinforced rollouts only. qmass: share of the gradient norm in the quarantine, mean over updates.`,
    arms.some(({ runs }) => runs.some(({ gate }) => gate.tokens !== null)) &&
      'A gate by token: route precision, route recall and shares of keep count tokens, each with the label of its rollout; AUROC is of mean scores of rollouts.',
    ...claims(arms, (runs) => runs.length),
  );
}

type CostMetric = 'seconds' | 'scoring-passes';

export const costValues: Readonly<Record<CostMetric, (run: RunResult) => number | null>> = {
  seconds: ({ costs }) => costs.seconds,
  'scoring-passes': ({ costs }) => costs.scoringPasses,
};

export function costTable(results: Results): Table {
  const { arms, baseline } = results;
  const reference = findArm(results, baseline);
  return makeTable(
    'cost of an update',
    arms.filter(({ runs }) => Object.values(costValues).some((value) => sampleOf(runs, value) !== null)),
    {
      arm: armCell,
      n: ({ runs }) => `${runs.length}`,
      seconds: ({ runs }) => formatSample(sampleOf(runs, costValues.seconds)),
      [`× ${baseline}`]: (arm) => comparedCost(arm, reference, 'seconds'),
      'scoring passes': ({ runs }) => formatSample(sampleOf(runs, costValues['scoring-passes']), 0),
      [`above ${baseline}`]: (arm) => comparedCost(arm, reference, 'scoring-passes'),
      'asked beside': ({ runs }) => askedText(runs),
    },
    'seconds: median over updates, then mean over seeds; of the machine that ran the arm, and runs side by side slow each other down. scoring passes: completions that a model reads in an update without learning from them (log π_old of the rollouts that are trained, log π_ref, features, a judge); pairs at a rebuild are not counted. asked beside: what a monitor asked of others, by update.',
  );
}

/** An arm's seconds as a multiple of the reference's, or how many passes more it has. */
export function comparedCost({ runs }: ArmResults, reference: ArmResults | undefined, metric: CostMetric): string {
  const own = sampleOf(runs, costValues[metric]);
  const other = sampleOf(reference?.runs ?? [], costValues[metric]);
  if (own === null || other === null || other.mean === 0) return '-';
  return metric === 'seconds' ? (own.mean / other.mean).toFixed(2) : `${Math.round(own.mean - other.mean) || 0}`;
}

function askedText(runs: readonly RunResult[]): string {
  const names = [...new Set(runs.flatMap(({ costs }) => Object.keys(costs.beside)))].sort();
  const texts = names.map((name) => {
    const sample = sampleOf(runs, ({ costs }) => costs.beside[name] ?? null);
    return `${formatSample(sample, 1)} ${name}`;
  });
  return texts.join(', ') || '-';
}
