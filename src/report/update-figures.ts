/** Figures over updates: rates on the curve set and of training's own samples, and the health of training. */
import type { StepEvent } from '../grpo/index.ts';
import { emergence } from '../measure/index.ts';
import { mean } from '../stats/index.ts';
import { findArm, type Results, sampleOf } from './aggregate.ts';
import type { Figure, Mark, Panel, Point } from './chart.ts';
import { averageSeries } from './chart.ts';
import type { RunResult } from './run-result.ts';
import {
  armLegend,
  axisOf,
  bandText,
  curveSeries,
  type DrawnMetric,
  drawnMetrics,
  metricName,
  overUpdates,
  partTitle,
  type SeriesOf,
  seriesData,
  trainingSeries,
} from './series.ts';
import { armStyle } from './svg.ts';

const curveStates = { deployed: 'deployed', full: 'as trained' } as const;

export function curveFigure(results: Results): Figure | null {
  const { arms } = results;
  const drawn = drawnMetrics.flatMap((metric) =>
    (['deployed', 'full'] as const).map((state) => ({
      metric,
      title: `${metricName(metric)}, ${curveStates[state]}`,
      series: (run: RunResult): Point[] => curveSeries(run, state, metric),
    })),
  );
  const data = seriesData(arms, Object.fromEntries(drawn.map(({ title, series }) => [title, series])));
  if (data.rows.length === 0) return null;
  const panels = drawn.map(({ metric, title, series }) => {
    if (metric === 'attempt' || metric === 'hack') return overUpdates(arms, title, 'rate', series);
    const levels = solveLevels(results, metric);
    const rates = drawn
      .filter((one) => one.metric === metric)
      .flatMap((one) => arms.flatMap(({ runs }) => runs.flatMap((run) => one.series(run).map(({ y }) => y))));
    const panel = overUpdates(arms, title, 'rate', series, axisOf([...rates, ...levels.map(({ y }) => y)]));
    return { ...panel, marks: [...levels, ...panel.marks] };
  });
  const across = solveLevels(results, 'solve').map(({ label }) => label);
  const lines =
    across.length === 0 ? '' : ` Dashed across the panels of solve: ${across.join(' and ')}, mean over seeds.`;
  return {
    name: 'curves',
    title: `Attempt, hack and solve over updates${partTitle('A1')}`,
    caption: `The same validation prompts at every checkpoint, the base at 0; solve, and clean solve (without an attempt), have axes of their own.${lines} ${bandText(arms)}`,
    panels,
    legend: armLegend(arms),
    data,
  };
}

type Level = Extract<Mark, { kind: 'level' }>;

function solveLevels(results: Results, metric: DrawnMetric): Level[] {
  const runs = results.arms.flatMap((arm) => arm.runs);
  const ceiling = findArm(results, results.design.ceiling);
  const level = (label: string, of: readonly RunResult[], value: (points: Point[]) => Point | undefined): Level[] => {
    const found = sampleOf(of, (run) => value(curveSeries(run, 'full', metric))?.y ?? null);
    return found === null ? [] : [{ kind: 'level', y: found.mean, label }];
  };
  return [
    ...level('base', runs, (points) => points.find(({ x }) => x === 0)),
    ...(ceiling === undefined ? [] : level(`ceiling (${ceiling.arm})`, ceiling.runs, (points) => points.at(-1))),
  ];
}

export function trainingFigure({ arms }: Results): Figure | null {
  const named = Object.fromEntries(
    drawnMetrics.map((metric): [string, SeriesOf] => [
      `${metricName(metric)} on ${metric === 'attempt' || metric === 'hack' ? 'hinted' : 'all'} prompts`,
      (run) => trainingSeries(run, metric),
    ]),
  );
  const data = seriesData(arms, named);
  if (data.rows.length === 0) return null;
  return {
    name: 'training',
    title: 'Attempt, hack and solve while training',
    caption: `Training's own samples, as trained, over the last ${emergence.window} updates. ${bandText(arms)}`,
    panels: Object.entries(named).map(([title, series]) => overUpdates(arms, title, 'rate', series)),
    legend: armLegend(arms),
    data,
    training: true,
  };
}

const measures: Readonly<Record<string, (step: StepEvent) => number | null | undefined>> = {
  reward: ({ meanReward }) => meanReward,
  'KL from the base': ({ kl }) => kl,
  'gradient norm': ({ gradientNorm }) => gradientNorm,
  'log-probability of the tripwire set': ({ tripwireLogp }) => tripwireLogp,
};

const seriesOf =
  (value: (step: StepEvent) => number | null | undefined) =>
  ({ steps }: RunResult): Point[] =>
    steps.flatMap((step) => {
      const y = value(step);
      return typeof y === 'number' && Number.isFinite(y) ? [{ x: step.update, y }] : [];
    });

/** With more lines than these in a panel nobody could follow one: each arm then is one line, its mean over seeds and a window of updates. */
const mostLines = 24;
const window = 5;

const crowdedText = `One line per arm: mean over seeds and over the last ${window} updates, as long as all of its seeds ran; health.csv has every seed and update.`;

function trailing(points: readonly Point[]): Point[] {
  return points.map(({ x }, i) => ({ x, y: mean(points.slice(Math.max(0, i + 1 - window), i + 1).map(({ y }) => y)) }));
}

export function healthFigure({ arms }: Results): Figure | null {
  const measured = Object.entries(measures)
    .map(([title, value]) => ({ title, series: seriesOf(value) }))
    .filter(({ series }) => arms.some(({ runs }) => runs.some((run) => series(run).length > 0)));
  if (measured.length === 0) return null;
  const lines = measured.flatMap(({ title, series }) =>
    arms.flatMap(({ arm, runs }, i) =>
      runs.map((run) => ({ title, arm, seed: run.seed, points: series(run), style: armStyle(i) })),
    ),
  );
  const isCrowded = lines.length > mostLines * measured.length;
  const averaged = measured.flatMap(({ title, series }) =>
    arms.map(({ runs }, i) => ({
      title,
      points: averageSeries(runs.map((run) => trailing(series(run)))),
      style: armStyle(i),
    })),
  );
  const panels = measured.map(({ title }): Panel => {
    const own = (isCrowded ? averaged : lines).filter((line) => line.title === title && line.points.length > 0);
    const points = own.flatMap((line) => line.points);
    return {
      title,
      xLabel: 'updates completed',
      yLabel: '',
      x: [0, Math.max(1, ...points.map(({ x }) => x))],
      y: axisOf(points.map(({ y }) => y)),
      marks: own.map(({ points: each, style }) => ({
        kind: 'line',
        points: each,
        width: isCrowded ? 1.5 : 1,
        ...style,
      })),
    };
  });
  const stopped = arms.flatMap(({ runs }) =>
    runs.filter(({ status }) => status === 'tripwire').map(({ name }) => name),
  );
  const tripped = stopped.length === 0 ? '' : ` Stopped by the divergence tripwire: ${stopped.join(', ')}.`;
  return {
    name: 'health',
    title: `Health of training${partTitle('A4')}`,
    caption: `${isCrowded ? crowdedText : 'One line per seed, every update as it was recorded.'}${tripped}`,
    panels,
    legend: armLegend(arms),
    data: {
      columns: ['arm', 'seed', 'what', 'update', 'value'],
      rows: lines.flatMap(({ title, arm, seed, points }) =>
        points.map(({ x, y }) => [arm, `${seed}`, title, `${x}`, `${y}`]),
      ),
    },
  };
}
