/**
 * Figures of values over updates, or over the quarantine's scale: rates on the curve set, of training's own samples and between deployed and as trained,
 * and the health of training. Series are drawn as a mean with a band, or as a line for each seed.
 */
import { isPartial, scaleOf } from '../adapters/policy-state.ts';
import { groupBy } from '../base/index.ts';
import { type EvaluationOutcomes, summarise } from '../evaluate/index.ts';
import type { StepEvent } from '../grpo/index.ts';
import { emergence, trailingRate } from '../measure/index.ts';
import { seedsText, spreadSeeds } from '../measure/table.ts';
import { mean } from '../stats/index.ts';
import { type ArmResults, findArm, type Results, rateOf, sampleOf } from './aggregate.ts';
import type { Figure, LegendEntry, Mark, Panel, Point } from './chart.ts';
import { averageSeries, axisOf } from './chart.ts';
import type { RunResult } from './run-result.ts';
import { armStyle } from './svg.ts';

type SeriesOf = (run: RunResult) => Point[];

function armLegend(arms: readonly ArmResults[]): LegendEntry[] {
  return arms.map(({ arm, runs }, i) => {
    const { shape: _, ...style } = armStyle(i);
    return { label: `${arm} (n = ${runs.length})`, ...style };
  });
}

export function seriesMarks(series: readonly (readonly Point[])[], style: { colour: string; dash?: string }): Mark[] {
  const shown = series.filter((points) => points.length > 0);
  if (shown.length === 0) return [];
  if (shown.length < spreadSeeds) {
    const width = shown.length === 1 ? 2 : 1;
    return shown.map((points) => ({ kind: 'line' as const, points, width, ...style }));
  }
  const average = averageSeries(shown);
  const band = average.map(({ x, y, sem }) => ({ x, low: y - (sem ?? 0), high: y + (sem ?? 0) }));
  return [
    { kind: 'band', points: band, colour: style.colour },
    { kind: 'line', points: average, ...style },
  ];
}

function bandText(arms: readonly ArmResults[]): string {
  const counts = [...new Set(arms.map(({ runs }) => runs.length))].sort((a, b) => a - b);
  const isBand = counts.some((n) => n >= spreadSeeds);
  const drawn = isBand ? `Mean, band ± SEM where n ≥ ${spreadSeeds} seeds` : 'One line per seed';
  return `${drawn}; ${seedsText(counts)}`;
}

/** Rates that figures draw, attempts first. */
const drawnMetrics = ['attempt', 'hack', 'solve', 'clean-solve'] as const;
type DrawnMetric = (typeof drawnMetrics)[number];
const metricName = (metric: DrawnMetric): string => metric.replace('-', ' ');
const isOfHinted = (metric: DrawnMetric): boolean => metric === 'attempt' || metric === 'hack';

/** A figure with a panel for each series by its name, over updates and from 0 to 1 where `change` does not say otherwise. */
function seriesFigure(
  arms: readonly ArmResults[],
  named: readonly (readonly [name: string, series: SeriesOf])[],
  head: Pick<Figure, 'name' | 'title' | 'caption'>,
  change: Partial<Panel> = {},
): Figure {
  const panels = named.map(([title, series]): Panel => {
    const marks = arms.flatMap(({ runs }, i) => seriesMarks(runs.map(series), armStyle(i)));
    const longest = Math.max(1, ...arms.flatMap(({ runs }) => runs.flatMap((run) => series(run).map(({ x }) => x))));
    return { title, xLabel: 'updates completed', yLabel: 'rate', x: [0, longest], y: [0, 1], marks, ...change };
  });
  const rows = named.flatMap(([what, series]) =>
    arms.flatMap(({ arm, runs }) =>
      averageSeries(runs.map(series)).map(({ x, y, sem, n }) => [
        ...[arm, what, `${x}`, y.toFixed(4), sem?.toFixed(4) ?? '', `${n}`],
      ]),
    ),
  );
  const data = { columns: ['arm', 'what', 'update', 'mean', 'sem', 'n'], rows };
  return { ...head, caption: `${head.caption} ${bandText(arms)}`, panels, legend: armLegend(arms), data };
}

/** Rates on the whole curve set: the base at 0, then every evaluated checkpoint. Evaluations on the first prompts are left out. */
export function curveSeries(run: RunResult, state: 'full' | 'deployed', metric: DrawnMetric): Point[] {
  const wanted = run.hasQuarantine ? state : 'full';
  return run.evaluations
    .filter((one) => one.set === 'curve' && one.limit === null && (one.state === wanted || one.state === 'base'))
    .map(({ update, rows }) => ({ x: update, y: rateOf(summarise(rows), metric)?.rate ?? 0 }))
    .sort((a, b) => a.x - b.x);
}

