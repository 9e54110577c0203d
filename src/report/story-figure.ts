/**
 * Figures of what arms leave. The first of a report: attempts and hacks of every arm as trained and deployed, and the solve that is deployed, with 95% intervals
 * (Student's over seeds; for one seed, Wilson's over prompts). What a gate leaks: the deployed attempts and hacks of gates on labels that miss some,
 * against their recall, and those of every gate and monitor against how well its scores told attempts from other rollouts while it trained (a dose and
 * its response: a random direction is right by accident, or not).
 */
import type { FinalSet } from '../evaluate/index.ts';
import { fewestSeeds, seedsText, spreadSeeds } from '../measure/table.ts';
import { type Interval, mean, meanInterval, standardDeviation, within } from '../stats/index.ts';
import type { ArmResults, Metric, Results, Sample } from './aggregate.ts';
import { baseRuns, claimSet, evaluatedSeeds, finalSample, findArm, solveSet } from './aggregate.ts';
import type { Figure, Mark, Panel, Point } from './chart.ts';
import { isPlacebo } from './comparisons.ts';
import { soundSolve } from './found.ts';
import type { RunResult } from './run-result.ts';
import { armStyle } from './svg.ts';
import { setTitles } from './tables.ts';

/** Few seeds that do not differ: Student's interval would be a point, as if nothing could come out otherwise. */
const isFlat = ({ values }: Sample): boolean =>
  values.length > 1 && values.length < fewestSeeds && values.every((value) => value === values[0]);

function intervalOf(sample: Sample): Interval | null {
  const { values, single } = sample;
  return values.length < 2 || isFlat(sample) ? single : within(0, 1, meanInterval(values));
}

export function storyFigure(results: Results): Figure | null {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined) return null;
  const arms = results.arms.filter(({ runs }) => finalSample(runs, set, 'deployed', 'hack') !== null);
  if (arms.length === 0) return null;
  const counts = [...new Set(arms.map(({ runs }) => evaluatedSeeds(runs, set)))].sort((a, b) => a - b);
  const isOne = solved === set;
  const drawn = [
    ...(['attempt', 'hack'] as const).map((metric) => metricPanel(results, arms, set, metric, 'both')),
    metricPanel(results, arms, solved, 'solve', 'deployed', isOne ? 'solve' : soundSolve),
    metricPanel(results, arms, set, 'clean-solve', 'deployed'),
  ];
  return {
    name: 'story',
    title: 'What is trained, and what is deployed',
    caption: `Attempt (a loophole is opened, right or wrong), hack${isOne ? ', solve' : ''} and clean solve (without an attempt) on ${setTitles[set]}${isOne ? '' : `; solve on other prompts (${setTitles[solved]}), so that it may be below clean solve`}. Circles: as trained; dots: deployed, with 95% intervals over ${counts[0] === 1 ? 'prompts' : 'seeds'}${drawn.some(({ hasFlat }) => hasFlat) ? ', or n where so few are all alike' : ''}; ${seedsText(counts)}`,
    panels: drawn.map(({ panel }) => panel),
    legend: arms.map((arm, i) => {
      const { colour, shape } = styleOf(results, arm);
      return { label: `${keyOf(arms, i)}${armTitle(results, arm)}`, colour, dot: { colour, shape } };
    }),
    ...(arms.length > mostBeside ? { columns: 1, panelSize: { width: 760, height: 220 } } : {}),
    data: { columns: ['arm', 'what', 'mean', 'low', 'high', 'n'], rows: drawn.flatMap(({ rows }) => rows) },
  };
}

/** With more arms than these, the panels stand one above the other. */
const mostBeside = 12;

