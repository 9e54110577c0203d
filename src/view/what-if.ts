/** Routes that other cuts would have given the stored scores: a counterfactual on the same rollouts, for diagnosis. */
import { routeOf } from '../gates/index.ts';
import { quantile } from '../stats/index.ts';
import type { GateRow } from './api.ts';

export type WhatIfCuts =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'fixed'; readonly low: number; readonly high: number }
  /** The shares of recent scores to keep and to route: quantiles over the updates before, this one included. */
  | { readonly kind: 'shares'; readonly keep: number; readonly route: number; readonly window: number };

/** What has a route; `weight` is the sum of |advantage|: how hard these rollouts push. */
const emptyTally = () => ({ rollouts: 0, attempts: 0, hacks: 0, solves: 0, cleanSolves: 0, weight: 0 });
export type RouteTally = Readonly<ReturnType<typeof emptyTally>>;

export type WhatIf = ReturnType<typeof whatIf>;

/** `keepsOnlyPraised`: what the low cut keeps is kept only with a positive advantage, as some gates do. */
export function whatIf(rows: readonly GateRow[], wanted: WhatIfCuts, keepsOnlyPraised = false) {
  const cuts = cutsOf(rows, wanted);
  const cutsAt = (update: number) => {
    const at = cuts.get(update);
    return at === undefined ? null : { low: at.low ?? Number.NEGATIVE_INFINITY, high: at.high };
  };
  const routes = { keep: emptyTally(), absorb: emptyTally(), route: emptyTally() };
  let changed = 0;
  for (const row of rows) {
    const keeps = !keepsOnlyPraised || row.advantage > 0;
    const route = wanted.kind === 'recorded' ? recordedRoute(row) : routeOf(row.score, cutsAt(row.update), keeps);
    const tally = routes[route];
    tally.rollouts += 1;
    tally.attempts += Number(row.attempt);
    tally.hacks += Number(row.hack);
    tally.solves += Number(row.solve);
    tally.cleanSolves += Number(row.solve && !row.attempt);
    tally.weight += Math.abs(row.advantage);
    changed += Number(route !== row.route);
  }
  const share = (part: number, of: number): number | null => (of === 0 ? null : part / of);
  const inAll = (name: keyof RouteTally): number => routes.keep[name] + routes.absorb[name] + routes.route[name];
  // Routing taken as the claim "this is one": the share of the routed that are, and of these that are routed.
  const claim = (name: 'attempts' | 'hacks') => ({
    precision: share(routes.route[name], routes.route.rollouts),
    recall: share(routes.route[name], inAll(name)),
    /** Of all rollouts: the precision of routes that are dealt out at random. */
    base: share(inAll(name), inAll('rollouts')),
  });
  const claims = { attempts: claim('attempts'), hacks: claim('hacks') };
  return { cuts, routes, claims, quarantined: share(routes.route.weight, inAll('weight')), changed };
}

const recordedRoute = ({ route }: GateRow): 'keep' | 'absorb' | 'route' =>
  route === 'keep' || route === 'route' ? route : 'absorb';

/** `low`: null where nothing is kept by its score, as by the one cut of a monitor. */
type Cuts = { readonly low: number | null; readonly high: number };

function cutsOf(rows: readonly GateRow[], wanted: WhatIfCuts): Map<number, Cuts> {
  const updates = [...new Set(rows.map(({ update }) => update))].sort((a, b) => a - b);
  if (wanted.kind === 'fixed')
    return new Map(updates.map((update) => [update, { low: wanted.low, high: wanted.high }]));
  const byUpdate = new Map(updates.map((update): [number, GateRow[]] => [update, []]));
  for (const row of rows) byUpdate.get(row.update)?.push(row);
  return new Map(
    updates.flatMap((update, i): [number, Cuts][] => {
      if (wanted.kind === 'recorded') {
        const { low, high } = byUpdate.get(update)?.[0] ?? { low: null, high: null };
        return high === null ? [] : [[update, { low, high }]];
      }
      const recent = updates.slice(Math.max(0, i + 1 - wanted.window), i + 1);
      const scores = recent.flatMap((each) => (byUpdate.get(each) ?? []).map(({ score }) => score));
      return [[update, { low: quantile(scores, wanted.keep), high: quantile(scores, 1 - wanted.route) }]];
    }),
  );
}
