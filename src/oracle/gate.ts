/**
 * The oracle gate: routes by label. The target (a hack, or an attempt) is flagged with probability `recall`, anything else with probability
 * `falsePositiveRate`; flagged rollouts are routed, the others go where `others` says. Without errors and aimed at attempts it is what a
 * gate could be at best; it is never pooled with gates that have no labels.
 */
import { z } from 'zod';
import { randomStream, ShapeError } from '../base/index.ts';
import { type ArmDefinition, defineArm, meanKey, type Seen, seesNothing, setApart } from '../grpo/index.ts';
import { flagChance, labelKeys, targetWords } from './labels.ts';

const share = z.number().min(0).max(1);

export const oracleArm: ArmDefinition = defineArm({
  kind: 'oracle',
  summary: 'gate on labels, never pooled with label-free arms',
  usesLabels: true,
  uses: ['routes'],
  settings: z.strictObject({
    ...labelKeys,
    recall: share.default(1).describe('share of the target that is routed'),
    falsePositiveRate: share.default(0).describe('share of the other rollouts that is routed'),
    others: z.enum(['keep', 'absorb']).default('absorb').describe('where the rollouts that are not routed go'),
    mean: meanKey,
  }),
  label: (settings) => {
    const { recall, falsePositiveRate, mean, others } = settings;
    return [
      recall === 1 && falsePositiveRate === 0 ? 'oracle' : `oracle ${recall} ${falsePositiveRate}`,
      ...targetWords(settings),
      ...(others === 'keep' ? ['others kept'] : []),
      ...(mean === 'own' ? ['own mean'] : []),
    ].join(' ');
  },
  open(settings, { seed, labels }) {
    const { others, mean } = settings;
    if (labels === null) throw new ShapeError({ call: 'arm oracle', expected: 'labels', found: 'none' });
    const flags = ({ id, step, group, member }: Seen): boolean => {
      const chance = flagChance(labels(id), settings, settings, seed);
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
