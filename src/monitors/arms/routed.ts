/**
 * Gradient routing (Cloud et al., arXiv 2410.04332) with a monitor in place of the gate: flagged rollouts train the quarantine alone,
 * which deployment deletes. With the own mean (docs/science.md, section 6) the others are compared among themselves.
 */
import { z } from 'zod';
import { meanKey, setApart } from '../../grpo/index.ts';
import type { Intervention } from './watched-arm.ts';

const keys = {
  others: z.enum(['keep', 'absorb']).default('absorb').describe('where the rollouts that are not routed go'),
  mean: meanKey,
};

export const routed: Intervention<typeof keys> = {
  kind: 'routed',
  summary: 'gradient routing by a monitor: flagged rollouts train the quarantine',
  quarantine: true,
  keys,
  words: ({ others, mean }) => {
    const details = [...(others === 'keep' ? ['others kept'] : []), ...(mean === 'own' ? ['own mean'] : [])];
    return details.length === 0 ? 'routed' : `routed, ${details.join(', ')},`;
  },
  act: ({ others, mean }) => ({
    ...(mean === 'own' ? { screen: ({ watched }) => setApart(watched.flagged) } : {}),
    route: ({ watched }) => ({
      routes: watched.flagged.map((flag) => [flag ? 'route' : others]),
      scores: null,
      cuts: null,
      bufferRows: 0,
    }),
  }),
};
