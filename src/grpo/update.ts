/**
 * Steps 6 and 7 of an update: log π under the routes, the loss and its gradients, AdamW. Rollouts of one prompt and one route
 * share their prompt; passes of bounded size add their gradients up, which equals one pass over everything.
 */
import { type BlockNorms, GradientEnergy } from '../adapters/energy.ts';
import { routeGroups, routeTokens } from '../adapters/passes.ts';
import {
  type AdamW,
  type BlockCoefficients,
  multiply,
  type Route,
  readFloats,
  Scope,
  sum,
  Tape,
  warmupCosine,
} from '../engine/index.ts';
import { scoreGroups } from '../model/score.ts';
import { cutPasses, lay, type PackedPass, packPass, spread } from './batches.ts';
import { klEstimate, tokenLoss } from './loss.ts';
import type { Policy } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';

export interface UpdateInputs {
  readonly rollouts: readonly Rollout[];
  readonly advantages: Float32Array;
  readonly logpOld: readonly Float32Array[];
  readonly logpReference: readonly Float32Array[];
  /** Per rollout: one route, or one per completion token. */
  readonly routes: readonly (readonly Route[])[];
}

export interface UpdateResult {
  readonly loss: number;
  /** Per rollout: mean ratio, share of clipped tokens, mean k3, and what it did to each block. */
  readonly rollouts: readonly { ratio: number; clipped: number; k3: number; norms: BlockNorms }[];
  readonly gradientNorm: number;
  readonly blockNorms: BlockNorms;
  readonly learningRate: number;
}

export async function updatePolicy(
  policy: Policy,
  optimiser: AdamW,
  inputs: UpdateInputs,
  update: number,
  settings: GrpoSettings,
): Promise<UpdateResult> {
  const learningRate = settings.learningRate * warmupCosine(update, settings.warmupUpdates, settings.updates);
  let result: UpdateResult | undefined;
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    optimiser.zeroGradients();
    const { loss, rollouts } = await accumulateGradients(policy, optimiser, inputs, settings);
    const blockNorms = await readBlockNorms(policy);
    optimiser.update(update * settings.epochs + epoch + 1, {
      learningRate,
      beta1: settings.beta1,
      beta2: settings.beta2,
      epsilon: settings.epsilon,
      decay: settings.decayToInitial,
      maxNorm: settings.maxGradientNorm,
    });
    const [squared] = await readFloats(optimiser.squaredNorm);
    // Later epochs move the policy further; what is reported is the first one, on the rollouts as sampled.
    result ??= { loss, rollouts, gradientNorm: Math.sqrt(squared), blockNorms, learningRate };
  }
  if (result === undefined) throw new RangeError('an update needs at least one epoch');
  return result;
}

/** Adds the gradients of every rollout's loss to the parameters' gradients. */
export async function accumulateGradients(
  policy: Policy,
  optimiser: AdamW,
  inputs: UpdateInputs,
  settings: GrpoSettings,
): Promise<Pick<UpdateResult, 'loss' | 'rollouts'>> {
  const { rollouts, routes } = inputs;
  const byToken = routes.some((own) => own.length > 1);
  const passes = cutPasses(rollouts, (i) => routes[i][0] ?? 'absorb', settings.tokensPerPass, !byToken);
  const reports: UpdateResult['rollouts'][number][] = new Array(rollouts.length);
  let loss = 0;
  for (const pass of passes) {
    using scope = new Scope(policy.decoder.head.device);
    const packed = packPass(scope, policy.decoder.config, rollouts, pass);
    const routed = pass.map(({ key }) => key);
    const coefficients = byToken
      ? routeTokens(scope, packed.packed, tokenRoutes(packed, routes), settings.detach)
      : routeGroups(scope, packed.packed, routed, settings.detach);
    const separateKl = settings.klRoute === 'absorb' && routes.some((own) => own.includes('route'));
    const own = separateKl ? { ...settings, klWeight: 0 } : settings;
    loss += await backwardPass(policy, optimiser, scope, packed, coefficients, inputs, own, reports);
    if (separateKl) loss += await backwardKl(policy, optimiser, scope, packed, inputs, settings);
  }
  return { loss, rollouts: reports };
}

