/**
 * Gradient routing (Cloud et al., arXiv 2410.04332) with a monitor in place of the gate: flagged rollouts train the quarantine alone,
 * which deployment deletes.
 */
import { z } from 'zod';
import type { Intervention } from './watched-arm.ts';

const keys = {
  others: z.enum(['keep', 'absorb']).default('absorb').describe('where the rollouts that are not routed go'),
};

export const routed: Intervention<typeof keys> = {
  kind: 'routed',
  summary: 'gradient routing by a monitor: flagged rollouts train the quarantine',
  quarantine: true,
  keys,
  words: ({ others }) => (others === 'keep' ? 'routed, others kept,' : 'routed'),
  act: ({ others }) => ({
    route: ({ watched }) => ({
      routes: watched.flagged.map((flag) => [flag ? 'route' : others]),
      scores: null,
      cuts: null,
      bufferRows: 0,
    }),
  }),
};