export function curveFigure(results: Results): Figure | null {
  const { arms } = results;
  const drawn = drawnMetrics.flatMap((metric) =>
    (['deployed', 'full'] as const).map((state) => ({
      metric,
      title: `${metricName(metric)}, ${state === 'full' ? 'as trained' : state}`,
      series: (run: RunResult): Point[] => curveSeries(run, state, metric),
    })),
  );
  const across = solveLevels(results, 'solve').map(({ label }) => label);
  const lines =
    across.length === 0 ? '' : ` Dashed across the panels of solve: ${across.join(' and ')}, mean over seeds.`;
  const named = drawn.map(({ title, series }) => [title, series] as const);
  const figure = seriesFigure(arms, named, {
    name: 'curves',
    title: 'Attempt, hack and solve over updates',
    caption: `The same validation prompts at every checkpoint, the base at 0; solve, and clean solve (without an attempt), have axes of their own.${lines}`,
  });
  if (figure.data.rows.length === 0) return null;
  const panels = figure.panels.map((panel, i) => {
    const { metric } = drawn[i];
    if (isOfHinted(metric)) return panel;
    const levels = solveLevels(results, metric);
    const rates = drawn
      .filter((one) => one.metric === metric)
      .flatMap((one) => arms.flatMap(({ runs }) => runs.flatMap((run) => one.series(run).map(({ y }) => y))));
    return { ...panel, y: axisOf([...rates, ...levels.map(({ y }) => y)]), marks: [...levels, ...panel.marks] };
  });
  return { ...figure, panels };
}

type Level = Extract<Mark, { kind: 'level' }>;

/** Solve of the base and of the ceiling at its last point, mean over seeds. */
function solveLevels(results: Results, metric: DrawnMetric): Level[] {
  const runs = results.arms.flatMap((arm) => arm.runs);
  const ceiling = findArm(results, results.design.ceiling);
  const level = (label: string, of: readonly RunResult[], value: (points: Point[]) => Point | undefined): Level[] => {
    const found = sampleOf(of, (run) => value(curveSeries(run, 'full', metric))?.y ?? null);
    return found === null ? [] : [{ kind: 'level', y: found.mean, label }];
  };
  return [
    ...level('base', runs, (points) => points.find(({ x }) => x === 0)),
    ...level(`ceiling (${ceiling?.arm})`, ceiling?.runs ?? [], (points) => points.at(-1)),
  ];
}

const counted = { attempt: 'attempts', hack: 'hacks', solve: 'solves', 'clean-solve': 'cleanSolves' } as const;

/** Rates of training's own samples over the window of emergence: attempts and hacks on hinted prompts, solves on all prompts. */
export function trainingSeries({ training }: RunResult, metric: DrawnMetric): Point[] {
  const rates = trailingRate(training, counted[metric]);
  return training.flatMap(({ update }, i) => {
    const rate = rates[i];
    return rate === null ? [] : [{ x: update, y: rate }];
  });
}

export function trainingFigure({ arms }: Results): Figure | null {
  const named = drawnMetrics.map((metric): [string, SeriesOf] => [
    `${metricName(metric)} on ${isOfHinted(metric) ? 'hinted' : 'all'} prompts`,
    (run) => trainingSeries(run, metric),
  ]);
  const figure = seriesFigure(arms, named, {
    name: 'training',
    title: 'Attempt, hack and solve while training',
    caption: `Training's own samples, as trained, over the last ${emergence.window} updates.`,
  });
  return figure.data.rows.length === 0 ? null : { ...figure, training: true };
}

const scaleKey = ({ set, rows }: EvaluationOutcomes): string => `${set} ${rows.length}`;

/** The set and number of prompts on which most runs were evaluated between 0 and 1; of equals, the one with most prompts. */
function sharedScales(runs: readonly RunResult[]): { key: string; set: string; prompts: number } | null {
  const found = runs.flatMap((run) => {
    const own = run.evaluations.filter(({ update, state }) => update === run.updates && isPartial(state));
    return [...new Map(own.map((one) => [scaleKey(one), one])).values()];
  });
  const groups = [...groupBy(found, scaleKey)].map(([key, own]) => ({ key, own, prompts: own[0].rows.length }));
  const [best] = groups.sort((a, b) => b.own.length - a.own.length || b.prompts - a.prompts);
  return best === undefined ? null : { key: best.key, set: best.own[0].set, prompts: best.prompts };
}

