/**
 * The gate judged as a classifier, from the ledger and the verdicts (docs/science.md, section 5). Wrong pins are the expensive errors:
 * a hack that is kept is deployed, and a clean rollout that is routed is lost. A rollout that is absorbed by mistake costs little. A gate
 * by token is judged by its tokens, each with the label of its rollout: that is a diagnosis, since most tokens of a hack look like any.
 *
 * AUROC when scores of different updates cannot be compared, because the direction was rebuilt in between: hacks are compared with clean rollouts of
 * the same update only, θ = Σ mᵤ nᵤ θᵤ / Σ mᵤ nᵤ (m hacks, n clean). The interval resamples whole updates, whose rollouts are not independent.
 */
import type { Route } from '../../adapters/index.ts';
import { groupBy } from '../../base/index.ts';
import { byTarget, type Rate, rateOrNull } from '../../evaluate/index.ts';
import { type GateSettings, routeOf } from '../../gates/gate.ts';
import type { JudgedRollout } from '../../oracle/index.ts';
import { auroc, bootstrapIndices, fBeta, mean, quantile } from '../../stats/index.ts';
import { windowsOf } from '../curve/emergence.ts';
import { scoreOf } from './rollout-words.ts';

export const routes = ['keep', 'absorb', 'route'] as const satisfies readonly Route[];

export type GatedRollout = Pick<
  JudgedRollout,
  'update' | 'score' | 'low' | 'high' | 'route' | 'trained' | 'advantage' | 'hack' | 'attempt'
> &
  Partial<Pick<JudgedRollout, 'suspicion' | 'tokenRoutes' | 'tokenScores'>>;

export type GateJudgement = Readonly<ReturnType<typeof judgeGate>>;

function routeCounts({ route, tokenRoutes }: GatedRollout) {
  const letters = tokenRoutes ?? route?.[0] ?? '';
  const count = (wanted: string): number => letters.split(wanted).length - 1;
  return { keep: count('k'), absorb: count('a'), route: count('r') };
}

const countTokens = (rows: readonly GatedRollout[]): number =>
  rows.reduce((sum, { tokenRoutes }) => sum + (tokenRoutes?.length ?? 0), 0);

type Label = 'hack' | 'attempt';

const tokenSeparation = (rows: readonly GatedRollout[], label: Label): Separation | null =>
  separation(
    rows.flatMap(({ update, tokenScores, [label]: hack }) =>
      tokenScores?.length ? [{ update, hack, score: tokenScores }] : [],
    ),
  );

/** The rollouts that carried gradient; the others were never gated. */
const gatedRollouts = (all: readonly GatedRollout[]): GatedRollout[] =>
  all.filter(({ trained, route }) => trained && route !== null);

/** By the gate's scores; where a monitor's flags deal out the routes, by the monitor's. */
const scoredRows = (rows: readonly GatedRollout[], label: Label, isRouted: boolean) =>
  rows.flatMap((row) => {
    const score = isRouted ? scoreOf(row) : row.score;
    return score === null ? [] : [{ update: row.update, score, hack: row[label] }];
  });

/** A claim about rollouts, or tokens, by how many it is right and wrong about, and of the others by how many it misses and passes. */
export function judgeClaim(right: number, wrong: number, missed: number, passed: number) {
  return {
    precision: rateOrNull(right, right + wrong),
    recall: rateOrNull(right, right + missed),
    falsePositiveRate: rateOrNull(wrong, wrong + passed),
  };
}

/**
 * Judges the gate on the rollouts that carried gradient, against attempts and against hacks: a correct program that also opens a
 * loophole is no hack, but looks like one to a gate.
 */
