/**
 * Advantage modification (Wu and Tang, arXiv 2604.01476): rewards are changed by how far a rollout's score stands above its group before
 * advantages are computed. With z = (score − group mean) / max(group deviation, floor), floor 0.1, α = 2 and σ the logistic function:
 *   multiplicative: r · (1 − α · σ(z)) where z > 0        additive: r − α · max(z, 0)
 * The cut says only what is told of as flagged. The deviation divides by the group's size, as that of the rewards does. A rollout without a score is left as it is,
 * and is not in the statistics; if the config flags abstentions, it has the largest z of its group.
 */
import { z } from 'zod';
import type { Watched } from '../../grpo/index.ts';
import { average } from '../../stats/index.ts';
import { defineRemedy, type RemedyDefinition } from '../remedy.ts';

const settings = z.strictObject({
  form: z
    .enum(['multiplicative', 'additive'])
    .default('multiplicative')
    .describe('multiplicative: r · (1 − α σ(z)) where z > 0; additive: r − α max(z, 0)'),
  strength: z.number().min(0).default(2).describe('α: how strongly a suspicious rollout is held back'),
  deviationFloor: z
    .number()
    .gt(0)
    .default(0.1)
    .describe("least deviation of a group's scores that its scores are divided by"),
});

export const advantageModification: RemedyDefinition = defineRemedy({
  kind: 'advantage-modification',
  summary: "rewards changed by how far a rollout's score stands above its group",
  settings,
  words: ({ form, strength }) =>
    ['advantage-modification', ...(form === 'additive' ? [form] : []), ...(strength === 2 ? [] : [strength])].join(' '),
  act: ({ form, strength, deviationFloor }) => ({
    reward: ({ rollouts, rewards, watched }) => {
      const above = standings(
        watched,
        rollouts.map(({ group }) => group),
        deviationFloor,
      );
      return rewards.map((reward, i) => modified(reward, above[i], form, strength));
    },
  }),
});

function modified(reward: number, above: number, form: 'multiplicative' | 'additive', strength: number): number {
  if (!(above > 0)) return reward;
  return form === 'additive' ? reward - strength * above : reward * (1 - strength / (1 + Math.exp(-above)));
}

/** z of every rollout within its group. */
function standings({ scores, flagged }: Watched, groups: readonly number[], floor: number): number[] {
  const known = new Map<number, number[]>();
  scores.forEach((score, i) => {
    if (score !== null) known.set(groups[i], [...(known.get(groups[i]) ?? []), score]);
  });
  return scores.map((score, i) => {
    const own = known.get(groups[i]) ?? [];
    const centre = average(own);
    const deviation = Math.sqrt(average(own.map((value) => (value - centre) ** 2)));
    const value = score ?? (flagged[i] && own.length > 0 ? Math.max(...own) : centre);
    return (value - centre) / Math.max(deviation, floor);
  });
}