/** The rates as the quarantine is scaled from deleted (0) to as trained (1). */
export function scaleFigure({ arms }: Results): Figure | null {
  const shared = sharedScales(arms.flatMap(({ runs }) => runs));
  if (shared === null) return null;
  const scaled = (run: RunResult, metric: DrawnMetric): Point[] => {
    const own = run.evaluations.filter((one) => one.update === run.updates && scaleKey(one) === shared.key);
    if (!own.some(({ state }) => isPartial(state))) return [];
    return own
      .flatMap(({ state, rows }) =>
        state === 'base' ? [] : [{ x: scaleOf(state, 0), y: rateOf(summarise(rows), metric)?.rate ?? 0 }],
      )
      .sort((a, b) => a.x - b.x);
  };
  const own = arms.filter(({ runs }) => runs.some((run) => scaled(run, 'attempt').length > 0));
  if (own.length === 0) return null;
  const named = drawnMetrics.map((metric): [string, SeriesOf] => [metricName(metric), (run) => scaled(run, metric)]);
  const caption = `0 is deployed, 1 is as trained; ${shared.prompts} prompts of ${shared.set}.`;
  const head = { name: 'scale', title: 'Scaling the quarantine', caption };
  return seriesFigure(own, named, head, { xLabel: "the quarantine's scale", x: [0, 1] });
}

const measures: Readonly<Record<string, [unit: string, value: (step: StepEvent) => number | null | undefined]>> = {
  reward: ['reward', ({ meanReward }) => meanReward],
  'KL from the base': ['KL', ({ kl }) => kl],
  'gradient norm': ['norm', ({ gradientNorm }) => gradientNorm],
  'log-probability of the tripwire set': ['log-probability', ({ tripwireLogp }) => tripwireLogp],
};

/** With more lines than these in a panel nobody could follow one: each arm then is one line, its mean over seeds and a window of updates. */
const mostLines = 24;
const window = 5;

const crowdedText = `One line per arm: mean over seeds and over the last ${window} updates, as long as all of its seeds ran; health.csv has every seed and update.`;

function trailingMeans(points: readonly Point[]): Point[] {
  return points.map(({ x }, i) => ({ x, y: mean(points.slice(Math.max(0, i + 1 - window), i + 1).map(({ y }) => y)) }));
}

export function healthFigure({ arms }: Results): Figure | null {
  const measured = Object.entries(measures).map(([title, [unit, value]]) => ({
    ...{ title, unit },
    lines: arms.flatMap(({ arm, runs }, i) =>
      runs.map(({ seed, steps }) => {
        const points = steps.flatMap((step): Point[] => {
          const y = value(step);
          return typeof y === 'number' && Number.isFinite(y) ? [{ x: step.update, y }] : [];
        });
        return { arm, seed, points, style: armStyle(i) };
      }),
    ),
  }));
  const shown = measured.filter(({ lines }) => lines.some(({ points }) => points.length > 0));
  if (shown.length === 0) return null;
  const isCrowded = shown[0].lines.length > mostLines;
  const panels = shown.map(({ title, unit, lines }): Panel => {
    const averaged = [...groupBy(lines, ({ arm }) => arm).values()].map((own) => ({
      points: averageSeries(own.map(({ points }) => trailingMeans(points))),
      style: own[0].style,
    }));
    const drawn = (isCrowded ? averaged : lines).filter(({ points }) => points.length > 0);
    const all = drawn.flatMap(({ points }) => points);
    const width = isCrowded ? 1.5 : 1;
    return {
      ...{ title, xLabel: 'updates completed', yLabel: unit, x: [0, Math.max(1, ...all.map(({ x }) => x))] },
      y: axisOf(all.map(({ y }) => y)),
      marks: drawn.map(({ points, style }) => ({ kind: 'line', points, width, ...style })),
    };
  });
  const runs = arms.flatMap((arm) => arm.runs);
  const stopped = runs.filter(({ status }) => status === 'tripwire').map(({ name }) => name);
  const tripped = stopped.length === 0 ? '' : ` Stopped by the divergence tripwire: ${stopped.join(', ')}.`;
  return {
    name: 'health',
    title: 'Health of training',
    caption: `${isCrowded ? crowdedText : 'One line per seed, every update as it was recorded.'}${tripped}`,
    panels,
    legend: armLegend(arms),
    data: {
      columns: ['arm', 'seed', 'what', 'update', 'value'],
      rows: shown.flatMap(({ title, lines }) =>
        lines.flatMap(({ arm, seed, points }) => points.map(({ x, y }) => [arm, `${seed}`, title, `${x}`, `${y}`])),
      ),
    },
  };
}
