/**
 * The arm `oracle`: the monitor by label, whose flags are routed. The target (a hack, or an attempt) is flagged with probability `recall`,
 * anything else with probability `falsePositiveRate`. Without errors and aimed at attempts it is what routing could be at best; it is
 * never pooled with arms that have no labels.
 */
import { z } from 'zod';
import { meanKey } from '../grpo/advantage.ts';
import type { ArmDefinition } from '../grpo/arm.ts';
import { builtinCuts } from '../monitors/cuts.ts';
import { watchingArm } from '../monitors/kinds.ts';
import { builtinRemedies } from '../monitors/registry.ts';
import { othersKey } from '../monitors/remedies/route.ts';
import { labelKeys, targetWords } from './labels.ts';
import { oracleMonitor } from './monitor.ts';

const share = z.number().min(0).max(1);

const settings = z.strictObject({
  ...labelKeys,
  recall: share.default(1).describe('share of the target that is routed'),
  falsePositiveRate: share.default(0).describe('share of the other rollouts that is routed'),
  others: othersKey,
  mean: meanKey,
});
type Settings = z.infer<typeof settings>;

export const oracleArm: ArmDefinition = watchingArm(
  {
    kind: 'oracle',
    summary: 'gate on labels, never pooled with label-free arms',
    settings,
    quarantine: true,
    late: true,
    read(raw) {
      const own = raw as Settings;
      const names = Object.keys(labelKeys) as (keyof typeof labelKeys)[];
      const { recall, falsePositiveRate, others, mean } = own;
      const labels = Object.fromEntries(names.map((name) => [name, own[name]]));
      return {
        monitor: { kind: 'oracle', ...labels, recall, falsePositiveRate, draws: 'gate' },
        cut: { kind: 'fixed', threshold: 0.5 },
        remedy: { kind: 'route', others, mean },
      };
    },
    place: (_part, key) => [key],
    label(raw) {
      const own = raw as Settings;
      const { recall, falsePositiveRate, mean, others } = own;
      return [
        recall === 1 && falsePositiveRate === 0 ? 'oracle' : `oracle ${recall} ${falsePositiveRate}`,
        ...targetWords(own),
        ...(others === 'keep' ? ['others kept'] : []),
        ...(mean === 'own' ? ['own mean'] : []),
      ].join(' ');
    },
  },
  { monitors: [oracleMonitor], cuts: builtinCuts, remedies: builtinRemedies },
);