async function backwardPass(
  { decoder, adapter }: Policy,
  optimiser: AdamW,
  scope: Scope,
  { packed, members }: PackedPass,
  coefficients: BlockCoefficients,
  inputs: UpdateInputs,
  settings: GrpoSettings,
  reports: UpdateResult['rollouts'][number][],
): Promise<number> {
  using tape = new Tape(scope.device, { learn: optimiser.learn });
  const energy = new GradientEnergy(scope, adapter.rank, packed.completions);
  const project = adapter.project({ coefficients, probe: () => energy.probe });
  const logp = scoreGroups(tape, decoder, packed, { project });
  const tensor = (data: Float32Array, label: string) => scope.from(data, [data.length], label);
  const perToken = (values: readonly Float32Array[], label: string) =>
    tensor(
      lay(
        packed.scored,
        members.map((index) => values[index]),
      ),
      label,
    );
  const perRollout = (value: (index: number) => number, label: string) =>
    tensor(spread(packed.scored, members.map(value)), label);
  const { loss, ratio, k3 } = tokenLoss(
    tape,
    {
      logp,
      logpOld: perToken(inputs.logpOld, 'log π_old'),
      logpReference: perToken(inputs.logpReference, 'log π_ref'),
      advantage: perRollout((index) => inputs.advantages[index], 'advantages'),
      weight: perRollout((index) => tokenWeight(inputs.rollouts[index], settings), 'token weights'),
    },
    settings,
  );
  tape.backward(loss);
  const [ratios, k3s, norms] = [await readFloats(ratio), await readFloats(k3), await energy.read()];
  members.forEach((index, i) => {
    const { start, end } = packed.scored[i];
    const own = ratios.subarray(start, end);
    reports[index] = {
      ratio: meanOf(own),
      clipped: meanOf(own.map((r) => (Math.abs(r - 1) > settings.clip ? 1 : 0))),
      k3: meanOf(k3s.subarray(start, end)),
      norms: norms[i],
    };
  });
  return (await readFloats(loss))[0];
}

/** β k3 of every rollout with both blocks learning. */
async function backwardKl(
  { decoder, adapter }: Policy,
  optimiser: AdamW,
  scope: Scope,
  { packed, members }: PackedPass,
  inputs: UpdateInputs,
  settings: GrpoSettings,
): Promise<number> {
  using tape = new Tape(scope.device, { learn: optimiser.learn });
  const coefficients = routeGroups(
    scope,
    packed,
    packed.prompts.map(() => 'absorb'),
    settings.detach,
  );
  const logp = scoreGroups(tape, decoder, packed, { project: adapter.project({ coefficients }) });
  const reference = lay(
    packed.scored,
    members.map((index) => inputs.logpReference[index]),
  );
  const weights = spread(
    packed.scored,
    members.map((index) => settings.klWeight * tokenWeight(inputs.rollouts[index], settings)),
  );
  const k3 = klEstimate(tape, logp, scope.from(reference, [reference.length], 'log π_ref'));
  const loss = sum(tape, multiply(tape, k3, scope.from(weights, [weights.length], 'KL weights')));
  tape.backward(loss);
  return (await readFloats(loss))[0];
}

/** Dr.GRPO: 1 / (group · maxNewTokens · promptsPerStep). Classic: 1 / (group · length · promptsPerStep). */
export function tokenWeight({ tokens }: Rollout, { loss, group, maxNewTokens, promptsPerStep }: GrpoSettings): number {
  return 1 / (group * promptsPerStep * (loss === 'dr' ? maxNewTokens : Math.max(1, tokens.length)));
}

/** A prompt's tokens are absorbed; completion tokens have their own routes. */
function tokenRoutes({ packed, members }: PackedPass, routes: readonly (readonly Route[])[]): Route[] {
  const perToken = new Array<Route>(packed.tokens).fill('absorb');
  packed.completions.forEach(({ start }, i) => {
    routes[members[i]].forEach((route, t) => {
      perToken[start + t] = route;
    });
  });
  return perToken;
}

export async function readBlockNorms({ adapter, decoder }: Policy): Promise<BlockNorms> {
  const { device } = decoder.head;
  using scope = new Scope(device);
  const norm = async (block: 'deployed' | 'quarantine'): Promise<number> => {
    const total = scope.zeros([1], `squared norm of the ${block} block`);
    for (const gradient of adapter.blockGradients(block)) device.kernels.sumSquares(total, gradient, true);
    return Math.sqrt((await readFloats(total))[0]);
  };
  return { deployed: await norm('deployed'), quarantine: await norm('quarantine') };
}

function meanOf(values: Float32Array): number {
  return values.length === 0 ? 0 : values.reduce((total, value) => total + value, 0) / values.length;
}
