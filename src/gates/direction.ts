/**
 * Directions in feature space, one unit vector per module (docs/science.md, section 4). A direction from pairs is the mean of
 * (hack − clean), optionally divided by its standard error first (clamped to ±3). A placebo has Haar-random unit vectors.
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

/** Row i of `hack` and row i of `clean` are the two sides of pair i. */
export function pairDirection(hack: Features, clean: Features, standardise: boolean): Direction {
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
  return { modules: hack.modules, rank: hack.rank, data: unitRows(data, hack.rank) };
}

/** The placebo: a random direction, a function of the seed alone. */
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
  return Float64Array.from({ length: features.rows }, (_, row) =>
    scoreRow(features.data.subarray(row * width, (row + 1) * width), direction.data, kind),
  );
}

export function scoreRow(feature: Float32Array, direction: Float32Array, kind: ScoreKind): number {
  let [dot, own, other] = [0, 0, 0];
  for (let i = 0; i < feature.length; i++) {
    dot += feature[i] * direction[i];
    own += feature[i] ** 2;
    other += direction[i] ** 2;
  }
  return kind === 'dot' ? dot : dot / (Math.sqrt(own * other) || 1);
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
