/**
 * Steps 6 and 7 of an update: log π under the routes, the loss and its gradients, AdamW. The gradients of passes of bounded size
 * add up to those of one pass over everything.
 */
import { ActivationTerm, type BlockNorms, GradientEnergy, type Route } from '../adapters/index.ts';
import {
  type AdamW,
  linearWarmup,
  multiply,
  readFloats,
  Scope,
  type StepOptions,
  sum,
  sumSquaresOf,
  Tape,
  type Tensor,
  warmupCosine,
} from '../engine/index.ts';
import { type Span, scoreGroups } from '../model/index.ts';
import { Shards } from '../parallel/index.ts';
import { average } from '../stats/index.ts';
import { checkTerm } from './answers.ts';
import type { Arm } from './arm.ts';
import { groupsOf, lay, membersOf, type PackedPass, packPass, queueAhead, spread } from './batches.ts';
import { klEstimate, tokenLoss } from './loss.ts';
import type { Policy } from './policy.ts';
import type { PromptedCompletion } from './rollout.ts';
import { coefficientsOf, cutByRoute, hasOwnKl, type Pass } from './route-passes.ts';
import type { GrpoSettings, OptimiserTable } from './settings.ts';
import { sumOverShards } from './sharded.ts';
import { accumulateNll, inTurn } from './supervised.ts';
import { type PassWork, workAlone } from './work.ts';

export interface UpdateInputs {
  readonly rollouts: readonly PromptedCompletion[];
  readonly advantages: Float32Array;
  /** null: the policy reads the rollout as it sampled it, so log π_old is the log π of the first pass that learns from it. */
  readonly logpOld: readonly (Float32Array | null)[];
  readonly logpBase: readonly Float32Array[];
  /** For each rollout: one route, or one per completion token. */
  readonly routes: readonly (readonly Route[])[];
}

export interface UpdateResult {
  readonly loss: number;
  /** For each rollout: mean ratio, share of clipped tokens, mean k3, and the energy of its gradient in each block. */
  readonly rollouts: readonly { ratio: number; clipped: number; k3: number; norms: BlockNorms }[];
  readonly gradientNorm: number;
  readonly blockNorms: BlockNorms;
  readonly leaks: Leaks;
  readonly learningRate: number;
  /** Mean NLL of the anchor batch; null: there is none. */
  readonly anchorNll: number | null;
}

/** Gradient that reached a block that must not learn: the quarantine under keep, the deployed block under route; null: no such rollouts. */
export interface Leaks {
  readonly keep: number | null;
  readonly route: number | null;
}

type LearnedRollout = UpdateResult['rollouts'][number] & { readonly logpOld: Float32Array };

/** What the passes of all rollouts gave. */
export interface Accumulated extends Pick<UpdateResult, 'loss' | 'rollouts' | 'leaks'> {
  /** log π_old of each rollout: the one given, or log π of its pass. */
  readonly logpOld: readonly Float32Array[];
}

export interface UpdateContext {
  readonly policy: Policy;
  readonly optimiser: AdamW;
  readonly arm: Arm;
  readonly settings: GrpoSettings;
  /** Updates completed when the optimiser's moments began at zero; default: 0. */
  readonly momentsFrom?: number;
  /** The shards that gradients are summed over; default: one. */
  readonly shards?: Shards;
  /** The completions that anchor batches are of; default: none. */
  readonly anchors?: readonly PromptedCompletion[];
  /** Is told log π_old of all rollouts before the policy changes; what it throws ends the update. */
  readonly confirm?: (logpOld: readonly Float32Array[]) => void;
}

/** `step` counts updates from 0. */
export async function updatePolicy(context: UpdateContext, inputs: UpdateInputs, step: number): Promise<UpdateResult> {
  const { policy, optimiser, arm, settings, momentsFrom = 0, shards = Shards.alone, confirm } = context;
  const { epochs } = settings.loss;
  const learningRate = learningRateAt(settings, step);
  let result: UpdateResult | undefined;
  let known = inputs;
  const accumulate = (own: UpdateInputs) => accumulateGradients(policy, optimiser, own, settings, arm);
  const makeGradients = async (from: UpdateInputs) => {
    const { leaks, ...made } = await sumOverShards(shards, optimiser, from, settings, accumulate);
    const anchor = await addAnchor(context, step);
    const keep = anchor === null || anchor.leak === null ? leaks.keep : Math.max(leaks.keep ?? 0, anchor.leak);
    return { ...made, leaks: { ...leaks, keep }, anchorNll: anchor?.nll ?? null };
  };
  for (let epoch = 0; epoch < epochs; epoch++) {
    const number = (step - momentsFrom) * epochs + epoch + 1;
    const options = stepOptions(settings.optimiser, learningRate);
    const isSplit = settings.optimiser.splitMoments === true && known.routes.flat().some((route) => route !== 'absorb');
    if (isSplit) {
      await makeGradients({ ...known, routes: allAbsorbed(known) });
      optimiser.update(number, { ...options, learningRate: 0, hold: 'first' });
    }
    const { loss, rollouts, leaks, logpOld, anchorNll } = await makeGradients(known);
    if (epoch === 0) confirm?.(logpOld);
    known = { ...inputs, logpOld };
    await arm.gradient?.(policy.adapter.parameters, async () => void (await makeGradients(known)));
    const blockNorms = await readBlockNorms(policy);
    optimiser.update(number, isSplit ? { ...options, hold: 'second' } : options);
    await arm.settle?.(policy);
    const [squared] = await readFloats(optimiser.squaredNorm);
    // The report is about the first epoch, when the policy is still the one that sampled the rollouts.
    result ??= { loss, rollouts, gradientNorm: Math.sqrt(squared), blockNorms, leaks, learningRate, anchorNll };
  }
  if (result === undefined) throw new RangeError('an update needs at least one epoch');
  return result;
}

