/**
 * Cuts rollouts into passes by route. Rollouts of one prompt and one route share their prompt; routes do not share passes, so
 * that what one route taught a block can be told apart from what another did.
 */

import type { Route } from '../adapters/index.ts';
import { quarantineInForward, routeGroups, routeTokens, scaleOf } from '../adapters/index.ts';
import type { BlockCoefficients, Scope } from '../engine/index.ts';
import type { PackedGroups } from '../model/index.ts';
import { cutPasses, type PackedPass, type PassGroup } from './batches.ts';
import type { Policy } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { LossTable } from './settings.ts';
import type { UpdateInputs } from './update.ts';

export type Pass = readonly PassGroup<Route>[];

/** Passes of one route each. Rollouts with routes by token cannot be separated like that: they go together and share no prompts. */
export function cutByRoute(
  { rollouts, routes }: UpdateInputs,
  tokensPerPass: number,
): { route: Route | null; passes: Pass[] }[] {
  const routeOf = (index: number): Route => routes[index][0] ?? 'absorb';
  if (routes.some((own) => own.length > 1)) {
    return [{ route: null, passes: cutPasses(rollouts, routeOf, tokensPerPass, false) }];
  }
  return (['keep', 'route', 'absorb'] as const).flatMap((route) => {
    const own = [...rollouts.keys()].filter((index) => routeOf(index) === route);
    const cut = cutPasses(
      own.map((index) => rollouts[index]),
      () => route,
      tokensPerPass,
    );
    const passes = cut.map((pass) =>
      pass.map((group) => ({ ...group, members: group.members.map((member) => own[member]) })),
    );
    return passes.length === 0 ? [] : [{ route, passes }];
  });
}

/** Coefficients of a pass under its routes, or under what `instead` makes of them. */
export function coefficientsOf(
  scope: Scope,
  pass: Pass,
  { packed, members }: PackedPass,
  { routes }: UpdateInputs,
  { detach }: LossTable,
  instead: (route: Route) => Route = (route) => route,
): BlockCoefficients {
  const byToken = members.some((index) => routes[index].length > 1);
  if (byToken) return routeTokens(scope, packed, tokenRoutes(packed, members, routes).map(instead), detach);
  return routeGroups(
    scope,
    packed,
    pass.map(({ key }) => instead(key)),
    detach,
  );
}

/** Whether the KL term of this pass has a backward pass of its own, in which routed rollouts teach both blocks. */
export function hasOwnKl(pass: Pass, { routes }: UpdateInputs, { klRoute }: LossTable): boolean {
  return klRoute === 'absorb' && pass.some(({ members }) => members.some((index) => routes[index].includes('route')));
}

/**
 * Tells of each rollout whether the pass that learns from it has the quarantine in its forward exactly as the sampler had it: its log π
 * is log π_old then. With routes by token, prompts are absorbed.
 */
export function findReadAsSampled(
  { deployedScale }: Pick<Policy, 'deployedScale'>,
  rollouts: readonly Pick<Rollout, 'sampled'>[],
  routes: readonly (readonly Route[])[],
): readonly boolean[] {
  const byToken = routes.some((own) => own.length > 1);
  return rollouts.map(({ sampled }, index) => {
    const scale = scaleOf(sampled, deployedScale);
    const along: readonly Route[] = byToken ? ['absorb', ...routes[index]] : routes[index];
    return along.every((route) => quarantineInForward(route) === scale);
  });
}

/** A prompt's tokens are absorbed; completion tokens have their own routes, or the one of their rollout. */
function tokenRoutes(packed: PackedGroups, members: readonly number[], routes: readonly (readonly Route[])[]): Route[] {
  const perToken = new Array<Route>(packed.tokens).fill('absorb');
  packed.completions.forEach(({ start, end }, i) => {
    const own = routes[members[i]];
    for (let at = start; at < end; at++) perToken[at] = own.length === 1 ? own[0] : own[at - start];
  });
  return perToken;
}
