/**
 * The oracle as a monitor: the label of a rollout (a hack, or an attempt, as `target` says), right with a chosen accuracy, as the noisy ground-truth monitors of
 * Ariahw's benchmark (github.com/ariahw/rl-rewardhacking). What is to be flagged is, with probability `recall`, anything else with probability
 * `falsePositiveRate`. What is flagged follows from the seed and the rollout's id. Runs that it watches are never pooled with others.
 */
import { z } from 'zod';
import { randomStream, readWhen, ShapeError } from '../base/index.ts';
import { seesNothing } from '../grpo/arm.ts';
import { defineMonitor, type MonitorDefinition } from '../monitors/monitor.ts';
import { flagChance, labelKeys, targetWords } from './labels.ts';

const share = z.number().min(0).max(1);

const settings = z.strictObject({
  ...labelKeys,
  accuracy: share
    .default(1)
    .describe('share of rollouts that the oracle is right about')
    .meta(readWhen({ recall: null }, { falsePositiveRate: null })),
  recall: share.nullable().default(null).describe('share of the target that is flagged; null: the same as accuracy'),
  falsePositiveRate: share
    .nullable()
    .default(null)
    .describe('share of the other rollouts that is flagged; null: 1 − accuracy'),
  draws: z
    .enum(['monitor', 'gate'])
    .default('monitor')
    .describe('gate: with the errors that arm.kind = "oracle" draws at the same seed'),
});

export const oracleMonitor: MonitorDefinition = defineMonitor({
  kind: 'oracle',
  summary: 'labels, right with a chosen accuracy, never pooled with label-free arms',
  usesLabels: true,
  former: settings.omit({ draws: true }),
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'flags',
  costs: () => ['labels'],
  uses: [],
  abstains: false,
  settings,
  label: (own) => {
    const { accuracy, recall, falsePositiveRate } = ratesOf(own);
    const named = own.recall !== null || own.falsePositiveRate !== null;
    const rates = named ? [`recall ${recall} FPR ${falsePositiveRate}`] : accuracy === 1 ? [] : [`${accuracy}`];
    return ['oracle', ...rates, ...targetWords(own)].join(' ');
  },
  open(own, { seed, labels }) {
    if (labels === null) throw new ShapeError({ call: 'monitor oracle', expected: 'labels', found: 'none' });
    const rates = ratesOf(own);
    return {
      sees: seesNothing,
      score: ({ rollouts }) =>
        rollouts.map(({ id, step, group, member }) => {
          const chance = flagChance(labels(id), rates, own, seed);
          const draw = own.draws === 'gate' ? ['oracle', `${step}-${group}-${member}`] : ['oracle monitor', id];
          return randomStream(seed, draw).uniformAt(0) < chance ? 1 : 0;
        }),
    };
  },
});

function ratesOf({ accuracy, recall, falsePositiveRate }: z.infer<typeof settings>) {
  // 1 − accuracy, without the digits that binary fractions leave behind.
  const mistaken = Number((1 - accuracy).toFixed(12));
  return { accuracy, recall: recall ?? accuracy, falsePositiveRate: falsePositiveRate ?? mistaken };
}
