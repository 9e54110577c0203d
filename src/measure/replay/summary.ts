/** Counts of what a replay changed: for every route that was chosen, the routes that would have been, in all and by window of updates. */
import type { Route } from '../../adapters/index.ts';
import { groupBy } from '../../base/index.ts';

export const routes = ['keep', 'absorb', 'route'] as const satisfies readonly Route[];

export type Replay = Readonly<ReturnType<typeof summariseReplay>>;

export interface ReplayedRollout {
  readonly update: number;
  readonly before: readonly Route[];
  readonly after: readonly Route[];
}

/** `rollouts` has at least one. */
export function summariseReplay(
  rollouts: readonly ReplayedRollout[],
  granularity: 'rollout' | 'token',
  windowUpdates: number,
) {
  const byWindow = groupBy(rollouts, ({ update }) => Math.floor((update - 1) / windowUpdates));
  const { matrix, ...whole } = countWindow(rollouts);
  const windows = [...byWindow.values()].map((own) => {
    const { matrix: _matrix, ...window } = countWindow(own);
    return window;
  });
  return { ...whole, granularity, matrix, windows };
}

function countWindow(rollouts: readonly ReplayedRollout[]) {
  const counts = tableOf(() => ({ keep: 0, absorb: 0, route: 0 }));
  for (const { before, after } of rollouts) {
    before.forEach((was, i) => {
      counts[was][after[i]] += 1;
    });
  }
  const before = tableOf((was) => routes.reduce((sum, is) => sum + counts[was][is], 0));
  return {
    from: rollouts[0].update,
    to: rollouts[rollouts.length - 1].update,
    rollouts: rollouts.length,
    decisions: routes.reduce((sum, was) => sum + before[was], 0),
    agree: routes.reduce((sum, route) => sum + counts[route][route], 0),
    before,
    after: tableOf((is) => routes.reduce((sum, was) => sum + counts[was][is], 0)),
    matrix: counts,
  };
}

function tableOf<T>(value: (route: Route) => T): Record<Route, T> {
  return { keep: value('keep'), absorb: value('absorb'), route: value('route') };
}
