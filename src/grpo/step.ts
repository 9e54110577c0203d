/**
 * One update of Dr.GRPO with routed gradients, in the order of docs/science.md, section 6. Rewards come in as numbers; labels never do.
 * An arm's hooks hold what it does differently.
 */
import type { AdamW } from '../engine/index.ts';
import type { Grader } from '../env/index.ts';
import type { Shards } from '../parallel/index.ts';
import { groupAdvantages } from './advantage.ts';
import { checkRewards, checkRouting, checkScreening, checkWatched } from './answers.ts';
import { type Arm, absorbAll, type Routing, type Screening, type Watched } from './arm.ts';
import { drawTasks } from './draw.ts';
import { assertParity } from './guard.ts';
import { adapterHash, type Policy } from './policy.ts';
import type { Rollout, Task } from './rollout.ts';
import { findReadAsSampled } from './route-passes.ts';
import { type SampleContext, sampleRollouts } from './sample.ts';
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
  /** How the prompts are divided among ranks; absent in a run without shards. The sampler and the grader know it by themselves. */
  readonly shards?: Shards;
  /** Turns a prompt into text, for an arm that sees text. */
  readonly showPrompt: (tokens: Int32Array) => string;
  /** Is called when a phase begins, for clocks and progress. */
  readonly enter: (phase: Phase) => void;
  /** A word that changes whenever the policy does; default: a hash of its values. */
  readonly hashPolicy?: (policy: Policy) => Promise<string>;
}

export type Phase = 'sample' | 'grade' | 'watch' | 'score' | 'route' | 'learn';

export interface StepOutcome {
  readonly rollouts: readonly Rollout[];
  /** The grader's rewards. */
  readonly rewards: Float32Array;
  /** What the arm's monitor said of the rollouts; null for an arm without one. */
  readonly watched: Watched | null;
  /** The rewards that the arm made of them; null for an arm that changes none. */
  readonly learnedRewards: Float32Array | null;
  readonly screening: readonly Screening[] | null;
  readonly advantages: Float32Array;
  readonly skippedGroups: readonly boolean[];
  /** Indices of the rollouts that carried gradient; logpOld, logpBase, features, condensed and routing are in this order. */
  readonly trained: readonly number[];
  readonly logpOld: readonly Float32Array[];
  readonly logpBase: readonly Float32Array[];
  readonly features: OldScores['features'];
  readonly condensed: OldScores['condensed'];
  readonly routing: Routing;
  readonly result: UpdateResult | null;
  /** Number of completions that the policy read without learning from them: for log π_old, log π_ref and features. Equal ones count each. */
  readonly scoringPasses: number;
  readonly parity: number;
  readonly hash: string;
}

