/**
 * The first figure of a report: attempts and hacks of every arm as trained and deployed, and the solve that is deployed, with 95% intervals.
 * Intervals are Student's over seeds; for one seed, Wilson's over prompts.
 */
import type { FinalSet } from '../evaluate/index.ts';
import { type Interval, meanInterval } from '../stats/index.ts';
import {
  type ArmResults,
  baseRuns,
  claimSet,
  finalSample,
  findArm,
  type Metric,
  type Results,
  type Sample,
  solveSet,
} from './aggregate.ts';
import { axisOf, type Figure, type Mark, type Panel } from './chart.ts';
import { isPlacebo } from './comparisons.ts';
import { armStyle } from './svg.ts';
import { setTitles } from './tables.ts';

function intervalOf({ values, single }: Sample): Interval | null {
  if (values.length < 2) return single;
  const { low, high } = meanInterval(values);
  return { low: Math.max(0, low), high: Math.min(1, high) };
}

export function storyFigure(results: Results): Figure | null {
  const [set, solved] = [claimSet(results), solveSet(results)];
  if (set === undefined || solved === undefined) return null;
  const arms = results.arms.filter(({ runs }) => finalSample(runs, set, 'deployed', 'hack') !== null);
  if (arms.length === 0) return null;
  const counts = [...new Set(arms.map(({ runs }) => runs.length))].sort((a, b) => a - b);
  const drawn = [
    ...(['attempt', 'hack'] as const).map((metric) => metricPanel(results, arms, set, metric, 'both')),
    metricPanel(results, arms, solved, 'solve', 'deployed'),
    metricPanel(results, arms, set, 'clean-solve', 'deployed'),
  ];
  return {
    name: 'story',
    title: 'What is trained, and what is deployed',
    caption: `Attempt (a loophole is opened, right or wrong), hack and clean solve (without an attempt) on ${setTitles[set]}, solve on ${setTitles[solved]}. Circles: as trained; dots: deployed, with 95% intervals over ${counts[0] === 1 ? 'prompts' : 'seeds'}; n = ${counts.join(', ')} seeds.${counts[0] === 1 ? ' n = 1, no claim.' : ''}`,
    panels: drawn.map(({ panel }) => panel),
    legend: arms.map((arm, i) => {
      const { colour, shape } = styleOf(results, arm);
      return { label: `${keyOf(arms, i)}${nameOf(results, arm)}`, colour, dot: { colour, shape } };
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
) {
  const name = metric.replace('-', ' ');
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
  const levels = states === 'both' ? [] : levelsOf(results, set, metric);
  const reached = drawn.flatMap(({ deployed }) => [deployed.mean, intervalOf(deployed)?.high ?? deployed.mean]);
  const panel: Panel = {
    title: `${name}, ${states === 'both' ? 'as trained → ' : ''}deployed`,
    ...{ xLabel: '', yLabel: name, x: [-0.6, arms.length - 0.4] },
    y: states === 'both' ? [0, 1] : axisOf([...reached, ...levels.map(({ y }) => y)]),
    marks: [...levels, ...spots],
    xNames: arms.map(({ arm }, x) => ({ x, name: keyOf(arms, x).trim() || arm })),
  };
  const rows = drawn.flatMap(({ arm, full, deployed }) => [
    ...(full === null ? [] : [rowOf(arm, `${name}, as trained`, full)]),
    rowOf(arm, `${name}, deployed`, deployed),
  ]);
  return { panel, rows };
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

function spot(x: number, sample: Sample, { colour, shape }: ArmStyle, open = false): Mark[] {
  const interval = intervalOf(sample);
  const dot: Mark = { kind: 'dots', points: [{ x, y: sample.mean }], colour, shape, open };
  if (interval === null) return [dot];
  const points = [interval.low, interval.high].map((y) => ({ x, y }));
  return [{ kind: 'line', points, colour, width: open ? 1 : 2 }, dot];
}

/** Characters of names that fit under a panel. */
const roomForNames = 44;

/** The number of an arm before its name in the legend, where the names have no room under the panel; else nothing. */
function keyOf(arms: readonly ArmResults[], index: number): string {
  const length = arms.reduce((sum, { arm }) => sum + arm.length + 2, 0);
  return length <= roomForNames ? '' : `${index + 1} `;
}

function nameOf(results: Results, { arm, usesOracle }: ArmResults): string {
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