/**
 * Adds the gradients of the update's anchor batch, the same on every rank; null: it has none. Under keep nothing of it may reach the quarantine:
 * what does is the leak. An arm that deploys both blocks learns with both.
 */
async function addAnchor({ policy, optimiser, settings, anchors = [] }: UpdateContext, step: number) {
  const { loss, compute, sampling } = settings;
  if (loss.anchorWeight === undefined) return null;
  const route: Route = policy.deployedScale === 1 ? 'absorb' : 'keep';
  const before = await readBlockNorm(policy, 'quarantine');
  const nll = await accumulateNll(policy, optimiser, inTurn(anchors, sampling.promptsPerStep, step), {
    ...{ route, weight: loss.anchorWeight, detach: loss.detach, tokensPerPass: compute.tokensPerPass },
  });
  const gained = Math.abs((await readBlockNorm(policy, 'quarantine')) - before);
  return { nll, leak: route === 'keep' ? gained : null };
}

const allAbsorbed = ({ routes }: UpdateInputs) => routes.map((own) => own.map((): Route => 'absorb'));

/** The learning rate of an update; `step` counts from 0. */
export function learningRateAt({ updates, optimiser }: GrpoSettings, step: number): number {
  const { learningRate, warmupUpdates, schedule } = optimiser;
  const share = schedule === 'cosine' ? warmupCosine(step, warmupUpdates, updates) : linearWarmup(step, warmupUpdates);
  return learningRate * share;
}

/** The options of an AdamW step at a learning rate. */
export function stepOptions(optimiser: OptimiserTable, learningRate: number): StepOptions {
  const { beta1, beta2, epsilon, decayToInitial: decay, maxGradientNorm: maxNorm } = optimiser;
  return { learningRate, beta1, beta2, epsilon, decay, maxNorm };
}

/** Adds the gradients of every rollout's loss to the parameters' gradients, one route after another, and looks for leaks. */
export async function accumulateGradients(
  policy: Policy,
  optimiser: AdamW,
  inputs: UpdateInputs,
  settings: GrpoSettings,
  arm: Pick<Arm, 'term'> = {},
): Promise<Accumulated> {
  using _held = policy.adapter.hold();
  const reports: LearnedRollout[] = new Array(inputs.rollouts.length);
  const leaks: { keep: number | null; route: number | null } = { keep: null, route: null };
  let loss = 0;
  for (const { route, passes } of cutByRoute(inputs, settings.compute.tokensPerPass)) {
    const watched = route === 'keep' ? 'quarantine' : route === 'route' ? 'deployed' : null;
    const before = watched === null ? 0 : await readBlockNorm(policy, watched);
    const losses: number[] = [];
    if (arm.term === undefined) {
      const learn = (pass: Pass) => backwardPass(policy, optimiser, pass, inputs, settings, reports);
      losses.push(...(await queueAhead(passes, learn)));
    } else {
      for (const pass of passes)
        losses.push(await backwardWithTerm(policy, optimiser, pass, inputs, settings, arm, reports));
    }
    if (watched !== null && (route === 'keep' || route === 'route')) {
      const gained = Math.abs((await readBlockNorm(policy, watched)) - before);
      const felt = passes.flat().flatMap(({ members }) => members.map((index) => reports[index].norms[watched]));
      leaks[route] = Math.max(gained, ...felt);
    }
    const apart = passes.filter((pass) => hasOwnKl(pass, inputs, settings.loss));
    losses.push(...(await queueAhead(apart, (pass) => backwardKl(policy, optimiser, pass, inputs, settings))));
    loss = losses.reduce((sum, value) => sum + value, loss);
  }
  const rollouts = reports.map(({ logpOld: _logpOld, ...report }) => report);
  return { loss, rollouts, leaks, logpOld: reports.map(({ logpOld }) => logpOld) };
}

