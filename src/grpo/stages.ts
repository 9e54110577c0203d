/**
 * The seven stages of an update (step.ts), each from one readonly record to the next: what a stage adds stands in its record. An arm's
 * hooks hold what it does differently; rewards come in as numbers, labels never do.
 */
import type { AdamW } from '../engine/index.ts';
import type { Grader } from '../env/index.ts';
import type { Shards } from '../parallel/index.ts';
import { groupAdvantages } from './advantage.ts';
import { checkRewards, checkRouting, checkScreening, checkWatched } from './answers.ts';
import { type Arm, absorbAll, type Routing, type Screening, type Watched } from './arm.ts';
import { drawTasks } from './draw.ts';
import { assertParity, assertSameAdapter } from './guard.ts';
import { adapterHash, type Policy } from './policy.ts';
import type { PromptedCompletion, Rollout, Task } from './rollout.ts';
import { findReadAsSampled } from './route-passes.ts';
import { type SampleContext, sampleRollouts } from './sample.ts';
import type { SamplerReport } from './sampler.ts';
import { gatherFeatures, type OldScores, scoreBase, scoreOld, scoreSampled } from './score.ts';
import { look } from './seen.ts';
import { coveredTasks } from './teacher.ts';
import { type UpdateResult, updatePolicy } from './update.ts';

export interface StepContext extends SampleContext {
  readonly policy: Policy;
  readonly optimiser: AdamW;
  readonly tasks: readonly Task[];
  readonly grader: Grader;
  /** Updates completed when the optimiser's moments began at zero; default: 0. */
  readonly momentsFrom?: number;
  /** The completions that anchor batches are of; default: none. */
  readonly anchors?: readonly PromptedCompletion[];
  /** How the prompts are divided among ranks. The sampler and the grader know it by themselves. */
  readonly shards: Shards;
  /** Turns a prompt into text, for an arm that sees text. */
  readonly showPrompt: (tokens: Int32Array) => string;
  /** Is called when a phase begins, for clocks and progress. */
  readonly enter: (phase: Phase) => void;
  /** A word that changes whenever the policy does; default: a hash of its values. */
  readonly hashPolicy?: (policy: Policy) => Promise<string>;
}

export type Phase = 'sample' | 'grade' | 'watch' | 'score' | 'route' | 'learn';

export interface Sampled {
  /** Index of the update, from 0. */
  readonly index: number;
  /** The adapter that sampled. */
  readonly hash: string;
  readonly rollouts: readonly Rollout[];
  /** How they were sampled; null: by this process, which alone may. */
  readonly sampler: SamplerReport | null;
}

export async function sample(context: StepContext, index: number): Promise<Sampled> {
  const { policy, settings, enter, hashPolicy = adapterHash } = context;
  enter('sample');
  const drawn = drawTasks(deckOf(context, index), settings, index);
  const [hash, rollouts] = await Promise.all([hashPolicy(policy), sampleRollouts(drawn, index, context)]);
  return { index, hash, rollouts, sampler: context.sampler.report?.() ?? null };
}

/** The problems that an update draws from: in the teacher phase, those that have their demonstrations. */
function deckOf({ tasks, pool, settings: { teacher } }: StepContext, index: number): readonly Task[] {
  return pool === null || index >= teacher.offStep ? tasks : coveredTasks(tasks, pool, teacher.perGroup);
}

export interface Graded extends Sampled {
  /** The grader's rewards. */
  readonly rewards: Float32Array;
  /** What the policy read of all rollouts, where a hook before the advantages needs features; null elsewhere. */
  readonly early: OldScores | null;
}

/** Programs run while the policy reads; on several ranks one after the other, since all must gather both in the same order. */
export async function grade(context: StepContext, sampled: Sampled): Promise<Graded> {
  const { grader, arm, shards, enter } = context;
  const { rollouts } = sampled;
  enter('grade');
  const grading = grader.grade(rollouts.map((rollout) => forGrader(rollout, context.settings.environment.tokenPrice)));
  if (!looksEarly(arm)) return { ...sampled, rewards: await grading, early: null };
  // A grader that fails meanwhile is told of below, when the device is at rest.
  grading.catch(() => undefined);
  if (shards.ranks > 1) await grading;
  enter('score');
  const early = await gatherFeatures(context, rollouts);
  enter('grade');
  return { ...sampled, rewards: await grading, early };
}

