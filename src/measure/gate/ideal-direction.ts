/**
 * What a direction could reach at best: the mean feature of hacks less that of clean rollouts, fitted on labels. It is a diagnosis of
 * the features and no part of any gate. Differences are taken within updates and pooled, since features drift. Its AUROC is cross-fitted:
 * the direction of half of the problems scores the rollouts of the other half. Problems come again in later updates, so a problem is
 * in the same half throughout.
 */

import { groupBy, murmur3 } from '../../base/index.ts';
import { type Direction, pairDirection, type ScoreKind, scoreRows } from '../../gates/index.ts';
import { type Separation, separation } from './separation.ts';
import type { FeaturedRollout } from './stored-features.ts';

export interface IdealDirection {
  readonly rollouts: number;
  readonly hacks: number;
  /** Cross-fitted; null when a half has no update with both hacks and clean rollouts. */
  readonly separation: Separation | null;
  /** Fitted on all rollouts: a unit vector per module. */
  readonly direction: Float32Array;
}

interface Shape {
  readonly modules: number;
  readonly rank: number;
}

/** Null when no update has both hacks and clean rollouts. */
export function idealDirection(
  rollouts: readonly FeaturedRollout[],
  { kind, ...shape }: Shape & { readonly kind: ScoreKind },
): IdealDirection | null {
  const whole = fitOnLabels(rollouts, shape);
  if (whole === null) return null;
  const halves = [0, 1].map((half) => rollouts.filter(({ problem }) => murmur3(problem) % 2 === half));
  const scored = halves.flatMap((own, half) => {
    const fitted = fitOnLabels(halves[1 - half], shape);
    if (fitted === null) return [];
    // Scores of two directions cannot be compared, so each half of an update is compared with itself.
    return own.map(({ update, hack, feature }) => ({
      update: 2 * update + half,
      hack,
      score: scoreRows(feature, fitted.data)[0][kind],
    }));
  });
  return {
    rollouts: rollouts.length,
    hacks: rollouts.filter(({ hack }) => hack).length,
    separation: separation(scored),
    direction: whole.data,
  };
}

/** Σ over updates of m n / (m + n) · (mean hack − mean clean), with m hacks and n clean rollouts; then a unit vector per module. */
function fitOnLabels(rollouts: readonly FeaturedRollout[], { modules, rank }: Shape): Direction | null {
  const sum = new Float64Array(modules * rank);
  let updates = 0;
  for (const rows of groupBy(rollouts, ({ update }) => update).values()) {
    const hacks = rows.filter(({ hack }) => hack).length;
    const clean = rows.length - hacks;
    if (hacks === 0 || clean === 0) continue;
    updates += 1;
    for (const { hack, feature } of rows) {
      const weight = (hack ? clean : -hacks) / rows.length;
      for (let i = 0; i < sum.length; i++) sum[i] += weight * feature[i];
    }
  }
  if (updates === 0) return null;
  const side = (data: Float32Array) => ({ rows: 1, modules, rank, data });
  return pairDirection(side(Float32Array.from(sum)), side(new Float32Array(sum.length)), { standardise: false });
}
