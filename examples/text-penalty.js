/**
 * A penalty of one's own: completions that a regular expression finds suspicious lose reward before advantages are computed. The arm has
 * no quarantine: everything that it trains is deployed.
 */
import { defineArm, z } from 'gradient-quarantine';

const textPenalty = defineArm({
  kind: 'text-penalty',
  summary: 'rewards lowered where a regular expression matches the completion',
  quarantine: false,
  settings: z.strictObject({
    pattern: z.string().default('^def (run|check)_').describe('regular expression, matched line by line'),
    penalty: z.number().min(0).default(3).describe('amount taken off the reward of a completion that matches'),
  }),
  open({ pattern, penalty }) {
    const suspicious = new RegExp(pattern, 'm');
    return {
      sees: { features: null, text: true },
      reward: ({ rollouts, rewards }) =>
        rewards.map((reward, i) => reward - (suspicious.test(rollouts[i].text.completion) ? penalty : 0)),
    };
  },
});

export const arms = [textPenalty];
