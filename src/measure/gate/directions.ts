/**
 * Directions over the stored features of a run, which the gate is compared with. *Random* ones (Haar) say what chance would do: a gate that
 * is not above their band has not been shown to see anything. The *ideal* one is the mean feature of hacks less that of clean rollouts,
 * fitted on labels: what a direction could reach at best, a diagnosis of the features and no part of any gate. Its differences are taken
 * within updates and pooled, since features drift, and its AUROC is cross-fitted: the direction of half of the problems scores the rollouts
 * of the other half. Problems come again in later updates, so a problem is in the same half throughout.
 */
import { groupBy, murmur3, UserError } from '../../base/index.ts';
import { type Direction, haarDirection, pairDirection, type ScoreKind, scoreRows } from '../../gates/index.ts';
import type { StepEvent } from '../../grpo/index.ts';
import type { JudgedRollout } from '../../oracle/index.ts';
import type { StoredDirection } from '../../run/index.ts';
import { mean, quantile } from '../../stats/index.ts';
import { separation } from './gate-report.ts';

type StoredRollout = Pick<JudgedRollout, 'update' | 'hack' | 'featureRow'> &
  Partial<Pick<JudgedRollout, 'featureRows' | 'problem'>>;

export type FeaturedRollout = Readonly<ReturnType<typeof featuredRollouts>[number]>;

/** One vector per rollout: its row, or the mean of the rows that a gate by token kept of it. `width`: the length of a row of `features`. Rollouts without features are left out. */
export function featuredRollouts(rollouts: readonly StoredRollout[], features: Float32Array, width: number) {
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

const randomDirections = 20;

export type RandomBand = Readonly<NonNullable<ReturnType<typeof randomBand>>>;

/** Null when no update has both hacks and clean rollouts. */
export function randomBand(
  rollouts: readonly FeaturedRollout[],
  { modules, rank, kind, seed }: { modules: number; rank: number; kind: ScoreKind; seed: number },
) {
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

export type IdealDirection = Readonly<NonNullable<ReturnType<typeof idealDirection>>>;

type Shape = Readonly<Record<'modules' | 'rank', number>>;

/** Null when no update has both hacks and clean rollouts. */
export function idealDirection(
  rollouts: readonly FeaturedRollout[],
  { kind, ...shape }: Shape & { readonly kind: ScoreKind },
) {
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
    /** Cross-fitted; null when a half has no update with both hacks and clean rollouts. */
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

export type DirectionReport = Readonly<ReturnType<typeof reportDirections>[number]>;

export function reportDirections(
  directions: readonly StoredDirection[],
  steps: readonly Pick<StepEvent, 'update' | 'meanCosine'>[],
  ideal: Pick<IdealDirection, 'direction'> | null,
) {
  return directions.flatMap(({ update: from, direction, pairCuts: { low, high } }, i) => {
    const next = directions[i + 1]?.update ?? Number.POSITIVE_INFINITY;
    const used = steps.filter(({ update }) => update >= from && update < next);
    if (used.length === 0) return [];
    const cosines = used.flatMap(({ meanCosine }) => (typeof meanCosine === 'number' ? [meanCosine] : []));
    return [
      {
        from,
        to: Math.max(...used.map(({ update }) => update)),
        /** Mean scores of the clean and of the hack pairs, and their distance; null where the arm gave none. */
        band: Number.isNaN(low) || Number.isNaN(high) ? null : { low, high, width: high - low },
        meanCosine: cosines.length === 0 ? null : mean(cosines),
        cosineToIdeal: ideal === null ? null : scoreRows(ideal.direction, direction)[0].cosine,
      },
    ];
  });
}
