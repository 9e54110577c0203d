/** Computes log π_old, each rollout in the state that sampled it, and the features that the arm asks for, or what it keeps of them. */
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
  /** The shards of the run; absent in a run without them. */
  readonly shards?: Shards;
}

export interface OldScores {
  readonly logpOld: readonly Float32Array[];
  /** Feature rows of each rollout, all or those that the arm kept; empty for an arm that asks for none. */
  readonly features: readonly Float32Array[];
  /** What the arm's condense hook returned for each rollout; null without that hook. */
  readonly condensed: readonly CondensedRows[] | null;
  /** Number of completions that the policy read for them, each time counted. */
  readonly passes: number;
}

/** log π_old and features of all rollouts; in a run with shards, each rank makes those of its own. */
export function scoreOld(context: ScoreContext, rollouts: readonly Rollout[]): Promise<OldScores> {
  return scoreOldInShards(context, rollouts, (own) => scoreOwn(context, own));
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

/** Activation features come from the same pass as log π_old in deployed state. */
async function scoreOwn({ policy, arm, settings }: ScoreContext, rollouts: readonly Rollout[]): Promise<OldScores> {
  const { features: wanted } = arm.sees;
  const { tokensPerPass } = settings.compute;
  const own = (i: number): number => scaleOf(rollouts[i].sampled, policy.deployedScale);
  const condensed: CondensedRows[] | null = arm.condense === undefined ? null : new Array(rollouts.length);
  const keep = keepOf(arm, condensed);
  if (wanted?.kind !== 'activation') {
    const { logps } = await scoreRollouts(policy, rollouts, own, { tokensPerPass });
    if (wanted === null) return { logpOld: logps, features: [], condensed: null, passes: rollouts.length };
    const features = await probeGradients(policy, rollouts, wanted.granularity, tokensPerPass, keep);
    return { logpOld: logps, features, condensed, passes: 2 * rollouts.length };
  }
  const pool = wanted.granularity;
  const deployed = await scoreRollouts(policy, rollouts, () => scaleOf('deployed', policy.deployedScale), {
    tokensPerPass,
    pool,
    ...(keep === undefined ? {} : { keep }),
  });
  // Without a quarantine both states are the same policy, and one pass is enough.
  const others = [...rollouts.keys()].filter((i) => own(i) !== scaleOf('deployed', policy.deployedScale));
  const full = await scoreRollouts(
    policy,
    others.map((i) => rollouts[i]),
    () => scaleOf('full', policy.deployedScale),
    { tokensPerPass },
  );
  const logpOld = [...deployed.logps];
  others.forEach((i, at) => {
    logpOld[i] = full.logps[at];
  });
  return { logpOld, features: deployed.features, condensed, passes: rollouts.length + others.length };
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
