/** What must hold for every adapter family on every device, whatever the weights, checked on a tiny random model. */
import type { Detach, Family, Route } from '../adapters/index.ts';
import { addChange, families, routeTokens, scaleRows } from '../adapters/index.ts';
import { randomStream } from '../base/index.ts';
import { AdamW, type BlockCoefficients, type Device, readFloats, Scope, Tape } from '../engine/index.ts';
import {
  Decoder,
  type GenerateRequest,
  type Generation,
  type Group,
  generate,
  type LoadedWeight,
  type PackedGroups,
  type SamplingSettings,
  scoreGroups,
} from '../model/index.ts';
import { type Check, Checks } from './check.ts';
import { type BlockGradients, type LabShape, routeAll, scaleAll, smallLab, TinyLab } from './tiny-model.ts';

export type InvariantOptions = { readonly families?: readonly Family[]; readonly shape?: LabShape };

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

/** Bound on the difference of log-probabilities that one device computes in two ways. */
const roundingBound = 5e-5;

async function verifyStart(lab: TinyLab, check: Checks): Promise<void> {
  const base = await lab.score(null);
  check.exact('start: full is base', await lab.score(1), base);
  check.exact('start: ablating is a no-op', await lab.score(0), base);
}

/** Trains the quarantine alone for a few steps, as routed rollouts do; the deployed policy must not move. */
async function verifyRoutedTraining(lab: TinyLab, check: Checks): Promise<void> {
  const base = await lab.score(null);
  using optimiser = new AdamW(lab.adapter.parameters);
  for (let step = 1; step <= 3; step++) {
    await lab.gradients(lab.rows, routeAll(lab.everyRow('route'), 'branch'));
    const adam = { learningRate: 0.05, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, decay: 0.1, maxNorm: 1 };
    optimiser.update(step, adam);
  }
  const full = await lab.score(1);
  const moved = full.map((value, t) => value - base[t]);
  check.large('routed training moves the full policy', moved, 1e-3);
  check.exact('routed training leaves the deployed policy', await lab.score(0), base);
}

async function verifyAblation(lab: TinyLab, check: Checks): Promise<void> {
  const [deployed, full] = [await lab.score(0), await lab.score(1)];
  const [keep, absorb] = [routeAll(lab.everyRow('keep'), 'branch'), routeAll(lab.everyRow('absorb'), 'parameter')];
  check.exact('scale 0 is the forward of keep', deployed, await lab.scoreWith(keep));
  check.exact('scale 1 is the forward of absorb', full, await lab.scoreWith(absorb));
  check.absolute('deployed is the merged model', deployed, await mergedScore(lab), roundingBound);
  await lab.disturb('another quarantine', 'quarantine');
  check.exact('deployed does not depend on the quarantine', await lab.score(0), deployed);
}

async function mergedScore(lab: TinyLab): Promise<Float32Array> {
  const { config, weights } = lab.decoder;
  using scope = new Scope(lab.device);
  const merged: LoadedWeight[] = [];
  for (const [name, tensor] of weights) {
    const data = await readFloats(tensor);
    const module = name.replace(/\.weight$/, '');
    const isTarget = lab.adapter.modules.some((target) => target.name === module);
    if (isTarget) addChange(data, tensor.shape[1], await lab.adapter.deployedChange(module));
    merged.push({ name, shape: tensor.shape, dtype: 'f32', data });
  }
  const decoder = await Decoder.load(scope, config, merged);
  using tape = new Tape(lab.device);
  return await readFloats(scoreGroups(tape, decoder, lab.pack(tape)));
}

async function verifyPacking(lab: TinyLab, check: Checks): Promise<void> {
  const packed = await lab.score(1);
  const lengths = lab.rollouts.map(({ completions: [row] }) => row.length);
  const longest = Math.max(...lengths);
  const padded = lab.rollouts.map(({ prompt, completions: [row] }) => {
    const longer = new Int32Array(longest);
    longer.set(row);
    return { prompt, completions: [longer] };
  });
  const whole = await lab.score(1, padded);
  const real = lengths.flatMap((length, row) => [...whole.subarray(row * longest, row * longest + length)]);
  const alone: number[] = [];
  for (const rollout of lab.rollouts) alone.push(...(await lab.score(1, [rollout])));
  const groups = [0, 1].map((which): Group => {
    const members = lab.rollouts.filter((_, row) => row % 2 === which);
    return { prompt: members[0].prompt, completions: members.flatMap(({ completions }) => [...completions]) };
  });
  const apart = groups.flatMap(({ prompt, completions }) => completions.map((row) => ({ prompt, completions: [row] })));
  const [shared, repeated] = [await lab.score(1, groups), await lab.score(1, apart)];
  check.exact('packed is padded', packed, real);
  check.exact('packed is one row at a time', packed, alone);
  check.absolute('a shared prompt is a repeated one', shared, repeated, roundingBound);
}

const sampling: SamplingSettings = {
  temperature: 0.9,
  topK: 12,
  topP: 0.95,
  minP: 0.01,
  maxNewTokens: 7,
  stopTokens: [3, 5],
  maxPromptTokens: null,
};

function sample(lab: TinyLab, requests: readonly GenerateRequest[], readEvery = 1): Promise<Generation[]> {
  return generate(lab.decoder, requests, sampling, {
    stream: randomStream(lab.shape.seed, 'lab sampling'),
    project: (scope, scales) => lab.adapter.project({ coefficients: scaleRows(scope, [...scales]) }),
    readEvery,
  });
}

function flatten(generations: readonly Generation[]): number[] {
  return generations.flatMap(({ tokens, logps, fullLogps, finish }) => [
    finish === 'stop' ? 1 : 0,
    ...tokens,
    ...logps,
    ...fullLogps,
  ]);
}

const labRequests = (lab: TinyLab): GenerateRequest[] =>
  lab.rollouts.map(({ prompt }, row) => ({ prompt, row: 10 + row, scale: row % 3 === 2 ? 0 : 1 }));

export const generateNumbers = async (lab: TinyLab): Promise<number[]> => flatten(await sample(lab, labRequests(lab)));

async function verifyGeneration(lab: TinyLab, check: Checks): Promise<void> {
  const requests = labRequests(lab);
  const together = await sample(lab, requests);
  const alone: Generation[] = [];
  for (const request of requests) alone.push(...(await sample(lab, [request])));
  const backwards = (await sample(lab, requests.toReversed())).toReversed();
  const rarely = await sample(lab, requests, 4);
  const scored = await Promise.all(
    requests.map(({ prompt, scale }, i) => lab.score(scale, [{ prompt, completions: [together[i].tokens] }])),
  );
  const sampled = together.flatMap(({ fullLogps }) => [...fullLogps]);
  check.exact('a sample does not depend on its neighbours', flatten(together), flatten(alone));
  check.exact('a sample does not depend on its place', flatten(together), flatten(backwards));
  check.exact('a sample does not depend on when it is read', flatten(together), flatten(rarely));
  check.absolute(
    'sampled log-probability is the scored one',
    sampled,
    scored.flatMap((logps) => [...logps]),
    roundingBound,
  );
}
