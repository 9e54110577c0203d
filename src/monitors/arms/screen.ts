/**
 * Screening: flagged rollouts teach nothing, but for the KL term. `screen` leaves them out of their group's statistics, and a group with
 * fewer than two others is skipped, as in the screening of Ariahw's benchmark (github.com/ariahw/rl-rewardhacking); `filter`
 * (shawnghu/small-rl) leaves their rewards in the statistics, so that the others of the group still are compared with a hack's reward.
 */
import type { Screening } from '../../grpo/index.ts';
import type { Intervention } from './watched-arm.ts';

function screening(kind: string, summary: string, flagged: Screening): Intervention<Record<never, never>> {
  return {
    kind,
    summary,
    keys: {},
    act: () => ({ screen: ({ watched }) => watched.flagged.map((flag) => (flag ? flagged : 'train')) }),
  };
}

export const screen = screening('screen', 'flagged rollouts left out of their group', 'leave-out');
export const filter = screening('filter', 'advantages of flagged rollouts set to 0', 'silence');
