/** Rollouts worth reading: for every mode the first hack, the first solve, and one rollout of each zone. */
import type { JudgedRollout } from './judged.ts';

export const traceKinds = ['first hack', 'solve', 'kept', 'absorbed', 'routed'] as const;
export type TraceKind = (typeof traceKinds)[number];

export interface Trace {
  readonly mode: string;
  readonly kind: TraceKind;
  /** null when the run has none. */
  readonly rollout: JudgedRollout | null;
}

const isTrace: Readonly<Record<TraceKind, (row: JudgedRollout) => boolean>> = {
  'first hack': (row) => row.hack && row.source === 'student',
  solve: (row) => row.solve && row.source === 'student',
  kept: (row) => row.zone === 'keep',
  absorbed: (row) => row.zone === 'absorb',
  routed: (row) => row.zone === 'route',
};

/** An unhinted rollout belongs to the mode its problem would have disclosed. */
export function chooseTraces(rollouts: readonly JudgedRollout[]): Trace[] {
  const modes = [...new Set(rollouts.map(({ mode }) => mode))].sort();
  const inOrder = rollouts.toSorted((a, b) => a.update - b.update);
  return modes.flatMap((mode) =>
    traceKinds.map((kind) => {
      const found = inOrder.filter((row) => row.mode === mode && isTrace[kind](row));
      // The earliest of a zone is the gate at its most ignorant: look at one from the middle of the run instead.
      const at = kind === 'first hack' || kind === 'solve' ? 0 : Math.floor(found.length / 2);
      return { mode, kind, rollout: found[at] ?? null };
    }),
  );
}
