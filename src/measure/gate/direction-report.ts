/** The directions that a gate had, one after another: the band of the pairs, and how rollouts and the ideal direction lie to each. */
import { scoreRows } from '../../gates/index.ts';
import type { StepEvent } from '../../grpo/index.ts';
import type { StoredDirection } from '../../run/index.ts';
import { mean } from '../../stats/index.ts';
import type { IdealDirection } from './ideal-direction.ts';

export interface DirectionReport {
  /** The first and the last update that it was used for. */
  readonly from: number;
  readonly to: number;
  /** Mean scores of the clean and of the hack pairs, and their distance; null where the arm gave none. */
  readonly band: { readonly low: number; readonly high: number; readonly width: number } | null;
  /** Mean cosine of the rollouts' features with it; null where it was not recorded. */
  readonly meanCosine: number | null;
  readonly cosineToIdeal: number | null;
}

export function reportDirections(
  directions: readonly StoredDirection[],
  steps: readonly Pick<StepEvent, 'update' | 'meanCosine'>[],
  ideal: Pick<IdealDirection, 'direction'> | null,
): DirectionReport[] {
  return directions.flatMap(({ update: from, direction, pairCuts: { low, high } }, i) => {
    const next = directions[i + 1]?.update ?? Number.POSITIVE_INFINITY;
    const used = steps.filter(({ update }) => update >= from && update < next);
    if (used.length === 0) return [];
    const cosines = used.flatMap(({ meanCosine }) => (typeof meanCosine === 'number' ? [meanCosine] : []));
    return [
      {
        from,
        to: Math.max(...used.map(({ update }) => update)),
        band: Number.isNaN(low) || Number.isNaN(high) ? null : { low, high, width: high - low },
        meanCosine: cosines.length === 0 ? null : mean(cosines),
        cosineToIdeal: ideal === null ? null : scoreRows(ideal.direction, direction)[0].cosine,
      },
    ];
  });
}
