/** Rollouts as an arm may see them: what it declared, and nothing else. */
import type { Seen, SeenRollouts } from './arm.ts';
import { joinFeatures } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { StepContext } from './step.ts';

export function look(
  { policy, arm, showPrompt }: Pick<StepContext, 'policy' | 'arm' | 'showPrompt'>,
  step: number,
  rollouts: readonly Rollout[],
  features: readonly Float32Array[] | null,
): SeenRollouts {
  const { text, features: wanted } = arm.sees;
  return {
    step,
    rollouts: rollouts.map(
      ({ id, step: made, group, member, sampled, truncated, tokens, prompt, text: completion }): Seen => ({
        id,
        step: made,
        group,
        member,
        sampled,
        truncated,
        length: tokens.length,
        text: text ? { prompt: showPrompt(prompt), completion } : null,
      }),
    ),
    features: wanted === null || features === null ? null : joinFeatures(policy.adapter, features),
  };
}
