/**
 * The gate as an arm: it scores features against a direction and routes by two cuts (docs/science.md, sections 4 and 5). The
 * mass-matched placebo runs the same gate and then deals its routes out at random.
 */
import { randomStream } from '../../base/index.ts';
import type { CondensedRows, Gate } from '../../gates/gate.ts';
import { gateStateFrom, gateStateOf } from '../../gates/state.ts';
import { inGroupsWithSpread, setApart } from '../advantage.ts';
import {
  type Arm,
  absorbAll,
  type FeatureKind,
  type GradedRollouts,
  type Granularity,
  type NewDirection,
  type Routing,
  type ScoredRollouts,
  type SeenRollouts,
  type Watched,
} from '../arm.ts';
import type { Policy } from '../policy.ts';

export interface GateArmOptions {
  readonly gate: Gate;
  readonly kind: FeatureKind;
  readonly granularity: Granularity;
  /** Rebuilds the direction on the current policy and shows it to the gate; a placebo keeps its own. */
  readonly rebuild: (policy: Policy) => Promise<NewDirection>;
  /** Updates between rebuilds; null: the direction is built once. */
  readonly refreshEvery: number | null;
  /** `own`: what the gate flags is set apart before advantages are computed; default: `group`. */
  readonly mean?: 'group' | 'own';
}

export type RoutingArm = Arm & Required<Pick<Arm, 'route' | 'save' | 'restore' | 'refresh'>>;

/**
 * A gate by token condenses the rows of a rollout as they are made; one by rollout is shown a row for each. With the own mean the gate is
 * calibrated before advantages are computed, by the rollouts that will carry gradient: the same that calibrate it otherwise.
 */
export function gateArm(options: GateArmOptions): RoutingArm {
  const { gate, kind, granularity, rebuild, refreshEvery, mean = 'group' } = options;
  // A run that is forked to another arm begins in the middle with a direction that was never built.
  let built = false;
  return {
    sees: { features: { kind, granularity }, text: false },
    async refresh(step, policy) {
      const due = !built || (refreshEvery !== null && step % refreshEvery === 0);
      built = true;
      return due ? rebuild(policy) : null;
    },
    ...(granularity === 'token' ? { condense: (rows) => gate.condense(rows) } : {}),
    ...(mean === 'own' ? { screen: (graded) => setApart(gate.flag(calibratedRows(gate, graded))) } : {}),
    route(scored) {
      const rows = condensedRows(gate, scored);
      if (rows === null) return absorbAll(scored.rollouts.length);
      if (mean === 'group') gate.calibrate(rows);
      return gate.route(rows, scored.advantages);
    },
    save() {
      const { json, tensors } = gateStateOf(gate.state);
      return { json: { built, gate: json }, tensors };
    },
    restore({ json, tensors }) {
      // The checkpoint before the first update holds a gate that was never built.
      const saved = json as { readonly built?: boolean; readonly gate?: unknown } | null;
      gate.restore(gateStateFrom({ json: saved?.gate, tensors }));
      built = saved?.built === true;
    },
  };
}

function condensedRows(gate: Gate, { rollouts, features, condensed }: SeenRollouts): readonly CondensedRows[] | null {
  if (condensed !== undefined) return condensed;
  if (features === null) return null;
  const width = features.modules * features.rank;
  return rollouts.map((_, row) => gate.condense({ data: features.data.subarray(row * width, (row + 1) * width) }));
}

/** The rows of all rollouts; those that will carry gradient have calibrated the gate. */
function calibratedRows(gate: Gate, graded: GradedRollouts): readonly CondensedRows[] {
  const rows = condensedRows(gate, graded) ?? [];
  const groups = graded.rollouts.map(({ group }) => group);
  const learns = inGroupsWithSpread(graded.rewards, groups);
  gate.calibrate(rows.filter((_, i) => learns[i]));
  return rows;
}

/**
 * Deals routes out at random among all rollouts of an update whose advantages have the same sign, whatever their group: each route goes to
 * as many praised and to as many blamed rollouts as before, or tokens of them, and nothing else is left of who deserved it.
 */
export function dealRoutes(decided: Routing, { step, advantages }: ScoredRollouts, seed: number): Routing {
  const routes = [...decided.routes];
  for (const sign of [-1, 0, 1]) {
    const alike = [...advantages.keys()].filter((i) => Math.sign(advantages[i]) === sign);
    const all = alike.flatMap((i) => decided.routes[i]);
    const deal = randomStream(seed, ['mass-matched', `sign ${sign}`], step).permutation(all.length);
    let at = 0;
    for (const i of alike) routes[i] = routes[i].map(() => all[deal[at++]]);
  }
  return { ...decided, routes };
}

/** The arm with its routes dealt out. */
export function massMatched(inner: RoutingArm, seed: number): RoutingArm {
  return { ...inner, route: async (scored) => dealRoutes(await inner.route(scored), scored, seed) };
}

/** What the gate says of rollouts before advantages are computed, for a remedy other than routes; calibrated as with the own mean. */
export function watchByGate(gate: Gate, graded: GradedRollouts): Watched {
  const rows = calibratedRows(gate, graded);
  const { scores, cuts } = gate.route(rows, new Float32Array(rows.length));
  return { scores, flagged: gate.flag(rows), cut: cuts?.high ?? null, abstentions: {}, costs: {} };
}