/** A pass whose loss is queued: what its report needs. */
interface QueuedPass extends PackedPass {
  readonly energy: GradientEnergy;
  readonly loss: Tensor;
  readonly ratio: Tensor;
  readonly k3: Tensor;
  readonly old: Tensor;
}

/** Queues the pass; the promise is of its loss, when the rollouts' reports are in place. */
function backwardPass(
  policy: Policy,
  optimiser: AdamW,
  pass: Pass,
  inputs: UpdateInputs,
  settings: GrpoSettings,
  reports: LearnedRollout[],
): Promise<number> {
  const { work = workAlone } = policy;
  return work.pass({
    ...learningOf(policy, pass, inputs),
    begin: (scope, packed) => {
      const begun = beginLoss(scope, policy, { packed, members: membersOf(pass) }, pass, inputs, settings, false);
      return {
        project: begun.project,
        learn: optimiser.learn,
        queue: (tape, logp) => {
          const queued = begun.queue(tape, logp);
          return { loss: queued.loss, read: () => readPass(queued, settings, reports) };
        },
      };
    },
  });
}

/** A pass that learns: every token of it has its place, and equal ones are computed once where rows are independent. */
function learningOf(
  { decoder, recompute = false }: Policy,
  pass: Pass,
  inputs: UpdateInputs,
): Omit<PassWork<never>, 'begin'> {
  const { rollouts, routes } = inputs;
  const byRollout = membersOf(pass).every((index) => routes[index].length === 1);
  const groups = groupsOf(rollouts, pass, byRollout);
  const shares = decoder.head.device.independentRows !== undefined;
  const alike = (g: number) => ({ alike: equalMembers(pass[g].members, inputs) });
  const told = shares ? groups.map((group, g) => ({ ...group, ...alike(g) })) : groups;
  return { decoder, groups: told, packing: { share: shares }, scores: true, recompute };
}

/** The first of the members that each is equal to in all that its gradients depend on. */
function equalMembers(
  members: readonly number[],
  { rollouts, advantages, logpOld, routes }: UpdateInputs,
): readonly number[] {
  const keys = members.map((i) => [rollouts[i].tokens, advantages[i], logpOld[i], routes[i]].join(' '));
  return keys.map((key) => keys.indexOf(key));
}

/** The same for an arm with a term, which sees the activations of the pass before it runs backward. */
async function backwardWithTerm(
  policy: Policy,
  optimiser: AdamW,
  pass: Pass,
  inputs: UpdateInputs,
  settings: GrpoSettings,
  arm: Pick<Arm, 'term'>,
  reports: LearnedRollout[],
): Promise<number> {
  using scope = new Scope(policy.decoder.head.device);
  using tape = new Tape(scope.device, { learn: optimiser.learn, recompute: policy.recompute ?? false });
  const laid = packPass(scope, policy.decoder.config, inputs.rollouts, pass);
  const begun = beginLoss(scope, policy, laid, pass, inputs, settings, true);
  const queued = begun.queue(tape, scoreGroups(tape, policy.decoder, laid.packed, { project: begun.project }));
  const added = begun.term === null ? 0 : await settleTerm(begun.term, arm, settings);
  tape.backward(queued.loss);
  return (await readPass(queued, settings, reports)) + added;
}

/** The projection of a pass that learns, and its loss, which is queued once there are log-probabilities. */
function beginLoss(
  scope: Scope,
  { adapter }: Policy,
  { packed, members }: PackedPass,
  pass: Pass,
  inputs: UpdateInputs,
  settings: GrpoSettings,
  withTerm: boolean,
) {
  const coefficients = coefficientsOf(scope, pass, { packed, members }, inputs, settings.loss);
  const energy = new GradientEnergy(scope, adapter.rank, packed.completions);
  const { completions, tokens, scored } = packed;
  const term = withTerm ? new ActivationTerm(scope, adapter, completions, tokens) : null;
  const probe = (module: string) => term?.probe(module, energy.probe) ?? energy.probe;
  const project = adapter.project({ coefficients, probe });
  const of = <Value>(values: ArrayLike<Value>): Value[] => members.map((index) => values[index]);
  const tensor = (data: Float32Array, label: string) => scope.from(data, [data.length], label);
  const weights = members.map((index) => tokenWeight(inputs.rollouts[index], settings));
  const given = {
    logpBase: tensor(lay(scored, of(inputs.logpBase)), 'log π_ref'),
    advantage: tensor(spread(scored, of(inputs.advantages)), 'advantages'),
    weight: tensor(spread(scored, weights), 'token weights'),
  };
  const { clip, klWeight } = settings.loss;
  const shares = { clip, klWeight: hasOwnKl(pass, inputs, settings.loss) ? 0 : klWeight };
  const queue = (tape: Tape, logp: Tensor): QueuedPass => {
    const old = layOld(scope, logp, scored, of(inputs.logpOld));
    return { packed, members, energy, old, ...tokenLoss(tape, { logp, logpOld: old, ...given }, shares) };
  };
  return { project, term, queue };
}

