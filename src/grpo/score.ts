/** Computes log π_old, each rollout in the state that sampled it, and the features that the arm asks for. */
import { scaleOf } from '../adapters/index.ts';
import type { Arm } from './arm.ts';
import { type Policy, probeGradients, scoreRollouts } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { GrpoSettings } from './settings.ts';

export interface OldScores {
  readonly logpOld: readonly Float32Array[];
  /** Feature rows of each rollout; empty for an arm that asks for none. */
  readonly features: readonly Float32Array[];
}

/** Activation features come from the same pass as log π_old in deployed state. */
export async function scoreOld(
  { policy, arm, settings }: { readonly policy: Policy; readonly arm: Arm; readonly settings: GrpoSettings },
  rollouts: readonly Rollout[],
): Promise<OldScores> {
  const { features: wanted } = arm.sees;
  const { tokensPerPass } = settings.compute;
  const own = (i: number): number => scaleOf(rollouts[i].sampled, policy.deployedScale);
  if (wanted?.kind !== 'activation') {
    const { logps } = await scoreRollouts(policy, rollouts, own, { tokensPerPass });
    if (wanted === null) return { logpOld: logps, features: [] };
    return { logpOld: logps, features: await probeGradients(policy, rollouts, wanted.granularity, tokensPerPass) };
  }
  const pool = wanted.granularity;
  const deployed = await scoreRollouts(policy, rollouts, () => scaleOf('deployed', policy.deployedScale), {
    tokensPerPass,
    pool,
  });
  const others = [...rollouts.keys()].filter((i) => rollouts[i].sampled !== 'deployed');
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
  return { logpOld, features: deployed.features };
}
