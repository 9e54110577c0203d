/** What must hold for every adapter family on every device, whatever the weights, checked on a tiny random model. */
import { type Detach, type Family, families, type Route, routeTokens } from '../adapters/index.ts';
import { type BlockCoefficients, type Device, Scope } from '../engine/index.ts';
import type { PackedGroups } from '../model/index.ts';
import { type Check, Checks } from './check.ts';
import {
  verifyAblation,
  verifyGeneration,
  verifyPacking,
  verifyRoutedTraining,
  verifyStart,
} from './invariants-forward.ts';
import { type BlockGradients, type LabShape, routeAll, scaleAll, smallLab, TinyLab } from './tiny-model.ts';

export interface InvariantOptions {
  readonly families?: readonly Family[];
  readonly shape?: LabShape;
}

export async function verifyAdapters(
  device: Device,
  { families: chosen = families, shape = smallLab }: InvariantOptions = {},
): Promise<{ readonly device: string; readonly checks: readonly Check[] }> {
  const checks: Check[] = [];
  for (const family of chosen) {
    using scope = new Scope(device);
    const lab = await TinyLab.create(scope, family, shape);
    const check = new Checks(family);
    for (const verify of atStart) await verify(lab, check);
    await lab.disturb('everything');
    for (const verify of onceMoved) await verify(lab, check);
    checks.push(...check.list);
  }
  return { device: device.name, checks };
}

/** Bound on the difference between sums taken in another order. */
const orderBound = 2e-5;
const routes: readonly Route[] = ['keep', 'absorb', 'route'];
const detaches: readonly Detach[] = ['branch', 'parameter'];
type Learning = Readonly<Record<keyof BlockGradients, boolean>>;
/** The table of routes (docs/science.md, section 3), written independently of the adapters' code. */
const learns: Readonly<Record<Route, Learning>> = {
  keep: { deployed: true, quarantine: false },
  absorb: { deployed: true, quarantine: true },
  route: { deployed: false, quarantine: true },
};
const blocks = ['deployed', 'quarantine'] as const;

async function verifyRouteTable(lab: TinyLab, check: Checks): Promise<void> {
  for (const detach of detaches) {
    for (const route of routes) {
      const found = await lab.gradients(lab.rows, routeAll(lab.everyRow(route), detach));
      for (const block of blocks) {
        const quantity = `${route}, ${detach} detach: ${block} block`;
        if (learns[route][block]) check.large(`${quantity} learns`, found[block], 1e-6);
        else check.exact(`${quantity} gradient is zero`, found[block], new Float32Array(found[block].length));
      }
    }
  }
}

const mixedRoutes = (lab: TinyLab): Route[] => lab.rollouts.map((_, row) => routes[row % routes.length]);

function addTo(total: BlockGradients, part: BlockGradients, mask: Learning): void {
  for (const block of blocks.filter((each) => mask[each])) {
    part[block].forEach((value, i) => {
      total[block][i] += value;
    });
  }
}

function zerosLike(gradients: BlockGradients): BlockGradients {
  return {
    deployed: new Float32Array(gradients.deployed.length),
    quarantine: new Float32Array(gradients.quarantine.length),
  };
}

function compareBlocks(check: Checks, quantity: string, found: BlockGradients, expected: BlockGradients): void {
  for (const block of blocks) check.norm(`${quantity}, ${block} block`, found[block], expected[block], orderBound);
}

async function verifyMixedBatch(lab: TinyLab, check: Checks): Promise<void> {
  const mixed = mixedRoutes(lab);
  for (const detach of detaches) {
    const fused = await lab.gradients(lab.rows, routeAll(mixed, detach));
    const total = zerosLike(fused);
    for (const row of lab.rows) {
      addTo(total, await lab.gradients([row], routeAll([mixed[row]], detach)), learns.absorb);
    }
    compareBlocks(check, `mixed batch is the sum of its rollouts, ${detach} detach`, fused, total);
  }
}

/** Compares with the gradients of each rollout alone, in which everything learns, masked by the table. */
async function verifyParameterDetach(lab: TinyLab, check: Checks): Promise<void> {
  const mixed = mixedRoutes(lab);
  const fused = await lab.gradients(lab.rows, routeAll(mixed, 'parameter'));
  const total = zerosLike(fused);
  for (const row of lab.rows) {
    const scale = mixed[row] === 'keep' ? 0 : 1;
    const all = await lab.gradients([row], (scope, packed) => scaleAll(scope, packed, scale));
    addTo(total, all, learns[mixed[row]]);
  }
  compareBlocks(check, 'parameter detach is masking by rollout', fused, total);
}

/** Checks routes by token: equal ones act as the rollout's route, mixed ones as each token's contribution, masked by the table. */
async function verifyTokenRoutes(lab: TinyLab, check: Checks): Promise<void> {
  const mixed = mixedRoutes(lab);
  const byToken = (list: (packed: PackedGroups) => Route[], detach: Detach) => (scope: Scope, packed: PackedGroups) =>
    routeTokens(scope, packed, list(packed), detach);
  const spread = (packed: PackedGroups): Route[] =>
    packed.prompts.flatMap(({ start }, row) => {
      const end = packed.prompts[row + 1]?.start ?? packed.tokens;
      return new Array<Route>(end - start).fill(mixed[row]);
    });
  for (const detach of detaches) {
    const constant = await lab.gradients(lab.rows, byToken(spread, detach));
    const expected = await lab.gradients(lab.rows, routeAll(mixed, detach));
    for (const block of blocks) {
      const quantity = `routes by token, the rollout's own, ${detach} detach, ${block} block`;
      check.exact(quantity, constant[block], expected[block]);
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
    addTo(total, await lab.gradients([0], only), learns[routes[t % 3]]);
  }
  compareBlocks(check, 'mixed routes by token are masked tokens', fused, total);
}

type Invariant = (lab: TinyLab, check: Checks) => Promise<void>;

/** In this order: at the start, after training the quarantine, then with every parameter moved. */
const atStart: readonly Invariant[] = [verifyStart, verifyRoutedTraining];
const onceMoved: readonly Invariant[] = [
  verifyRouteTable,
  verifyMixedBatch,
  verifyParameterDetach,
  verifyTokenRoutes,
  verifyPacking,
  verifyGeneration,
  verifyAblation,
];
