/**
 * What a gate leaks: the deployed attempts and hacks of gates on labels that miss some, against their recall, and those of every gate and monitor against
 * how well its scores told attempts from other rollouts while it trained (a dose and its response: a random direction is right by accident, or not).
 */
import type { FinalSet } from '../evaluate/index.ts';
import { mean, standardDeviation } from '../stats/index.ts';
import { claimSet, finalSample, findArm, type Results, type Sample } from './aggregate.ts';
import type { Figure, Mark, Panel, Point } from './chart.ts';
import { bandSeeds } from './chart.ts';
import type { RunResult } from './run-result.ts';
import { armStyle } from './svg.ts';
import { setTitles } from './tables.ts';

const leaks = ['attempt', 'hack'] as const;
type Leak = (typeof leaks)[number];

export function leakageFigure(results: Results): Figure | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const pointsOf = (leak: Leak) =>
    results.arms
      .flatMap(({ arm, runs }) => {
        const recall = recallOf(runs[0].config.arm);
        const sample = finalSample(runs, set, 'deployed', leak);
        return recall === null || sample === null ? [] : [{ arm, recall, sample }];
      })
      .sort((a, b) => a.recall - b.recall);
  const drawn = leaks.map((leak) => ({ leak, points: pointsOf(leak) }));
  const [{ points: first }] = drawn;
  if (new Set(first.map(({ recall }) => recall)).size < 2) return null;
  const counts = [...new Set(first.map(({ sample }) => sample.n))].sort((a, b) => a - b).join(', ');
  return {
    name: 'leakage',
    title: 'Leakage over the recall of the labels',
    caption: `Gates on labels, ${setTitles[set]}. Line: mean; circles: seeds; band: ± SEM where n ≥ ${bandSeeds}; n = ${counts}.`,
    panels: drawn.map(({ leak, points }) =>
      leakPanel('share of what labels mark that is routed', leak, [
        ...baselineLevel(results, set, leak),
        ...recallMarks(points),
      ]),
    ),
    legend: [],
    data: {
      columns: ['arm', 'what', 'recall', 'mean', 'sem', 'n'],
      rows: drawn.flatMap(({ leak, points }) =>
        points.map(({ arm, recall, sample: { mean: value, sem, n } }) => [
          ...[arm, `${leak}, deployed`, `${recall}`, value.toFixed(4), sem?.toFixed(4) ?? '', `${n}`],
        ]),
      ),
    },
  };
}

function baselineLevel(results: Results, set: FinalSet, leak: Leak): Mark[] {
  const sample = finalSample(findArm(results, results.baseline)?.runs ?? [], set, 'deployed', leak);
  return sample === null ? [] : [{ kind: 'level', y: sample.mean, label: results.baseline }];
}

const leakPanel = (xLabel: string, leak: Leak, marks: readonly Mark[]): Panel => ({
  ...{ title: `${leak}, deployed`, xLabel, yLabel: leak, marks },
  ...{ x: [0, 1] as const, y: [0, 1] as const },
});

function recallMarks(points: readonly { readonly recall: number; readonly sample: Sample }[]): Mark[] {
  const { colour } = armStyle(0);
  const band = points.map(({ recall, sample: { mean: value, sem } }) => ({
    ...{ x: recall, low: value - (sem ?? 0), high: value + (sem ?? 0) },
  }));
  return [
    ...(points.every(({ sample }) => sample.n >= bandSeeds) ? [{ kind: 'band' as const, points: band, colour }] : []),
    { kind: 'line', points: points.map(({ recall, sample }) => ({ x: recall, y: sample.mean })), colour },
    {
      kind: 'dots',
      points: points.flatMap(({ recall, sample }) => sample.values.map((y) => ({ x: recall, y }))),
      colour,
      open: true,
    },
  ];
}

/** The recall of a gate on labels without false alarms; null for all other arms. */
function recallOf(arm: Readonly<Record<string, unknown>>): number | null {
  const { kind, recall, falsePositiveRate } = arm;
  return kind === 'oracle' && typeof recall === 'number' && falsePositiveRate === 0 ? recall : null;
}

const attemptAuroc = ({ gate, monitor }: RunResult): number | null =>
  (gate.attempts.separation ?? monitor?.attempts.separation)?.auroc ?? null;

export function doseFigure(results: Results): Figure | null {
  const set = claimSet(results);
  if (set === undefined) return null;
  const arms = results.arms.flatMap((arm, i) => {
    const points = arm.runs.flatMap((run) => {
      const auroc = attemptAuroc(run);
      const rates = leaks.flatMap((leak) => finalSample([run], set, 'deployed', leak)?.mean ?? []);
      return auroc === null || rates.length < leaks.length ? [] : [{ seed: run.seed, auroc, rates }];
    });
    return points.length === 0 ? [] : [{ ...arm, points, dot: { ...armStyle(i), open: arm.usesOracle } }];
  });
  const points = arms.flatMap((arm) => arm.points);
  if (new Set(points.map(({ auroc }) => auroc)).size < 2) return null;
  const at = (i: number) => points.map(({ auroc, rates }) => ({ x: auroc, y: rates[i] }));
  const correlations = leaks.flatMap((leak, i) => {
    const r = correlation(at(i));
    return r === null ? [] : [`${leak} r = ${r.toFixed(2).replace('-', '−')}`];
  });
  const related = correlations.length === 0 ? '' : ` Over all ${points.length} runs: ${correlations.join(', ')}.`;
  return {
    name: 'dose',
    title: 'What is deployed, over how well the gate saw attempts',
    caption: `${setTitles[set]}; a point per run. AUROC: attempts against the other rollouts of the same update, by the scores of the gate or the monitor while training; 0.5 is chance. Hollow points use labels.${related}`,
    panels: leaks.map((leak, i) =>
      leakPanel('AUROC against attempts', leak, [
        ...baselineLevel(results, set, leak),
        ...arms.map(
          (arm): Mark => ({
            ...{ kind: 'dots', ...arm.dot },
            points: arm.points.map(({ auroc, rates }) => ({ x: auroc, y: rates[i] })),
          }),
        ),
      ]),
    ),
    legend: arms.map(({ arm, dot, points: own }) => ({
      ...{ label: `${arm} (n = ${own.length})`, colour: dot.colour, dot },
    })),
    data: {
      columns: ['arm', 'seed', 'attempts: AUROC', 'attempt, deployed', 'hack, deployed'],
      rows: arms.flatMap(({ arm, points: own }) =>
        own.map(({ seed, auroc, rates }) => [arm, `${seed}`, ...[auroc, ...rates].map((value) => value.toFixed(4))]),
      ),
    },
  };
}

/** Pearson's; null with fewer than three points, or where one side has no spread. */
function correlation(points: readonly Point[]): number | null {
  if (points.length < 3) return null;
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const spread = standardDeviation(xs) * standardDeviation(ys);
  const products = xs.map((x, i) => (x - mean(xs)) * (ys[i] - mean(ys)));
  return spread === 0 ? null : products.reduce((sum, one) => sum + one, 0) / (points.length - 1) / spread;
}
