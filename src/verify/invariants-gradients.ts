/**
 * Invariants of the gradients of a routed batch: blocks that do not learn get exactly zero, a mixed batch is the sum of its
 * rollouts, parameter detach masks each rollout's own gradient, and routes by token agree with routes by rollout.
 */

import type { Detach, Route } from '../adapters/index.ts';
import { routeTokens } from '../adapters/index.ts';
import type { BlockCoefficients, Scope } from '../engine/index.ts';
import type { PackedGroups } from '../model/index.ts';
import { type Check, compareExact, compareNorm, requireLarge } from './check.ts';
import { type BlockGradients, routeAll, scaleAll, type TinyLab } from './tiny-model.ts';

/** Bound on the difference between sums taken in another order. */
const orderBound = 2e-5;
const routes: readonly Route[] = ['keep', 'absorb', 'route'];
const detaches: readonly Detach[] = ['branch', 'parameter'];
/** The table of routes (docs/science.md, section 3), written independently of the adapters' code. */
const learns: Readonly<Record<Route, Readonly<Record<keyof BlockGradients, boolean>>>> = {
  keep: { deployed: true, quarantine: false },
  absorb: { deployed: true, quarantine: true },
  route: { deployed: false, quarantine: true },
};
const blocks = ['deployed', 'quarantine'] as const;

export async function verifyRouteTable(lab: TinyLab): Promise<Check[]> {
  const name = lab.adapter.family;
  const rows = lab.rollouts.map((_, row) => row);
  const checks: Check[] = [];
  for (const detach of detaches) {
    for (const route of routes) {
      const found = await lab.gradients(
        rows,
        routeAll(
          rows.map(() => route),
          detach,
        ),
      );
      for (const block of blocks) {
        const quantity = `${route}, ${detach} detach: ${block} block ${learns[route][block] ? 'learns' : 'gradient is zero'}`;
        const zeros = new Float32Array(found[block].length);
        if (learns[route][block]) checks.push(requireLarge(name, quantity, found[block], 1e-6));
        else checks.push(compareExact(name, quantity, found[block], zeros));
      }
    }
  }
  return checks;
}

function mixedRoutes(lab: TinyLab): Route[] {
  return lab.rollouts.map((_, row) => routes[row % routes.length]);
}

function addTo(
  total: BlockGradients,
  part: BlockGradients,
  mask: Readonly<Record<keyof BlockGradients, number>>,
): void {
  for (const block of blocks) {
    part[block].forEach((value, i) => {
      total[block][i] += mask[block] * value;
    });
  }
}

function zerosLike(gradients: BlockGradients): BlockGradients {
  return {
    deployed: new Float32Array(gradients.deployed.length),
    quarantine: new Float32Array(gradients.quarantine.length),
  };
}

function compareBlocks(name: string, quantity: string, found: BlockGradients, expected: BlockGradients): Check[] {
  return blocks.map((block) =>
    compareNorm(name, `${quantity}, ${block} block`, found[block], expected[block], orderBound),
  );
}

export async function verifyMixedBatch(lab: TinyLab): Promise<Check[]> {
  const name = lab.adapter.family;
  const mixed = mixedRoutes(lab);
  const rows = lab.rollouts.map((_, row) => row);
  const checks: Check[] = [];
  for (const detach of detaches) {
    const fused = await lab.gradients(rows, routeAll(mixed, detach));
    const total = zerosLike(fused);
    for (const row of rows) {
      addTo(total, await lab.gradients([row], routeAll([mixed[row]], detach)), { deployed: 1, quarantine: 1 });
    }
    checks.push(...compareBlocks(name, `mixed batch is the sum of its rollouts, ${detach} detach`, fused, total));
  }
  return checks;
}

/** Compares with the gradients of each rollout alone, in which everything learns, masked by the table. */
export async function verifyParameterDetach(lab: TinyLab): Promise<Check[]> {
  const name = lab.adapter.family;
  const mixed = mixedRoutes(lab);
  const rows = lab.rollouts.map((_, row) => row);
  const fused = await lab.gradients(rows, routeAll(mixed, 'parameter'));
  const total = zerosLike(fused);
  for (const row of rows) {
    const scale = mixed[row] === 'keep' ? 0 : 1;
    const all = await lab.gradients([row], (scope, packed) => scaleAll(scope, packed, scale));
    addTo(total, all, {
      deployed: Number(learns[mixed[row]].deployed),
      quarantine: Number(learns[mixed[row]].quarantine),
    });
  }
  return compareBlocks(name, 'parameter detach is masking by rollout', fused, total);
}

/** Checks routes by token: equal ones act as the rollout's route, mixed ones as each token's contribution, masked by the table. */
export async function verifyTokenRoutes(lab: TinyLab): Promise<Check[]> {
  const name = lab.adapter.family;
  const mixed = mixedRoutes(lab);
  const rows = lab.rollouts.map((_, row) => row);
  const byToken = (list: (packed: PackedGroups) => Route[], detach: Detach) => (scope: Scope, packed: PackedGroups) =>
    routeTokens(scope, packed, list(packed), detach);
  const spread = (packed: PackedGroups): Route[] =>
    packed.prompts.flatMap(({ start }, row) => {
      const end = packed.prompts[row + 1]?.start ?? packed.tokens;
      return new Array<Route>(end - start).fill(mixed[row]);
    });
  const checks: Check[] = [];
  for (const detach of detaches) {
    const constant = await lab.gradients(rows, byToken(spread, detach));
    const expected = await lab.gradients(rows, routeAll(mixed, detach));
    for (const block of blocks) {
      const quantity = `routes by token, the rollout's own, ${detach} detach, ${block} block`;
      checks.push(compareExact(name, quantity, constant[block], expected[block]));
    }
  }
  const cycle = ({ tokens }: PackedGroups): Route[] => Array.from({ length: tokens }, (_, t) => routes[t % 3]);
  const fused = await lab.gradients([0], byToken(cycle, 'parameter'));
  const total = zerosLike(fused);
  const { prompt, completions } = lab.rollouts[0];
  for (let t = 0; t < prompt.length + completions[0].length; t++) {
    const only = (scope: Scope, packed: PackedGroups): BlockCoefficients => {
      const { forward } = routeTokens(scope, packed, cycle(packed), 'parameter');
      const data = new Float32Array(2 * packed.tokens);
      data.fill(1, 2 * t, 2 * t + 2);
      return { forward, through: forward, learn: scope.from(data, [packed.tokens, 2], 'one token learns') };
    };
    const route = routes[t % 3];
    const mask = { deployed: Number(learns[route].deployed), quarantine: Number(learns[route].quarantine) };
    addTo(total, await lab.gradients([0], only), mask);
  }
  checks.push(...compareBlocks(name, 'mixed routes by token are masked tokens', fused, total));
  return checks;
}
