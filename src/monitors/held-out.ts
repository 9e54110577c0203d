/**
 * Scores of the clean sides of pairs by a monitor that was made without them: what a monitor makes of its own examples says little
 * about others. Pairs are dealt into folds by their place.
 */
import type { Features } from '../adapters/index.ts';

/** Number of folds; fewer where there are fewer pairs. */
const mostFolds = 5;

export interface PairRows {
  readonly hack: readonly Float32Array[];
  readonly clean: readonly Float32Array[];
}

/** The rows of features as views. */
export function rowsOf({ rows, modules, rank, data }: Features): Float32Array[] {
  const width = modules * rank;
  return Array.from({ length: rows }, (_, row) => data.subarray(row * width, (row + 1) * width));
}

/** `make`: a score function made from some of the pairs. A single pair scores itself. */
export function heldOutClean(
  { hack, clean }: PairRows,
  make: (pairs: PairRows) => (row: Float32Array) => number,
): Float64Array {
  const folds = Math.min(mostFolds, clean.length);
  if (folds < 2) return Float64Array.from(clean, make({ hack, clean }));
  const scores = new Float64Array(clean.length);
  for (let fold = 0; fold < folds; fold++) {
    const others = (rows: readonly Float32Array[]) => rows.filter((_, i) => i % folds !== fold);
    const score = make({ hack: others(hack), clean: others(clean) });
    for (let i = fold; i < clean.length; i += folds) scores[i] = score(clean[i]);
  }
  return scores;
}
