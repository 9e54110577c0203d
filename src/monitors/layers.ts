/**
 * Probes that read one layer each, beside the one that reads all modules together. `mean`: the mean probability of the layers whose probe
 * fits its examples, with a loss below 0.6, as in the Obfuscation Atlas (arXiv 2602.15515). `least`: the least probability of all layers,
 * so that a rollout is flagged only if no layer calls it clean, as in the screening of Ariahw's benchmark
 * (github.com/ariahw/rl-rewardhacking).
 */
import { UserError } from '../base/index.ts';
import { average } from '../stats/index.ts';
import { addSlope, type FitOptions, type FittedProbe, fitProbe, meanLoss, probability } from './logistic.ts';

export const layerRules = ['together', 'mean', 'least'] as const;
export type LayerRule = (typeof layerRules)[number];

/** The columns of a layer in a row of features. */
export interface LayerRange {
  readonly start: number;
  readonly end: number;
}

/** One probe for each range, and whether it counts. */
export interface LayerProbes {
  readonly probes: readonly FittedProbe[];
  readonly counts: readonly boolean[];
}

export const noProbes: LayerProbes = { probes: [], counts: [] };

/** The loss from which on a layer does not count; one that knows nothing has 0.69. */
const mostLoss = 0.6;

/** The ranges of the layers of modules in the order of features: the modules of a layer stand together. */
export function layerRanges(
  modules: readonly { readonly name: string }[],
  rank: number,
  rule: LayerRule,
): LayerRange[] {
  const layerOf = (name: string): string => (rule === 'together' ? '' : (name.match(/\.layers\.(\d+)\./)?.[1] ?? ''));
  const starts = modules.flatMap(({ name }, i) =>
    i > 0 && layerOf(modules[i - 1].name) === layerOf(name) ? [] : [i * rank],
  );
  return starts.map((start, i) => ({ start, end: starts[i + 1] ?? modules.length * rank }));
}

const cutRows = (rows: readonly Float32Array[], { start, end }: LayerRange): Float32Array[] =>
  rows.map((row) => row.subarray(start, end));

export function fitLayers(
  rows: readonly Float32Array[],
  targets: readonly number[],
  ranges: readonly LayerRange[],
  rule: LayerRule,
  options: FitOptions,
): LayerProbes {
  const probes = ranges.map((range) => fitProbe(cutRows(rows, range), targets, options));
  if (rule !== 'mean') return { probes, counts: probes.map(() => true) };
  const losses = probes.map((probe, i) => meanLoss(probe, cutRows(rows, ranges[i]), targets));
  const counts = losses.map((loss) => loss < mostLoss);
  if (counts.includes(true)) return { probes, counts };
  throw new UserError({
    call: 'config, key arm.monitor.layers "mean"',
    expected: `a layer whose probe has a loss below ${mostLoss}`,
    found: `losses from ${Math.min(...losses).toFixed(2)} on`,
    fix: 'Raise arm.monitor.steps or arm.monitor.learningRate, or use arm.monitor.layers = "together".',
  });
}

export function layeredProbability(
  { probes, counts }: LayerProbes,
  ranges: readonly LayerRange[],
  rule: LayerRule,
  row: Float32Array,
): number {
  const counted = probes.flatMap((probe, i) =>
    counts[i] ? [probability(probe, row.subarray(ranges[i].start, ranges[i].end))] : [],
  );
  return rule === 'least' ? Math.min(...counted) : average(counted);
}

/** The gradient of `layeredProbability` with respect to the row; of the least probability, that of its layer. */
export function layeredSlope(
  { probes, counts }: LayerProbes,
  ranges: readonly LayerRange[],
  rule: LayerRule,
  row: Float32Array,
): Float32Array {
  const slope = new Float32Array(row.length);
  const cut = ({ start, end }: LayerRange, values: Float32Array) => values.subarray(start, end);
  const counted = [...probes.keys()].filter((i) => counts[i]);
  const own = counted.map((i) => probability(probes[i], cut(ranges[i], row)));
  const felt = rule === 'least' ? [counted[own.indexOf(Math.min(...own))]] : counted;
  for (const i of felt) addSlope(probes[i], cut(ranges[i], row), 1 / felt.length, cut(ranges[i], slope));
  return slope;
}

/** The probes as one list of numbers; their widths follow from the ranges. */
export function joinProbes({ probes }: LayerProbes): Float32Array {
  return Float32Array.from(probes.flatMap((probe) => Array.from(probe)));
}

/** What `joinProbes` joined; nothing where nothing was. */
export function splitProbes(
  joined: Float32Array,
  counts: readonly boolean[] | null,
  ranges: readonly LayerRange[],
): LayerProbes {
  if (joined.length === 0) return noProbes;
  let at = 0;
  const probes = ranges.map(({ start, end }) => {
    const own = joined.slice(at, at + end - start + 1);
    at += own.length;
    return own;
  });
  return { probes, counts: counts ?? probes.map(() => true) };
}
