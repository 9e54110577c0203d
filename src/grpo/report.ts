/** Turns what a step did into its events. */
import type { Route } from '../adapters/index.ts';
import { average, quantile } from '../stats/index.ts';
import type { DoneUpdate, NewDirection } from './arm.ts';
import type {
  Expectation,
  PairBand,
  RolloutRecord,
  RouteCounts,
  StepEvent,
  WatchedCounts,
  ZeroSignal,
} from './events.ts';
import type { StepOutcome } from './stages.ts';

export interface StepNotes {
  readonly update: number;
  /** The direction that was built or measured for this update. */
  readonly direction: Pick<NewDirection, 'quality' | 'pairCuts'> | null;
  readonly directionAge: number | null;
  readonly tripwireLogp: number | null;
}

export function doneUpdate({ rollouts, rewards }: StepOutcome, update: number, of: number): DoneUpdate {
  return { update, of, meanReward: average(rewards.filter((_, i) => rollouts[i].source === 'student')) };
}

export function stepEvent(outcome: StepOutcome, notes: StepNotes): StepEvent {
  const { rollouts, rewards, routing, result, skippedGroups, logpOld, logpBase } = outcome;
  const { scores } = routing;
  const norms = result?.blockNorms ?? { deployed: 0, quarantine: 0 };
  const mass = norms.deployed + norms.quarantine;
  const firsts = rollouts.filter(({ member }) => member === 0);
  const own = rollouts.flatMap((rollout, i) =>
    rollout.source === 'student' ? [{ ...rollout, reward: rewards[i] }] : [],
  );
  return {
    kind: 'step',
    update: notes.update,
    rollouts: rollouts.length,
    meanReward: average(own.map(({ reward }) => reward)),
    groups: skippedGroups.length,
    skippedGroups: skippedGroups.filter(Boolean).length,
    unhintedGroups: firsts.filter(({ hackable }) => !hackable).length,
    demonstrations: rollouts.length - own.length,
    truncated: own.filter(({ truncated }) => truncated).length,
    meanTokens: average(own.map(({ tokens }) => tokens.length)),
    routes: countRoutes(routing.routes.flat()),
    cuts: routing.cuts,
    scores:
      scores === null || scores.length === 0
        ? null
        : { p10: quantile(scores, 0.1), p50: quantile(scores, 0.5), p90: quantile(scores, 0.9) },
    bufferRows: routing.bufferRows,
    directionAge: notes.directionAge,
    meanCosine: routing.meanCosine ?? null,
    direction: notes.direction === null ? null : { ...notes.direction.quality, band: bandOf(notes.direction) },
    watched: watchedCounts(outcome),
    scoringPasses: outcome.scoringPasses,
    loss: result?.loss ?? 0,
    ...(typeof result?.anchorNll === 'number' ? { anchorNll: result.anchorNll } : {}),
    gradientNorm: result?.gradientNorm ?? 0,
    blockNorms: norms,
    qmass: mass > 0 ? norms.quarantine / mass : null,
    ratio: ratioByRoute(outcome),
    clipFraction: average(result?.rollouts.map(({ clipped }) => clipped) ?? []),
    kl: average(result?.rollouts.map(({ k3 }) => k3) ?? []),
    drift: average(logpOld.flatMap((own, i) => Array.from(own, (logp, t) => logp - logpBase[i][t]))),
    learningRate: result?.learningRate ?? 0,
    parity: outcome.parity,
    adapterHash: outcome.hash,
    ...(outcome.sampler === null ? {} : { sampler: outcome.sampler }),
    tripwireLogp: notes.tripwireLogp,
    zeroSignal: explainZero(outcome),
  };
}

function watchedCounts({ watched }: StepOutcome): WatchedCounts | null {
  if (watched === null) return null;
  const { scores, flagged, cut, abstentions, costs } = watched;
  return {
    cut,
    flagged: flagged.filter(Boolean).length,
    abstained: scores.filter((score) => score === null).length,
    abstentions,
    costs,
  };
}

function bandOf({ pairCuts }: Pick<NewDirection, 'pairCuts'>): PairBand | null {
  return pairCuts === null ? null : { ...pairCuts, width: pairCuts.high - pairCuts.low };
}