/** Whether a hook before the advantages needs features, which are then computed before it runs. */
function looksEarly({ sees, watch: watches, reward, screen }: Arm): boolean {
  return sees.features !== null && (watches !== undefined || reward !== undefined || screen !== undefined);
}

function forGrader({ id, task, hackable, text, tokens }: Rollout, tokenPrice: number) {
  const { problem, loophole, markers } = task;
  const charge = tokenPrice * tokens.length;
  return { id, problem, loophole: hackable ? loophole : ('gt_only' as const), markers, completion: text, charge };
}

export interface Reviewed extends Graded {
  /** What the arm's monitor said of the rollouts; null for an arm without one. */
  readonly watched: Watched | null;
  /** The rewards that the arm made of the grader's; null for an arm that changes none. */
  readonly learnedRewards: Float32Array | null;
  readonly screening: readonly Screening[] | null;
}

/** Hooks get copies, so that they cannot change the recorded rewards or the advantages in place. */
export async function watch(context: StepContext, graded: Graded): Promise<Reviewed> {
  const { arm, shards, enter } = context;
  const { index, rollouts, rewards, early } = graded;
  const { length: count } = rollouts;
  const seen = look(context, index, rollouts, early);
  // One rank asks for all: a monitor may be an endpoint.
  const ask = () => shards.fromFirst(async () => checkWatched(await arm.watch?.({ ...seen, rewards: rewards.slice() }), count)); // biome-ignore format: one line
  if (arm.watch !== undefined) enter('watch');
  const watched = arm.watch === undefined ? null : await ask();
  const shown = { ...seen, ...(watched === null ? {} : { watched }) };
  const changed = await arm.reward?.({ ...shown, rewards: rewards.slice() });
  const learnedRewards = arm.reward === undefined ? null : checkRewards(changed, count);
  const screened = await arm.screen?.({ ...shown, rewards: (learnedRewards ?? rewards).slice() });
  const screening = arm.screen === undefined ? null : checkScreening(screened, count);
  return { ...graded, watched, learnedRewards, screening };
}

export interface Weighed extends Reviewed {
  readonly advantages: Float32Array;
  readonly skippedGroups: readonly boolean[];
  /** Indices of the rollouts that carry gradient; logpOld, logpBase, features, condensed and routing are in this order. */
  readonly trained: readonly number[];
}

export function advantages({ settings }: StepContext, reviewed: Reviewed): Weighed {
  const { rollouts, rewards, learnedRewards, screening } = reviewed;
  const { kind, deviationFloor } = settings.loss;
  const { group } = settings.sampling;
  const { values, skipped } = groupAdvantages(learnedRewards ?? rewards, group, kind, screening, deviationFloor);
  const trained = [...rollouts.keys()].filter((i) => !skipped[rollouts[i].group]);
  return { ...reviewed, advantages: values, skippedGroups: skipped, trained };
}

export interface Read extends Weighed {
  readonly logpBase: readonly Float32Array[];
  readonly features: OldScores['features'];
  readonly condensed: OldScores['condensed'];
  readonly reading: Reading;
}

/** What was read of the rollouts that carry gradient. */
interface Reading {
  /** The rollouts under the prompts that sampled them, and under those that they are learned under. */
  readonly kept: readonly Rollout[];
  readonly learned: readonly Rollout[];
  readonly old: OldScores;
  /** log π of the tokens under the prompts that sampled them; null where these are the prompts that are learned under. */
  readonly logpSampled: readonly Float32Array[] | null;
}

