/**
 * What chance would do: scores the stored features of a run against Haar-random directions, and takes the AUROC of each. A gate
 * that is not above this band has not been shown to see anything.
 */
import { haarDirection, type ScoreKind, scoreRows } from '../../gates/index.ts';
import { mean, quantile } from '../../stats/index.ts';
import { separation } from './separation.ts';
import type { FeaturedRollout } from './stored-features.ts';

const randomDirections = 20;

export interface RandomBand {
  readonly directions: number;
  readonly rollouts: number;
  readonly aurocs: readonly number[];
  readonly mean: number;
  readonly p5: number;
  readonly p95: number;
  readonly least: number;
  readonly most: number;
}

/** Null when no update has both hacks and clean rollouts. */
export function randomBand(
  rollouts: readonly FeaturedRollout[],
  { modules, rank, kind, seed }: { modules: number; rank: number; kind: ScoreKind; seed: number },
): RandomBand | null {
  const aurocs: number[] = [];
  for (let k = 0; k < randomDirections; k++) {
    const { data } = haarDirection(modules, rank, seed + k);
    const separated = separation(
      rollouts.map(({ update, hack, feature }) => ({ update, hack, score: scoreRows(feature, data)[0][kind] })),
    );
    if (separated === null) return null;
    aurocs.push(separated.auroc);
  }
  return {
    directions: randomDirections,
    rollouts: rollouts.length,
    aurocs,
    mean: mean(aurocs),
    p5: quantile(aurocs, 0.05),
    p95: quantile(aurocs, 0.95),
    least: Math.min(...aurocs),
    most: Math.max(...aurocs),
  };
}