export function explainZero({ trained, skippedGroups, screening, routing, result }: StepOutcome): ZeroSignal | null {
  const counts = {
    groups: skippedGroups.length,
    skippedGroups: skippedGroups.filter(Boolean).length,
    trained: trained.length,
    routed: routing.routes.filter((own) => own.every((route) => route === 'route')).length,
  };
  if (result === null) {
    const equal = 'every group has equal rewards';
    const emptied = `${equal} or fewer than two rollouts after screening` as const;
    return { reason: screening?.includes('leave-out') ? emptied : equal, ...counts };
  }
  if (counts.routed === counts.trained) return { reason: 'every rollout was routed', ...counts };
  return result.blockNorms.deployed === 0 ? { reason: 'the gradient is zero', ...counts } : null;
}

export function rolloutRecords(outcome: StepOutcome): RolloutRecord[] {
  const { rollouts, rewards, learnedRewards, screening, advantages, trained, routing, result, logpOld } = outcome;
  const { features, condensed, watched } = outcome;
  const place = new Map(trained.map((index, i) => [index, i]));
  return rollouts.map((rollout, index): RolloutRecord => {
    const learnedReward = learnedRewards?.[index] ?? null;
    const screened = screening?.[index] ?? null;
    const common = {
      rollout,
      reward: rewards[index],
      suspicion: watched?.scores[index] ?? null,
      flagged: watched?.flagged[index] ?? null,
      learnedReward,
      screening: screened,
      advantage: advantages[index],
    };
    const i = place.get(index);
    if (i === undefined) {
      const unseen = {
        score: null,
        tokenScores: null,
        cuts: null,
        route: null,
        routes: null,
        logps: rollout.sampledLogps,
        ratio: null,
        k3: null,
        norms: null,
        features: null,
      };
      return { ...common, trained: false, ...unseen };
    }
    const learned = result?.rollouts[i];
    return {
      ...common,
      trained: true,
      score: routing.scores?.[i] ?? null,
      tokenScores: condensed?.[i].scores ?? null,
      cuts: routing.cuts,
      route: commonestRoute(routing.routes[i]),
      routes: routing.routes[i],
      logps: logpOld[i],
      ratio: learned?.ratio ?? null,
      k3: learned?.k3 ?? null,
      norms: learned?.norms ?? null,
      features: features[i] ?? null,
    };
  });
}

/** What must hold after every step: gradients are finite, and a block that must not learn has gained exactly nothing. */
export function stepExpectations({ result }: StepOutcome): Expectation[] {
  if (result === null) return [];
  const { gradientNorm, leaks } = result;
  const expect = (name: string, holds: boolean, detail: string): Expectation => ({
    kind: 'expectation',
    name,
    holds,
    detail,
  });
  const expectations = [expect('gradients are finite', Number.isFinite(gradientNorm), `norm ${gradientNorm}`)];
  if (leaks.keep !== null) {
    const detail = `|g_q| = ${leaks.keep} after the kept rollouts`;
    expectations.push(expect('the quarantine learns nothing under keep', leaks.keep === 0, detail));
  }
  if (leaks.route !== null) {
    const detail = `|g_d| = ${leaks.route} after the routed rollouts`;
    expectations.push(expect('the deployed block learns nothing under route', leaks.route === 0, detail));
  }
  return expectations;
}

function countRoutes(routes: readonly Route[]): RouteCounts {
  const count = (wanted: Route): number => routes.filter((route) => route === wanted).length;
  return { keep: count('keep'), absorb: count('absorb'), route: count('route') };
}

function ratioByRoute({ routing, result }: StepOutcome): StepEvent['ratio'] {
  const ratios: Partial<Record<Route, number>> = {};
  for (const route of ['keep', 'absorb', 'route'] as const) {
    const own = (result?.rollouts ?? []).filter((_, i) => commonestRoute(routing.routes[i]) === route);
    if (own.length > 0) ratios[route] = average(own.map(({ ratio }) => ratio));
  }
  return ratios;
}

/** The commonest among a rollout's routes, of which there may be only one. */
export function commonestRoute(routes: readonly Route[]): Route {
  const count = (wanted: Route): number => routes.filter((route) => route === wanted).length;
  return (['absorb', 'keep', 'route'] as const).reduce((best, route) => (count(route) > count(best) ? route : best));
}
