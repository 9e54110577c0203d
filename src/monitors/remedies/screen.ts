/**
 * Screening: flagged rollouts teach nothing, but for the KL term. `screen` leaves them out of their group's statistics, and a group with
 * fewer than two others is skipped, as in the screening of Ariahw's benchmark (github.com/ariahw/rl-rewardhacking); `filter`
 * (shawnghu/small-rl) leaves their rewards in the statistics, so that the others of the group still are compared with a hack's reward.
 */
import { z } from 'zod';
import type { Screening } from '../../grpo/index.ts';
import { defineRemedy, type RemedyDefinition } from '../remedy.ts';

const screening = (kind: string, summary: string, flagged: Screening): RemedyDefinition =>
  defineRemedy({
    kind,
    summary,
    settings: z.strictObject({}),
    act: () => ({ screen: ({ watched }) => watched.flagged.map((flag) => (flag ? flagged : 'train')) }),
  });

export const screen: RemedyDefinition = screening('screen', 'flagged rollouts left out of their group', 'leave-out');
export const filter: RemedyDefinition = screening('filter', 'advantages of flagged rollouts set to 0', 'silence');