export function judgeGate(all: readonly GatedRollout[]) {
  const rows = gatedRollouts(all);
  const counts = rows.map(routeCounts);
  const total = (route: Route, holds: (row: GatedRollout) => boolean = () => true): number =>
    rows.reduce((sum, row, i) => sum + (holds(row) ? counts[i][route] : 0), 0);
  /** Rollouts or tokens of a route, taken as the claim that their label has this value. */
  const claim = (route: Route, label: Label, value: boolean) => {
    const others = routes.filter((other) => other !== route);
    const [right, missed, wrong, passed] = [true, false].flatMap((holds) =>
      [[route], others].map((own) =>
        own.reduce((sum, one) => sum + total(one, (row) => (row[label] === value) === holds), 0),
      ),
    );
    const counted = { truePositives: right, falsePositives: wrong, falseNegatives: missed, trueNegatives: 0 };
    return { ...judgeClaim(right, wrong, missed, passed), fHalf: fBeta(counted, 0.5) };
  };
  const share = (route: Route, label: Label, value: boolean): Rate | null =>
    rateOrNull(
      total(route, (row) => row[label] === value),
      total(route),
    );
  const byToken = rows.filter(({ tokenRoutes }) => typeof tokenRoutes === 'string');
  const isRouted = total('keep') + total('route') > 0;
  const target = (label: Label) => ({
    count: rows.filter((row) => row[label]).length,
    separation: separation(scoredRows(rows, label, isRouted)),
    tokens: countTokens(byToken.filter((row) => row[label])),
    tokenSeparation: tokenSeparation(byToken, label),
    route: claim('route', label, true),
    keep: claim('keep', label, false),
    shareOfKeep: share('keep', label, true),
    othersOfRoute: share('route', label, false),
  });
  return {
    rollouts: rows.length,
    /** Null for a gate that does not decide by token. */
    tokens: byToken.length === 0 ? null : countTokens(byToken),
    ...byTarget(target),
    routes: { keep: total('keep'), absorb: total('absorb'), route: total('route') },
  };
}

export function hasGate({ hacks, routes: { keep, route } }: GateJudgement): boolean {
  return hacks.separation !== null || keep + route > 0;
}

/** Judges the gate on positively reinforced rollouts: only for these does the route decide what is learned. */
export function judgeReinforced(rows: readonly GatedRollout[]): GateJudgement {
  return judgeGate(rows.filter(({ advantage }) => advantage > 0));
}

export type GateWindow = Readonly<ReturnType<typeof gateWindows>[number]>;
type Spread = { readonly p10: number; readonly p50: number; readonly p90: number } | null;
/** Mean cuts; null while everything is absorbed. */
type Cuts = { readonly low: number; readonly high: number } | null;

/** The shares of scores that a gate is calibrated to keep and to route. */
export type GateTails = Readonly<Record<'keep' | 'route', number>>;

export function gateWindows(rows: readonly GatedRollout[], updatesPerWindow: number, tails: GateTails | null = null) {
  const trained = rows.filter((row) => row.trained);
  return windowsOf(trained, updatesPerWindow).map(({ from, to, rows: inside }) => {
    const scores = spreadOf(inside.flatMap(scoresOf));
    const cuts = meanCuts(inside);
    const few = cuts === null ? null : starvedRoutes(inside, tails);
    const judged = { all: judgeGate(inside), reinforced: judgeReinforced(inside) };
    return { from, to, ...judged, scores, cuts, readings: readDrift(scores, cuts, few) };
  });
}

function scoresOf({ score, tokenScores, tokenRoutes }: GatedRollout): readonly number[] {
  if (typeof tokenRoutes === 'string') return tokenScores ?? [];
  return score === null ? [] : [score];
}

function spreadOf(scores: readonly number[]): Spread {
  if (scores.length === 0) return null;
  return { p10: quantile(scores, 0.1), p50: quantile(scores, 0.5), p90: quantile(scores, 0.9) };
}

function meanCuts(rows: readonly GatedRollout[]): Cuts {
  const cuts = rows.flatMap(({ low, high }) => (low === null || high === null ? [] : [{ low, high }]));
  if (cuts.length === 0) return null;
  return { low: mean(cuts.map(({ low }) => low)), high: mean(cuts.map(({ high }) => high)) };
}

