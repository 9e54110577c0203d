/**
 * The oracle gate: routes by label. A hack (`exploited`) is flagged with probability `recall`, anything else with probability
 * `falsePositiveRate`; flagged rollouts are routed, the others go where `others` says. It is an upper bound for gates
 * without labels, and is never pooled with them.
 */
import { z } from 'zod';
import { randomStream, ShapeError } from '../base/index.ts';
import { type ArmDefinition, defineArm, meanKey, type Seen, seesNothing, setApart } from '../grpo/index.ts';

const share = z.number().min(0).max(1);

export const oracleArm: ArmDefinition = defineArm({
  kind: 'oracle',
  summary: 'gate on labels: an upper bound, never pooled with label-free arms',
  usesLabels: true,
  settings: z.strictObject({
    recall: share.default(1).describe('share of hacks that are routed'),
    falsePositiveRate: share.default(0).describe('share of rollouts without a hack that are routed'),
    others: z.enum(['keep', 'absorb']).default('absorb').describe('where the rollouts that are not routed go'),
    mean: meanKey,
  }),
  label: ({ recall, falsePositiveRate, mean }) =>
    [
      recall === 1 && falsePositiveRate === 0 ? 'oracle' : `oracle ${recall} ${falsePositiveRate}`,
      ...(mean === 'own' ? ['own mean'] : []),
    ].join(' '),
  open({ recall, falsePositiveRate, others, mean }, { seed, labels }) {
    if (labels === null) throw new ShapeError({ call: 'arm oracle', expected: 'labels', found: 'none' });
    const flags = ({ id, step, group, member }: Seen): boolean => {
      const chance = labels(id).exploited ? recall : falsePositiveRate;
      return randomStream(seed, ['oracle', `${step}-${group}-${member}`]).uniformAt(0) < chance;
    };
    return {
      sees: seesNothing,
      ...(mean === 'own' ? { screen: ({ rollouts }) => setApart(rollouts.map(flags)) } : {}),
      route: ({ rollouts }) => ({
        routes: rollouts.map((rollout) => [flags(rollout) ? 'route' : others]),
        scores: null,
        cuts: null,
        bufferRows: 0,
      }),
    };
  },
});
