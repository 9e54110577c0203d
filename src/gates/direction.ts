/**
 * Directions in feature space, one unit vector per module (docs/science.md, section 4). A direction from pairs is the mean of
 * (hack − clean), optionally divided by its standard error first (clamped to ±3). Its placebos are Haar-random unit vectors, the
 * reversed direction, and the direction of the same pairs with the sides of half of them swapped.
 * Nothing here knows where features come from.
 */
import type { Features } from '../adapters/index.ts';
import { randomStream, ShapeError } from '../base/index.ts';
import { auroc, average } from '../stats/index.ts';

export interface Direction {
  readonly modules: number;
  readonly rank: number;
  /** [modules, rank]: a unit vector per module, or zeros where the pairs do not differ. */
  readonly data: Float32Array;
}

export type ScoreKind = 'dot' | 'cosine';

const mostStandardErrors = 3;

export interface PairDirectionOptions {
  /** Whether each coordinate of the mean difference is divided by its standard error. */
  readonly standardise: boolean;
  /** `solve`: what the difference shares with the mean feature of the clean sides is removed, module by module. */
  readonly orthogonalTo?: 'none' | 'solve';
}

/** Row i of `hack` and row i of `clean` are the two sides of pair i. */
export function pairDirection(
  hack: Features,
  clean: Features,
  { standardise, orthogonalTo = 'none' }: PairDirectionOptions,
): Direction {
  if (hack.rows === 0 || hack.rows !== clean.rows || hack.data.length !== clean.data.length) {
    throw new ShapeError({
      call: 'pair direction',
      expected: 'two sides of the same pairs',
      found: `${hack.rows} and ${clean.rows} rows`,
    });
  }
  const width = hack.modules * hack.rank;
  const data = new Float32Array(width);
  for (let i = 0; i < width; i++) {
    const differences = Float64Array.from(
      { length: hack.rows },
      (_, row) => hack.data[row * width + i] - clean.data[row * width + i],
    );
    data[i] = standardise ? clampedStandardErrors(differences) : average(differences);
  }
  const own = orthogonalTo === 'solve' ? withoutPart(data, meanRow(clean), hack.rank) : data;
  return { modules: hack.modules, rank: hack.rank, data: unitRows(own, hack.rank) };
}

/** The mean of the rows. */
function meanRow({ rows, modules, rank, data }: Features): Float64Array {
  const width = modules * rank;
  return Float64Array.from({ length: width }, (_, i) =>
    average(Float64Array.from({ length: rows }, (_, row) => data[row * width + i])),
  );
}

/** Projects each module's vector onto what is orthogonal to the same module of `removed`. */
function withoutPart(data: Float32Array, removed: Float64Array, rank: number): Float32Array {
  return data.map((value, i) => {
    const start = i - (i % rank);
    let [shared, length] = [0, 0];
    for (let at = start; at < start + rank; at++) {
      shared += data[at] * removed[at];
      length += removed[at] ** 2;
    }
    return length === 0 ? value : value - (shared / length) * removed[i];
  });
}

/** What stands in for the direction of the pairs. */
export const directionPlacebos = ['none', 'haar', 'reversed', 'shuffled'] as const;
export type DirectionPlacebo = (typeof directionPlacebos)[number];

export interface DirectionOptions extends PairDirectionOptions {
  readonly placebo: DirectionPlacebo;
  /** Seed of the placebo. */
  readonly seed: number;
}

/** The direction of the pairs, or its placebo. */
export function buildDirection(
  hack: Features,
  clean: Features,
  { placebo, seed, ...options }: DirectionOptions,
): Direction {
  if (placebo === 'haar') return haarDirection(hack.modules, hack.rank, seed);
  const [high, low] = placebo === 'shuffled' ? shuffledSides(hack, clean, seed) : [hack, clean];
  const direction = pairDirection(high, low, options);
  return placebo === 'reversed' ? { ...direction, data: direction.data.map((value) => -value) } : direction;
}

/** Swaps the sides of half of the pairs, drawn by the seed: what the sides of all pairs differ in cancels. */
export function shuffledSides(hack: Features, clean: Features, seed: number): [Features, Features] {
  const width = hack.modules * hack.rank;
  const [high, low] = [hack.data.slice(), clean.data.slice()];
  const order = randomStream(seed, 'shuffled pairs').permutation(hack.rows);
  for (const row of order.slice(0, Math.floor(hack.rows / 2))) {
    const [start, end] = [row * width, (row + 1) * width];
    high.set(clean.data.subarray(start, end), start);
    low.set(hack.data.subarray(start, end), start);
  }
  return [
    { ...hack, data: high },
    { ...clean, data: low },
  ];
}

/** A random direction, a function of the seed alone. */
export function haarDirection(modules: number, rank: number, seed: number): Direction {
  const data = new Float32Array(modules * rank);
  randomStream(seed, 'haar direction').fillNormal(data);
  return { modules, rank, data: unitRows(data, rank) };
}

/** Σ over modules of feature · direction; the cosine divides by both lengths. One score per row. */
export function scoreFeatures(features: Features, direction: Direction, kind: ScoreKind): Float64Array {
  const width = direction.data.length;
  if (features.modules * features.rank !== width) {
    throw new ShapeError({
      call: 'score features',
      expected: `${direction.modules} modules of rank ${direction.rank}`,
      found: `${features.modules} of rank ${features.rank}`,
    });
  }
  return Float64Array.from(scoreRows(features.data, direction.data), (row) => row[kind]);
}

/** Both scores of each row. */
export function scoreRows(rows: Float32Array, direction: Float32Array): Readonly<Record<ScoreKind, number>>[] {
  const width = direction.length;
  const other = direction.reduce((sum, value) => sum + value ** 2, 0);
  return Array.from({ length: rows.length / width }, (_, row) => {
    let [dot, own] = [0, 0];
    for (let i = 0, at = row * width; i < width; i++, at++) {
      dot += rows[at] * direction[i];
      own += rows[at] ** 2;
    }
    return { dot, cosine: dot / (Math.sqrt(own * other) || 1) };
  });
}

export interface DirectionQuality {
  /** Share of pairs whose hack side scores above its clean side. */
  readonly pairedAccuracy: number;
  readonly auroc: number;
  /** Indices of the pairs whose hack side does not score above its clean side. */
  readonly wrongPairs: readonly number[];
}

export function judgeDirection(hackScores: Float64Array, cleanScores: Float64Array): DirectionQuality {
  const wrongPairs = [...hackScores.keys()].filter((i) => !(hackScores[i] > cleanScores[i]));
  return {
    pairedAccuracy: 1 - wrongPairs.length / hackScores.length,
    auroc: auroc(hackScores, cleanScores),
    wrongPairs,
  };
}

function clampedStandardErrors(values: Float64Array): number {
  const mean = average(values);
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  const error = Math.sqrt(variance / values.length);
  if (error === 0) return Math.sign(mean) * mostStandardErrors;
  return Math.min(mostStandardErrors, Math.max(-mostStandardErrors, mean / error));
}

function unitRows(data: Float32Array, rank: number): Float32Array {
  const out = new Float32Array(data.length);
  for (let start = 0; start < data.length; start += rank) {
    const row = data.subarray(start, start + rank);
    const length = Math.hypot(...row);
    if (length > 0)
      out.set(
        row.map((value) => value / length),
        start,
      );
  }
  return out;
}
