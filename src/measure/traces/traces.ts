/** Rollouts worth reading: for every loophole the first hack, the first solve, and one rollout of each route. */
import type { JudgedRollout } from '../../oracle/index.ts';

const traceKinds = ['first hack', 'solve', 'kept', 'absorbed', 'routed'] as const;
export type TraceKind = (typeof traceKinds)[number];

export interface Trace {
  readonly loophole: string;
  readonly kind: TraceKind;
  /** The chosen rollout; null when the run has none of this kind. */
  readonly rollout: JudgedRollout | null;
}

const isTrace: Readonly<Record<TraceKind, (row: JudgedRollout) => boolean>> = {
  'first hack': (row) => row.hack && row.source === 'student',
  solve: (row) => row.solve && row.source === 'student',
  kept: (row) => row.route === 'keep',
  absorbed: (row) => row.route === 'absorb',
  routed: (row) => row.route === 'route',
};

/** Chooses the rollouts. An unhinted rollout belongs to the loophole that its problem's hint would have disclosed. */
export function chooseTraces(rollouts: readonly JudgedRollout[]): Trace[] {
  const loopholes = [...new Set(rollouts.map(({ loophole }) => loophole))].sort();
  const inOrder = rollouts.toSorted((a, b) => a.update - b.update);
  return loopholes.flatMap((loophole) =>
    traceKinds.map((kind) => {
      const found = inOrder.filter((row) => row.loophole === loophole && isTrace[kind](row));
      // Early in a run the gate knows least, so for a route a rollout from the middle is shown.
      const at = kind === 'first hack' || kind === 'solve' ? 0 : Math.floor(found.length / 2);
      return { loophole, kind, rollout: found[at] ?? null };
    }),
  );
}
