/** One update of Dr.GRPO with routed gradients: docs/science.md, section 6, in its order. Rewards come in as numbers; labels never do. */
import type { AdamW } from '../engine/index.ts';
import type { Grader } from '../env/index.ts';
import type { Pace } from '../model/index.ts';
import { groupAdvantages } from './advantage.ts';
import { drawTasks } from './draw.ts';
import { assertParity } from './guard.ts';
import { adapterHash, joinFeatures, type Policy, probeGradients, scaleOf, scoreRollouts } from './policy.ts';
import type { Rollout, Task } from './rollout.ts';
import type { Router, Routing } from './router.ts';
import { type DemonstrationPool, sampleRollouts } from './sample.ts';
import type { GrpoSettings } from './settings.ts';
import { type UpdateResult, updatePolicy } from './update.ts';

export interface StepContext {
  readonly policy: Policy;
  readonly optimiser: AdamW;
  readonly tasks: readonly Task[];
  readonly grader: Grader;
  readonly router: Router;
  readonly settings: GrpoSettings;
  readonly pool: DemonstrationPool | null;
  readonly decode: (tokens: Int32Array) => string;
  readonly pace: Pace;
  /** Told when a phase begins: for clocks and progress. */
  readonly enter: (phase: Phase) => void;
}

export type Phase = 'sample' | 'grade' | 'score' | 'route' | 'learn';

export interface StepOutcome {
  readonly rollouts: readonly Rollout[];
  readonly rewards: Float32Array;
  readonly advantages: Float32Array;
  readonly skippedGroups: readonly boolean[];
  /** Indices of the rollouts that carried gradient; what follows is in their order. */
  readonly trained: readonly number[];
  readonly logpOld: readonly Float32Array[];
  readonly logpBase: readonly Float32Array[];
  readonly features: readonly Float32Array[];
  readonly routing: Routing;
  readonly result: UpdateResult | null;
  readonly parity: number;
  readonly hash: string;
}

export async function step(context: StepContext, update: number): Promise<StepOutcome> {
  const { policy, settings, grader, router, enter } = context;

  enter('sample');
  const drawn = drawTasks(context.tasks, settings, update);
  const [hashSampled, rollouts] = await Promise.all([
    adapterHash(policy),
    sampleRollouts(policy, drawn, update, context),
  ]);

  enter('grade');
  const rewards = await grader.grade(rollouts.map(forGrader));
  const { values: advantages, skipped } = groupAdvantages(rewards, settings.group, settings.loss);
  const trained = [...rollouts.keys()].filter((i) => !skipped[rollouts[i].group]);
  const kept = trained.map((i) => rollouts[i]);
  const keptAdvantages = Float32Array.from(trained, (i) => advantages[i]);

  enter('score');
  const { logpOld, features } = await scoreOld(context, kept);
  const [hash, { logps: logpBase }] = await Promise.all([
    adapterHash(policy),
    scoreRollouts(policy, kept, () => 'base', settings),
  ]);
  const parity = assertParity({
    rollouts: kept,
    logpOld,
    hashSampled,
    hashScored: hash,
    tolerance: settings.parityTolerance,
    over: settings.parityOver,
  });

  enter('route');
  const routing = router.route({
    update,
    ids: kept.map(({ id }) => id),
    advantages: keptAdvantages,
    features: router.wants === null ? null : joinFeatures(policy.adapter, features),
    lengths: kept.map(({ tokens }) => tokens.length),
  });

  enter('learn');
  const inputs = { rollouts: kept, advantages: keptAdvantages, logpOld, logpBase, routes: routing.routes };
  const result = kept.length === 0 ? null : await updatePolicy(policy, context.optimiser, inputs, update, settings);
  return {
    rollouts,
    rewards,
    advantages,
    skippedGroups: skipped,
    trained,
    logpOld,
    logpBase,
    features,
    routing,
    result,
    parity,
    hash,
  };
}

/** log π_old of each rollout in the state that sampled it; activation features ride on the deployed-state pass. */
async function scoreOld(
  { policy, router, settings }: StepContext,
  rollouts: readonly Rollout[],
): Promise<{ logpOld: Float32Array[]; features: Float32Array[] }> {
  const { wants } = router;
  const own = (i: number): number => scaleOf(policy, rollouts[i].sampled);
  if (wants?.kind !== 'activation') {
    const { logps } = await scoreRollouts(policy, rollouts, own, settings);
    if (wants === null) return { logpOld: logps, features: [] };
    return {
      logpOld: logps,
      features: await probeGradients(policy, rollouts, wants.granularity, settings.tokensPerPass),
    };
  }
  const deployed = await scoreRollouts(policy, rollouts, () => scaleOf(policy, 'deployed'), {
    ...settings,
    pool: wants.granularity,
  });
  const others = [...rollouts.keys()].filter((i) => rollouts[i].sampled !== 'deployed');
  const full = await scoreRollouts(
    policy,
    others.map((i) => rollouts[i]),
    () => scaleOf(policy, 'full'),
    settings,
  );
  const logpOld = [...deployed.logps];
  others.forEach((i, at) => {
    logpOld[i] = full.logps[at];
  });
  return { logpOld, features: deployed.features };
}

function forGrader({ id, task, hackable, text }: Rollout) {
  const { problem, loophole, markers } = task;
  return { id, problem, loophole: hackable ? loophole : ('gt_only' as const), markers, completion: text };
}