/** `index` counts updates from 0. */
export async function step(context: StepContext, index: number): Promise<StepOutcome> {
  const { policy, settings, arm, shards, enter, hashPolicy = adapterHash } = context;

  enter('sample');
  const drawn = drawTasks(deckOf(context, index), settings, index);
  const [hashSampled, rollouts] = await Promise.all([hashPolicy(policy), sampleRollouts(drawn, index, context)]);

  enter('grade');
  const { rewards, early } = await gradeAndLook(context, rollouts);
  const seenEarly = look(context, index, rollouts, early);
  const count = rollouts.length;
  if (arm.watch !== undefined) enter('watch');
  // Hooks get copies, so that they cannot change the recorded rewards or the advantages in place.
  const watched =
    arm.watch === undefined
      ? null
      : await once(shards, async () =>
          checkWatched(await arm.watch?.({ ...seenEarly, rewards: rewards.slice() }), count),
        );
  const graded = { ...seenEarly, ...(watched === null ? {} : { watched }) };
  const learnedRewards =
    arm.reward === undefined ? null : checkRewards(await arm.reward({ ...graded, rewards: rewards.slice() }), count);
  const shown = { ...graded, rewards: (learnedRewards ?? rewards).slice() };
  const screening = arm.screen === undefined ? null : checkScreening(await arm.screen(shown), count);

  const { sampling, loss } = settings;
  const { values, skipped } = groupAdvantages(
    learnedRewards ?? rewards,
    sampling.group,
    loss.kind,
    screening,
    loss.deviationFloor,
  );
  const trained = [...rollouts.keys()].filter((i) => !skipped[rollouts[i].group]);
  const kept = trained.map((i) => rollouts[i]);
  const advantages = Float32Array.from(trained, (i) => values[i]);

  enter('score');
  const learned = kept.map((rollout) => ({ ...rollout, prompt: rollout.learnPrompt }));
  const asSampled = kept.every(({ prompt, learnPrompt }) => prompt === learnPrompt);
  const read = early !== null && asSampled ? pick(early, trained) : await gatherFeatures(context, learned);
  // Under other prompts than the sampler's, its log-probabilities have to be compared with a reading of their own.
  const logpSampled = asSampled ? null : await scoreSampled(context, kept);
  const [hash, logpBase] = await Promise.all([hashPolicy(policy), scoreBase(context, learned)]);
  await shards?.expectSame('the adapter', hash);

  enter('route');
  const { features, condensed } = read;
  const told = watched === null ? {} : { watched: pickWatched(watched, trained) };
  const scored = { ...look(context, index, kept, read), ...told, advantages: advantages.slice() };
  const routing = arm.route === undefined ? absorbAll(kept.length) : checkRouting(await arm.route(scored), kept);
  const { routes } = routing;

  enter('score');
  const old = await scoreOld(context, learned, read, findReadAsSampled(policy, kept, routes));

  enter('learn');
  const { parityTolerance: tolerance, parityOver: over } = settings.safety;
  let [parity, logpOld]: [number, readonly Float32Array[]] = [0, []];
  const confirm = (all: readonly Float32Array[]): void => {
    const guarded = { rollouts: kept, logpOld: logpSampled ?? all, hashSampled, hashScored: hash };
    [parity, logpOld] = [assertParity({ ...guarded, tolerance, over }), all];
  };
  const inputs = { rollouts: learned, advantages, logpOld: old.logpOld, logpBase, routes };
  const result = kept.length === 0 ? null : await updatePolicy({ ...context, confirm }, inputs, index);
  if (result === null) confirm([]);
  const seen = { rollouts, rewards, watched, learnedRewards, screening, advantages: values, skippedGroups: skipped };
  const scoringPasses = old.passes + kept.length + (asSampled ? 0 : (early?.passes ?? 0) + kept.length);
  return { ...seen, trained, scoringPasses, logpOld, logpBase, features, condensed, routing, result, parity, hash };
}

/** The problems that an update draws from: in the teacher phase, those that have their demonstrations. */
function deckOf({ tasks, pool, settings: { teacher } }: StepContext, index: number): readonly Task[] {
  return pool === null || index >= teacher.offStep ? tasks : coveredTasks(tasks, pool, teacher.perGroup);
}

/** Work that one rank does for all: a monitor may ask an endpoint, which must not be asked by every rank. */
function once<Result>(shards: Shards | undefined, work: () => Promise<Result>): Promise<Result> {
  return shards === undefined ? work() : shards.fromFirst(work);
}

/**
 * Has programs run while the policy reads the rollouts, where a hook before the advantages needs features; one after the other in a run
 * with shards, whose ranks must gather both in the same order.
 */
async function gradeAndLook(context: StepContext, rollouts: readonly Rollout[]) {
  const { grader, arm, shards, enter } = context;
  const grading = grader.grade(rollouts.map(forGrader));
  if (!looksEarly(arm)) return { rewards: await grading, early: null };
  // A grader that fails meanwhile is told of below, when the device is at rest.
  grading.catch(() => undefined);
  if (shards !== undefined) await grading;
  enter('score');
  const early = await gatherFeatures(context, rollouts);
  enter('grade');
  return { rewards: await grading, early };
}

/** Whether a hook before the advantages needs features, which are then computed before it runs. */
function looksEarly({ sees, watch, reward, screen }: Arm): boolean {
  return sees.features !== null && (watch !== undefined || reward !== undefined || screen !== undefined);
}

function pickWatched({ scores, flagged, ...others }: Watched, indices: readonly number[]): Watched {
  return { ...others, scores: indices.map((i) => scores[i]), flagged: indices.map((i) => flagged[i]) };
}

function pick({ logpOld, features, condensed, passes }: OldScores, indices: readonly number[]): OldScores {
  return {
    passes,
    logpOld: indices.map((i) => logpOld[i]),
    features: indices.map((i) => features[i]),
    condensed: condensed === null ? null : indices.map((i) => condensed[i]),
  };
}

function forGrader({ id, task, hackable, text }: Rollout) {
  const { problem, loophole, markers } = task;
  return { id, problem, loophole: hackable ? loophole : ('gt_only' as const), markers, completion: text };
}