/** A metric of every arm, as trained and deployed where `states` is both; deployed alone, it has the base and the ceiling across. */
function metricPanel(
  results: Results,
  arms: readonly ArmResults[],
  set: FinalSet,
  metric: 'attempt' | 'hack' | 'solve' | 'clean-solve',
  states: 'both' | 'deployed',
  name = metric.replace('-', ' '),
) {
  const drawn = arms.flatMap((arm, x) => {
    const full = states === 'both' && arm.hasQuarantine ? finalSample(arm.runs, set, 'full', metric) : null;
    const deployed = finalSample(arm.runs, set, 'deployed', metric);
    return deployed === null ? [] : [{ arm, x, full, deployed, style: styleOf(results, arm) }];
  });
  const spots = drawn.flatMap(({ x, full, deployed, style }): Mark[] => {
    if (full === null) return spot(x, deployed, style);
    const [from, to] = [x - 0.2, x + 0.2];
    const points = [{ x: from, y: full.mean }, { x: to, y: deployed.mean }]; // biome-ignore format: one line
    const way: Mark = { kind: 'line', points, colour: style.colour, width: 1, dash: '3 2' };
    return [way, ...spot(from, full, style, true), ...spot(to, deployed, style)];
  });
  const flat = drawn.flatMap(({ x, full, deployed }) => [
    ...(full !== null && isFlat(full) ? [nBeside(x - 0.2, full)] : []),
    ...(isFlat(deployed) ? [nBeside(full === null ? x : x + 0.2, deployed)] : []),
  ]);
  const levels = states === 'both' ? [] : levelsOf(results, set, metric);
  const panel: Panel = {
    title: `${name}, ${states === 'both' ? 'as trained → ' : ''}deployed`,
    ...{ xLabel: '', yLabel: name, x: [-0.6, arms.length - 0.4], y: [0, 1] },
    marks: [...levels, ...spots, ...(flat.length === 0 ? [] : [{ kind: 'labels' as const, points: flat }])],
    xNames: arms.map(({ arm }, x) => ({ x, name: keyOf(arms, x).trim() || arm })),
  };
  const rows = drawn.flatMap(({ arm, full, deployed }) => [
    ...(full === null ? [] : [rowOf(arm, `${name}, as trained`, full)]),
    rowOf(arm, `${name}, deployed`, deployed),
  ]);
  return { panel, rows, hasFlat: flat.length > 0 };
}

/** The base, and the ceiling as trained. */
function levelsOf(results: Results, set: FinalSet, metric: Metric): (Mark & { kind: 'level' })[] {
  const { ceiling } = results.design;
  const ends = [
    { label: 'base', sample: finalSample(baseRuns(results, set)[0]?.runs ?? [], set, 'base', metric) },
    { label: `${ceiling}`, sample: finalSample(findArm(results, ceiling)?.runs ?? [], set, 'full', metric) },
  ];
  return ends.flatMap(({ label, sample }) => (sample === null ? [] : [{ kind: 'level', y: sample.mean, label }]));
}

/** A little above the axis, below which there is no room for it. */
const nBeside = (x: number, { mean: y, n }: Sample) => ({ x, y: Math.max(y, 0.01), text: `n = ${n}` });

function spot(x: number, sample: Sample, { colour, shape }: ArmStyle, open = false): Mark[] {
  const interval = intervalOf(sample);
  const dot: Mark = { kind: 'dots', points: [{ x, y: sample.mean }], colour, shape, open };
  if (interval === null) return [dot];
  const points = [interval.low, interval.high].map((y) => ({ x, y }));
  return [{ kind: 'line', points, colour, width: open ? 1 : 2 }, dot];
}

/** Characters of names that fit under a panel, in the largest text that a page draws it with. */
const roomForNames = 36;

/** The number of an arm before its name in the legend, where the names have no room under the panel; else nothing. */
function keyOf(arms: readonly ArmResults[], index: number): string {
  const length = arms.reduce((sum, { arm }) => sum + arm.length + 2, 0);
  return length <= roomForNames ? '' : `${index + 1} `;
}

export function armTitle(results: Results, { arm, usesOracle }: ArmResults): string {
  return `${arm}${isPlacebo(results, arm) ? ' (placebo)' : ''}${usesOracle ? ' (uses labels)' : ''}`;
}

type ArmStyle = ReturnType<typeof armStyle>;

function styleOf({ arms }: Results, { arm }: ArmResults): ArmStyle {
  return armStyle(arms.findIndex((other) => other.arm === arm));
}

function rowOf({ arm }: ArmResults, what: string, sample: Sample): string[] {
  const interval = intervalOf(sample);
  const number = (value: number | undefined): string => (value === undefined ? '' : value.toFixed(4));
  return [arm, what, number(sample.mean), number(interval?.low), number(interval?.high), `${sample.n}`];
}

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
    caption: `Gates on labels, ${setTitles[set]}. Line: mean; circles: seeds; band: ± SEM where n ≥ ${spreadSeeds}; n = ${counts}.`,
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
    ...(points.every(({ sample }) => sample.n >= spreadSeeds) ? [{ kind: 'band' as const, points: band, colour }] : []),
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
    caption: `${setTitles[set]}; a point per run. AUROC: attempts against the other rollouts of the same update, by the scores while training: of the gate on those that carried gradient, or, where it has none, of the monitor on all; 0.5 is chance. Hollow points use labels.${related}`,
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
