/**
 * What chance would do: scores the stored features of a run against Haar-random directions, and takes the AUROC of each. A gate
 * that is not above this band has not been shown to see anything.
 */
import { UserError } from '../base/index.ts';
import { haarDirection, type ScoreKind, scoreFeatures } from '../gates/index.ts';
import { mean, quantile } from '../stats/index.ts';
import type { JudgedRollout } from './judged.ts';
import { stratifiedAuroc } from './separation.ts';

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

type FeaturedRollout = Pick<JudgedRollout, 'update' | 'hack' | 'featureRow'>;

export function randomBand(
  rollouts: readonly FeaturedRollout[],
  features: Float32Array,
  { modules, rank, kind, seed }: { modules: number; rank: number; kind: ScoreKind; seed: number },
): RandomBand | null {
  const width = modules * rank;
  const stored = rollouts.flatMap((row) => (row.featureRow === null ? [] : [{ ...row, at: row.featureRow }]));
  const last = stored.reduce((most, { at }) => Math.max(most, at), -1);
  if ((last + 1) * width > features.length) {
    const found = `${features.length / width} rows`;
    throw new UserError({
      call: 'replay features',
      expected: `a row ${last}`,
      found,
      fix: 'features.f32 was cut off: restore it.',
    });
  }
  const all = { rows: features.length / width, modules, rank, data: features };
  const aurocs: number[] = [];
  for (let k = 0; k < randomDirections; k++) {
    const scores = scoreFeatures({ ...all, rows: Math.floor(all.rows) }, haarDirection(modules, rank, seed + k), kind);
    const area = stratifiedAuroc(stored.map(({ update, hack, at }) => ({ update, hack, score: scores[at] })));
    if (area === null) return null;
    aurocs.push(area);
  }
  return {
    directions: randomDirections,
    rollouts: stored.length,
    aurocs,
    mean: mean(aurocs),
    p5: quantile(aurocs, 0.05),
    p95: quantile(aurocs, 0.95),
    least: Math.min(...aurocs),
    most: Math.max(...aurocs),
  };
}