export async function read(context: StepContext, weighed: Weighed): Promise<Read> {
  const { policy, shards, enter, hashPolicy = adapterHash } = context;
  const { rollouts, trained, early, hash } = weighed;
  enter('score');
  const kept = trained.map((i) => rollouts[i]);
  const learned = kept.map((rollout) => ({ ...rollout, prompt: rollout.learnPrompt }));
  const asSampled = kept.every(({ prompt, learnPrompt }) => prompt === learnPrompt);
  const seen = early !== null && asSampled ? pick(early, trained) : await gatherFeatures(context, learned);
  const old = { ...seen, logpOld: seen.logpOld.map((logp, i) => ofOlderWeights(kept[i]) ?? logp) };
  // Under other prompts than the sampler's, its log-probabilities have to be compared with a reading of their own.
  const logpSampled = asSampled ? null : await scoreSampled(context, kept);
  const [hashScored, logpBase] = await Promise.all([hashPolicy(policy), scoreBase(context, learned)]);
  await shards.expectSame('the adapter', hashScored);
  assertSameAdapter(hash, hashScored);
  const { features, condensed } = old;
  return { ...weighed, logpBase, features, condensed, reading: { kept, learned, old, logpSampled } };
}

/** log π_old of a rollout that older weights sampled is theirs, as the sampler has read it; null for all others. */
function ofOlderWeights({ staleness = 0, sampledLogps }: Rollout): Float32Array | null {
  return staleness > 0 ? sampledLogps : null;
}

function pick({ logpOld, features, condensed, passes }: OldScores, indices: readonly number[]): OldScores {
  return {
    passes,
    logpOld: indices.map((i) => logpOld[i]),
    features: indices.map((i) => features[i]),
    condensed: condensed === null ? null : indices.map((i) => condensed[i]),
  };
}

export interface Routed extends Read {
  readonly routing: Routing;
}

export async function route(context: StepContext, scored: Read): Promise<Routed> {
  const { arm, enter } = context;
  const { index, trained, watched, advantages: values, reading } = scored;
  enter('route');
  const told = watched === null ? {} : { watched: pickWatched(watched, trained) };
  const shown = { ...look(context, index, reading.kept, reading.old), ...told, advantages: of(values, trained) };
  const routing =
    arm.route === undefined ? absorbAll(trained.length) : checkRouting(await arm.route(shown), reading.kept);
  return { ...scored, routing };
}

function pickWatched({ scores, flagged, ...others }: Watched, indices: readonly number[]): Watched {
  return { ...others, scores: indices.map((i) => scores[i]), flagged: indices.map((i) => flagged[i]) };
}

function of(values: Float32Array, indices: readonly number[]): Float32Array {
  return Float32Array.from(indices, (i) => values[i]);
}

export interface StepOutcome extends Omit<Routed, 'early' | 'reading'> {
  readonly logpOld: readonly Float32Array[];
  readonly result: UpdateResult | null;
  /** Number of completions that the policy read without learning from them: for log π_old, log π_ref and features. Equal ones count each. */
  readonly scoringPasses: number;
  readonly parity: number;
}

/** log π_old is what was read, or log π of the pass that learns where that reads as the sampler did; both must agree with the sampler. */
export async function learn(context: StepContext, routed: Routed): Promise<StepOutcome> {
  const { policy, settings, enter } = context;
  const { early, reading, ...seen } = routed;
  const { kept, learned, logpSampled } = reading;
  const { routes } = routed.routing;
  enter('score');
  const old = await scoreOld(context, learned, reading.old, findReadAsSampled(policy, kept, routes));

  enter('learn');
  let [parity, logpOld]: [number, readonly Float32Array[]] = [0, []];
  const confirm = (all: readonly Float32Array[]): void => {
    [parity, logpOld] = [assertParity(kept, logpSampled ?? all, settings.safety), all];
  };
  const advantaged = of(routed.advantages, routed.trained);
  const inputs = { rollouts: learned, advantages: advantaged, logpOld: old.logpOld, logpBase: routed.logpBase, routes };
  const result = kept.length === 0 ? null : await updatePolicy({ ...context, confirm }, inputs, routed.index);
  const again = logpSampled === null ? 0 : (early?.passes ?? 0) + kept.length;
  return { ...seen, logpOld, result, scoringPasses: old.passes + kept.length + again, parity };
}
