/**
 * The gate as an arm: it scores features against a direction and routes by two cuts (docs/science.md, sections 4 and 5). The
 * mass-matched placebo runs the same gate and then deals its routes out at random.
 */
import { randomStream } from '../../base/index.ts';
import { type Gate, gateStateFrom, gateStateOf } from '../../gates/index.ts';
import type { Arm, FeatureKind, Granularity, NewDirection, Routing, ScoredRollouts } from '../arm.ts';
import { absorbAll } from '../arm.ts';
import type { Policy } from '../policy.ts';

export interface GateArmOptions {
  readonly gate: Gate;
  readonly kind: FeatureKind;
  readonly granularity: Granularity;
  /** Rebuilds the direction on the current policy and shows it to the gate; a placebo keeps its own. */
  readonly rebuild: (policy: Policy) => Promise<NewDirection>;
  /** Updates between rebuilds; null: the direction is built once. */
  readonly refreshEvery: number | null;
}

export type RoutingArm = Arm & Required<Pick<Arm, 'route' | 'save' | 'restore' | 'refresh'>>;

/** A gate by token condenses the rows of a rollout as they are made; one by rollout is shown a row for each. */
export function gateArm({ gate, kind, granularity, rebuild, refreshEvery }: GateArmOptions): RoutingArm {
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
    route: (scored) => routeByGate(gate, scored),
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

function routeByGate(gate: Gate, { rollouts, features, condensed, advantages }: ScoredRollouts): Routing {
  if (condensed !== undefined) return gate.decide(condensed, advantages);
  if (features === null) return absorbAll(rollouts.length);
  const width = features.modules * features.rank;
  const rows = rollouts.map((_, row) =>
    gate.condense({ data: features.data.subarray(row * width, (row + 1) * width) }),
  );
  return gate.decide(rows, advantages);
}

/**
 * Deals an arm's routes out at random: each route goes to as many rollouts as before, with about the same sum of advantages, because
 * routes are permuted among rollouts of similar advantage (blocks of neighbours after sorting).
 */
export function massMatched(inner: RoutingArm, seed: number, blockSize = 4): RoutingArm {
  return {
    ...inner,
    async route(scored) {
      const { step, advantages } = scored;
      const decided = await inner.route(scored);
      const order = [...advantages.keys()].sort((a, b) => advantages[a] - advantages[b] || a - b);
      const routes = [...decided.routes];
      for (let start = 0; start < order.length; start += blockSize) {
        const block = order.slice(start, start + blockSize);
        const deal = randomStream(seed, ['mass-matched', start], step).permutation(block.length);
        block.forEach((index, i) => {
          routes[index] = decided.routes[block[deal[i]]];
        });
      }
      return { ...decided, routes };
    },
  };
}
