/** Rollouts as an arm may see them: what it declared, and nothing else. */
import type { Seen, SeenRollouts } from './arm.ts';
import { joinFeatures } from './policy.ts';
import type { Rollout } from './rollout.ts';
import type { OldScores } from './score.ts';
import type { StepContext } from './stages.ts';

export function look(
  { policy, arm, showPrompt }: Pick<StepContext, 'policy' | 'arm' | 'showPrompt'>,
  step: number,
  rollouts: readonly Rollout[],
  scored: Pick<OldScores, 'features' | 'condensed'> | null,
): SeenRollouts {
  const { text, features: wanted, sound = false } = arm.sees;
  const { features = null, condensed = null } = scored ?? {};
  const hidden = wanted === null || features === null || condensed !== null;
  return {
    step,
    rollouts: rollouts.map(
      ({ id, step: made, group, member, sampled, truncated, tokens, prompt, hackable, text: completion }): Seen => ({
        id,
        step: made,
        group,
        member,
        sampled,
        truncated,
        length: tokens.length,
        text: text ? { prompt: showPrompt(prompt), completion } : null,
        ...(sound ? { sound: !hackable } : {}),
      }),
    ),
    features: hidden ? null : joinFeatures(policy.adapter, features),
    ...(condensed === null ? {} : { condensed }),
  };
}
