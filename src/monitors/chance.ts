/**
 * Chance as a monitor: every rollout is flagged with the same probability, by the seed and its id. It sees nothing and needs no label:
 * the control of every remedy, with the flags that a monitor of an AUROC of 0.5 gives.
 */
import { z } from 'zod';
import { randomStream } from '../base/index.ts';
import { seesNothing } from '../grpo/arm.ts';
import { defineMonitor, type MonitorDefinition } from './monitor.ts';

export const chanceMonitor: MonitorDefinition = defineMonitor({
  kind: 'chance',
  summary: 'flags at random, whatever the rollout: a control without labels',
  settings: z.strictObject({
    rate: z.number().min(0).max(1).default(0.5).describe('share of the rollouts that is flagged'),
  }),
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'flags',
  label: ({ rate }) => `chance ${rate}`,
  open: ({ rate }, { seed }) => ({
    sees: seesNothing,
    score: ({ rollouts }) =>
      rollouts.map(({ id }) => (randomStream(seed, ['chance monitor', id]).uniformAt(0) < rate ? 1 : 0)),
  }),
});
