/**
 * AUROC when scores of different updates cannot be compared, because the direction was rebuilt in between: hacks are compared with
 * clean rollouts of the same update only, θ = Σ mᵤ nᵤ θᵤ / Σ mᵤ nᵤ (m hacks, n clean). The interval resamples whole updates,
 * whose rollouts are not independent.
 */

import { groupBy } from '../../base/index.ts';
import { auroc, bootstrapIndices } from '../../stats/index.ts';

export interface ScoredRollout {
  readonly update: number;
  /** Its score, or those of its tokens, which then all count as tokens of a hack or of a clean rollout. */
  readonly score: number | readonly number[];
  readonly hack: boolean;
}

export interface Separation {
  readonly auroc: number;
  /** 95% interval; null with fewer than two updates that have both hacks and clean rollouts. */
  readonly interval: { readonly low: number; readonly high: number } | null;
  readonly hacks: number;
  readonly clean: number;
  /** Number of updates that have both hacks and clean rollouts; the others do not count. */
  readonly updates: number;
}

const resamples = 1000;

interface Stratum {
  readonly weight: number;
  readonly area: number;
}

function strataOf(rollouts: readonly ScoredRollout[]): Stratum[] {
  return [...groupBy(rollouts, ({ update }) => update).values()].flatMap((rows) => {
    const scores = (hack: boolean): number[] => rows.filter((row) => row.hack === hack).flatMap(({ score }) => score);
    const [hacks, clean] = [scores(true), scores(false)];
    const weight = hacks.length * clean.length;
    return weight === 0 ? [] : [{ weight, area: auroc(hacks, clean) }];
  });
}

/** The AUROC over some of the strata, or over all. A resample calls it a thousand times, so it makes no lists. */
function pooled(strata: readonly Stratum[], chosen?: Uint32Array): number {
  let [total, area] = [0, 0];
  const count = chosen?.length ?? strata.length;
  for (let i = 0; i < count; i++) {
    const stratum = strata[chosen === undefined ? i : chosen[i]];
    total += stratum.weight;
    area += stratum.weight * stratum.area;
  }
  return area / total;
}

/** The interval is resampled when somebody asks for it: tables over seeds have none. */
export function separation(rollouts: readonly ScoredRollout[], seed = 1): Separation | null {
  const strata = strataOf(rollouts);
  if (strata.length === 0) return null;
  const hacks = rollouts.filter(({ hack }) => hack).length;
  let interval: Separation['interval'] | undefined;
  return {
    auroc: pooled(strata),
    get interval() {
      interval ??= strata.length < 2 ? null : resampled(strata, seed);
      return interval;
    },
    hacks,
    clean: rollouts.length - hacks,
    updates: strata.length,
  };
}

function resampled(strata: readonly Stratum[], seed: number): NonNullable<Separation['interval']> {
  const area = (indices: Uint32Array): number => pooled(strata, indices);
  const { low, high } = bootstrapIndices(strata.length, area, { seed, resamples, method: 'percentile' });
  return { low, high };
}
