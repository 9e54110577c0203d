/** The features that a run stored, one vector per rollout: its row, or the mean of the rows that a gate by token kept of it. */

import { UserError } from '../../base/index.ts';
import type { JudgedRollout } from '../../oracle/index.ts';

type StoredRollout = Pick<JudgedRollout, 'update' | 'hack' | 'featureRow'> &
  Partial<Pick<JudgedRollout, 'featureRows' | 'problem'>>;

export interface FeaturedRollout {
  readonly update: number;
  /** The id of its problem. */
  readonly problem: string;
  readonly hack: boolean;
  readonly feature: Float32Array;
}

/** `width`: the length of a row of `features`. Rollouts without features are left out. */
export function featuredRollouts(
  rollouts: readonly StoredRollout[],
  features: Float32Array,
  width: number,
): FeaturedRollout[] {
  return rollouts.flatMap(({ update, problem = '', hack, featureRow, featureRows }) => {
    if (featureRow === null) return [];
    const end = featureRow + (featureRows ?? 1);
    if (end * width > features.length) {
      throw new UserError({
        call: 'replay features',
        expected: `a row ${end - 1}`,
        found: `${features.length / width} rows`,
        fix: 'features.f32 was cut off: restore it.',
      });
    }
    return [{ update, problem, hack, feature: meanOfRows(features.subarray(featureRow * width, end * width), width) }];
  });
}

function meanOfRows(rows: Float32Array, width: number): Float32Array {
  if (rows.length === width) return rows;
  const mean = new Float64Array(width);
  rows.forEach((value, i) => {
    mean[i % width] += (value * width) / rows.length;
  });
  return Float32Array.from(mean);
}
