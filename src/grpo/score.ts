/** Reads rollouts without learning from them: for the features that the arm asks for, log π_old in the state that sampled each, log π_ref. */
import { scaleOf } from '../adapters/index.ts';
import type { CondensedRows } from '../gates/index.ts';
import type { Shards } from '../parallel/index.ts';
import { checkCondensed } from './answers.ts';
import type { Arm } from './arm.ts';
import { type Keep, type Policy, probeGradients, scoreRollouts } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';
import { scoreInShards, scoreOldInShards } from './sharded.ts';

interface ScoreContext {
  readonly policy: Policy;
  readonly arm: Arm;
  readonly settings: GrpoSettings;
  readonly shards: Shards;
}

/** What the policy's reading of rollouts gave. */
export interface OldScores {
  /** log π_old of each rollout; null where nothing but log π_old itself would have needed the reading. */
  readonly logpOld: readonly (Float32Array | null)[];
  /** Feature rows of each rollout, all or those that the arm kept; empty for an arm that asks for none. */
  readonly features: readonly Float32Array[];
  /** What the arm's condense hook returned for each rollout; null without that hook. */
  readonly condensed: readonly CondensedRows[] | null;
  /** Number of completions that the policy read for them, each time counted. */
  readonly passes: number;
}

/** The features of all rollouts, and log π_old where it comes from the same pass; each rank makes those of its own. */
export function gatherFeatures(context: ScoreContext, rollouts: readonly Rollout[]): Promise<OldScores> {
  return scoreOldInShards(context, rollouts, (own) => readOwn(context, own));
}

/** log π of all rollouts, each in the state that sampled it. */
export function scoreSampled(context: ScoreContext, rollouts: readonly Rollout[]): Promise<readonly Float32Array[]> {
  const { policy, settings } = context;
  const { tokensPerPass } = settings.compute;
  return scoreInShards(context, rollouts, async (own) => {
    const scale = (i: number): number => scaleOf(own[i].sampled, policy.deployedScale);
    return (await scoreRollouts(policy, own, scale, { tokensPerPass })).logps;
  });
}

/** What is known with log π_old of the rollouts that have none yet, but for those left to the passes that learn. */
export async function scoreOld(
  context: ScoreContext,
  rollouts: readonly Rollout[],
  known: OldScores,
  left: readonly boolean[],
): Promise<OldScores> {
  const missing = [...rollouts.keys()].filter((i) => known.logpOld[i] === null && !left[i]);
  const logps = await scoreSampled(
    context,
    missing.map((i) => rollouts[i]),
  );
  const logpOld = [...known.logpOld];
  missing.forEach((i, at) => {
    logpOld[i] = logps[at];
  });
  return { ...known, logpOld, passes: known.passes + missing.length };
}

/** log π_ref of all rollouts. */
export function scoreBase(context: ScoreContext, rollouts: readonly Rollout[]): Promise<readonly Float32Array[]> {
  const { policy, settings } = context;
  const { tokensPerPass } = settings.compute;
  return scoreInShards(context, rollouts, async (own) => {
    const { logps } = await scoreRollouts(policy, own, () => 'base', { tokensPerPass });
    return logps;
  });
}

/** Activation features come from a pass in deployed state, and with them log π_old of the rollouts that this state sampled. */
async function readOwn({ policy, arm, settings }: ScoreContext, rollouts: readonly Rollout[]): Promise<OldScores> {
  const { features: wanted } = arm.sees;
  const { tokensPerPass } = settings.compute;
  const condensed: CondensedRows[] | null = arm.condense === undefined ? null : new Array(rollouts.length);
  const keep = keepOf(arm, condensed);
  const unknown = rollouts.map(() => null);
  if (wanted === null) return { logpOld: unknown, features: [], condensed: null, passes: 0 };
  if (wanted.kind === 'gradient') {
    const features = await probeGradients(policy, rollouts, wanted.granularity, tokensPerPass, keep);
    return { logpOld: unknown, features, condensed, passes: rollouts.length };
  }
  const deployed = scaleOf('deployed', policy.deployedScale);
  const { logps, features } = await scoreRollouts(policy, rollouts, () => deployed, {
    tokensPerPass,
    pool: wanted.granularity,
    ...(keep === undefined ? {} : { keep }),
  });
  const logpOld = rollouts.map(({ sampled }, i) =>
    scaleOf(sampled, policy.deployedScale) === deployed ? logps[i] : null,
  );
  return { logpOld, features, condensed, passes: rollouts.length };
}

/** Has the arm condense each rollout's rows into `condensed`; undefined for an arm that is shown all rows. */
function keepOf(arm: Arm, condensed: CondensedRows[] | null): Keep | undefined {
  if (condensed === null) return undefined;
  return (rows, index) => {
    const own = checkCondensed(arm.condense?.(rows), rows);
    condensed[index] = own;
    return own.kept;
  };
}