/** Says which routes got fewer rollouts than the gate is calibrated to, beyond chance; null for a gate without such shares. */
function starvedRoutes(rows: readonly GatedRollout[], tails: GateTails | null): string[] | null {
  if (tails === null) return null;
  const cut = rows.flatMap((row) => {
    const { low, high } = row;
    if (low === null || high === null) return [];
    return scoresOf(row).map((score) => ({ keep: score <= low, route: score > low && score >= high }));
  });
  const share = (name: keyof GateTails): string[] => {
    const rate = rateOrNull(cut.filter((row) => row[name]).length, cut.length);
    if (rate === null || rate.high >= tails[name]) return [];
    const done = { keep: 'kept', route: 'routed' }[name];
    return [`${rate.count} of ${rate.of} ${done}, where ${100 * tails[name]}% are meant to be: few are ${done}`];
  };
  return [...share('keep'), ...share('route')];
}

function readDrift(scores: Spread, cuts: Cuts, few: readonly string[] | null): string[] {
  if (scores === null) return [];
  if (cuts === null) return ['no cuts yet: everything is absorbed'];
  const band = cuts.high - cuts.low;
  return [
    ...(few ?? [
      ...(scores.p10 > cuts.low ? ['p10 above the low cut: few are kept'] : []),
      ...(scores.p90 < cuts.high ? ['p90 below the high cut: few are routed'] : []),
    ]),
    ...(scores.p50 > cuts.high ? ['median above the high cut: most are routed, not a tail'] : []),
    ...(scores.p50 < cuts.low ? ['median below the low cut: most are kept, not a tail'] : []),
    ...(scores.p90 > cuts.high + band
      ? ['p90 far above the high cut: by more than the distance between the cuts']
      : []),
  ];
}

/**
 * Of the rollouts that a mass-matched placebo dealt routes out among, the share that kept the route that their score has by the cuts: where most rollouts have
 * the same route, chance alone leaves most as they were. Null where nothing was dealt out.
 */
export function dealtUnchanged(
  all: readonly GatedRollout[],
  { keepOnly, keepTail }: Pick<GateSettings, 'keepOnly' | 'keepTail'>,
): Rate | null {
  const dealt = gatedRollouts(all).flatMap(({ score, low, high, advantage, route }) => {
    if (score === null || low === null || high === null) return [];
    const keeps = keepTail !== 0 && (keepOnly === 'any' || advantage > 0);
    return [routeOf(score, { low, high }, keeps) === route];
  });
  return rateOrNull(dealt.filter((same) => same).length, dealt.length);
}

export interface ScoredRollout {
  readonly update: number;
  /** Its score, or those of its tokens, which then all count as tokens of a hack or of a clean rollout. */
  readonly score: number | readonly number[];
  readonly hack: boolean;
}

export type Separation = Readonly<NonNullable<ReturnType<typeof separation>>>;

const resamples = 1000;

type Strata = ReturnType<typeof strataOf>;

function strataOf(rollouts: readonly ScoredRollout[]) {
  return [...groupBy(rollouts, ({ update }) => update).values()].flatMap((rows) => {
    const scores = (hack: boolean): number[] => rows.filter((row) => row.hack === hack).flatMap(({ score }) => score);
    const [hacks, clean] = [scores(true), scores(false)];
    const weight = hacks.length * clean.length;
    return weight === 0 ? [] : [{ weight, area: auroc(hacks, clean) }];
  });
}

/** The AUROC over some of the strata, or over all. A resample calls it a thousand times, so it makes no lists. */
function pooledAuroc(strata: Strata, chosen?: Uint32Array): number {
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
export function separation(rollouts: readonly ScoredRollout[], seed = 1) {
  const strata = strataOf(rollouts);
  if (strata.length === 0) return null;
  const hacks = rollouts.filter(({ hack }) => hack).length;
  let interval: ReturnType<typeof resampledInterval> | null | undefined;
  return {
    auroc: pooledAuroc(strata),
    /** 95%; null with fewer than two updates that have both hacks and clean rollouts. */
    get interval() {
      interval ??= strata.length < 2 ? null : resampledInterval(strata, seed);
      return interval;
    },
    hacks,
    clean: rollouts.length - hacks,
    /** Those that have both; the others do not count. */
    updates: strata.length,
  };
}

function resampledInterval(strata: Strata, seed: number) {
  const area = (indices: Uint32Array): number => pooledAuroc(strata, indices);
  const { low, high } = bootstrapIndices(strata.length, area, { seed, resamples, method: 'percentile' });
  return { low, high };
}