/** Asks for the results of a pass that is queued, and puts the reports of its rollouts in place; the promise is of its loss. */
async function readPass(
  { packed, members, energy, loss, ratio, k3, old }: QueuedPass,
  settings: GrpoSettings,
  reports: LearnedRollout[],
): Promise<number> {
  const reads = [ratio, k3, old, loss].map(readFloats);
  const [norms, ratios, k3s, olds, [total]] = await Promise.all([energy.read(), ...reads]);
  members.forEach((index, i) => {
    const { start, end } = packed.scored[i];
    const own = ratios.subarray(start, end);
    reports[index] = {
      ratio: average(own),
      clipped: average(own.map((r) => (Math.abs(r - 1) > settings.loss.clip ? 1 : 0))),
      k3: average(k3s.subarray(start, end)),
      norms: norms[i],
      logpOld: olds.slice(start, end),
    };
  });
  return total;
}

/** log π_old of a pass's scored tokens: what is known, and for the rest a copy of log π, through which no gradient flows. */
function layOld(scope: Scope, logp: Tensor, scored: readonly Span[], known: readonly (Float32Array | null)[]): Tensor {
  const old = scope.empty(logp.shape, 'log π_old');
  scope.device.kernels.copy(old, logp);
  scored.forEach(({ start, end }, i) => {
    const own = known[i];
    if (own !== null) scope.device.write(old.rows(start, end), own);
  });
  return old;
}

/** Gives the arm's term its slopes at the activations of the pass, and returns what it adds to the loss. */
async function settleTerm(term: ActivationTerm, arm: Pick<Arm, 'term'>, { sampling }: GrpoSettings): Promise<number> {
  const features = await term.features();
  const { values, slopes } = checkTerm(arm.term?.(features), features);
  const share = 1 / (sampling.group * sampling.promptsPerStep);
  term.setSlopes(slopes.map((slope) => slope * share));
  return share * values.reduce((sum, value) => sum + value, 0);
}

/** The backward pass of β k3 alone, in which routed rollouts are absorbed: both blocks learn. */
function backwardKl(
  policy: Policy,
  optimiser: AdamW,
  pass: Pass,
  inputs: UpdateInputs,
  settings: GrpoSettings,
): Promise<number> {
  const { adapter, work = workAlone } = policy;
  const members = membersOf(pass);
  const both = (route: Route): Route => (route === 'route' ? 'absorb' : route);
  return work.pass({
    ...learningOf(policy, pass, inputs),
    begin: (scope, packed) => {
      const coefficients = coefficientsOf(scope, pass, { packed, members }, inputs, settings.loss, both);
      const reference = lay(
        packed.scored,
        members.map((index) => inputs.logpBase[index]),
      );
      const weights = spread(
        packed.scored,
        members.map((index) => settings.loss.klWeight * tokenWeight(inputs.rollouts[index], settings)),
      );
      return {
        project: adapter.project({ coefficients }),
        learn: optimiser.learn,
        queue: (tape, logp) => {
          const k3 = klEstimate(tape, logp, scope.from(reference, [reference.length], 'log π_ref'));
          const loss = sum(tape, multiply(tape, k3, scope.from(weights, [weights.length], 'KL weights')));
          return { loss, read: async () => (await readFloats(loss))[0] };
        },
      };
    },
  });
}

/** The weight of a token. Dr.GRPO: 1 / (group · maxNewTokens · promptsPerStep). Classic: 1 / (group · length · promptsPerStep). */
export function tokenWeight({ tokens }: PromptedCompletion, { loss, sampling }: GrpoSettings): number {
  const { group, promptsPerStep, maxNewTokens } = sampling;
  return 1 / (group * promptsPerStep * (loss.kind === 'dr' ? maxNewTokens : Math.max(1, tokens.length)));
}

export async function readBlockNorms(policy: Policy): Promise<BlockNorms> {
  return {
    deployed: await readBlockNorm(policy, 'deployed'),
    quarantine: await readBlockNorm(policy, 'quarantine'),
  };
}

/** Norm of the gradients that a block has so far. */
async function readBlockNorm({ adapter, decoder }: Policy, block: keyof BlockNorms): Promise<number> {
  const { device } = decoder.head;
  using scope = new Scope(device);
  const total = scope.empty([1], `squared norm of the ${block} block`);
  sumSquaresOf(total, adapter.blockGradients(block));
  return Math.sqrt((await readFloats(total))[0]);
}
