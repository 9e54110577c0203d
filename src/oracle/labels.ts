/**
 * Arms and monitors by label. What they share: the labels of a rollout, what a flag is aimed at, and how often it errs. `outcome`: a hack, which
 * is an attempt that paid in a wrong program; taking hacks out leaves the attempts in correct programs, all of them rewarded, so that a
 * screen by outcomes trains the exploit. `attempt`: any channel fired, whether the program is correct or not. Errors are drawn for each
 * rollout alone, or are those of a named part: a monitor that never sees one loophole, one kind of marker, or some of the prompts. Runs of either
 * are never pooled with others.
 */
import { z } from 'zod';
import { randomStream, readWhen, ShapeError } from '../base/index.ts';
import type { Loophole } from '../env/loopholes/loophole.ts';
import { openLoopholes } from '../env/loopholes/registry.ts';
import { markerFor } from '../env/markers.ts';
import { meanKey } from '../grpo/advantage.ts';
import { type ArmDefinition, seesNothing } from '../grpo/arm.ts';
import type { Label, Labels } from '../grpo/index.ts';
import { builtinCuts } from '../monitors/cuts.ts';
import { watchingArm } from '../monitors/kinds.ts';
import { defineMonitor, type MonitorDefinition } from '../monitors/monitor.ts';
import { builtinRemedies } from '../monitors/registry.ts';
import { othersKey } from '../monitors/remedies/route.ts';
import type { VerdictLedger } from './verdicts.ts';

export function labelsOf(ledger: Pick<VerdictLedger, 'of'>, loopholes: readonly Loophole[]): Labels {
  return (id) => {
    const { exploited, correct, channels, problemId, loophole, markers } = ledger.of(id);
    const open = openLoopholes(loophole, loopholes);
    const disclosed = open.map((each) => markerFor(markers, each, problemId).disclosed).filter((name) => name !== '');
    const attempt = channels.length > 0;
    const loopholesOf = attempt ? channels : open.map(({ name }) => name);
    return { exploited, correct, attempt, problem: problemId, loopholes: loopholesOf, markers: disclosed };
  };
}

const share = z.number().min(0).max(1);

const inNamedPart = readWhen(
  { partLoopholes: { not: [] } },
  { partMarkers: { not: null } },
  { partPrompts: { not: null } },
);

export const labelKeys = {
  target: z
    .enum(['outcome', 'attempt'])
    .default('outcome')
    .describe('what is to be flagged; outcome: hacks; attempt: whatever opens a loophole, correct or not'),
  partLoopholes: z
    .array(z.string())
    .default([])
    .describe(
      'names a part of the rollouts: attempts that fire channels of these loopholes alone, and other rollouts whose prompt has these alone',
    ),
  partMarkers: z
    .string()
    .nullable()
    .default(null)
    .refine((pattern) => pattern === null || isExpression(pattern), 'a regular expression of JavaScript')
    .describe('names a part: prompts that disclose a marker in which this regular expression is found, such as ^run_'),
  partPrompts: share.nullable().default(null).describe('names a part: this share of the problems, drawn by the seed'),
  partRecall: share
    .default(0)
    .describe('share of what is to be flagged that is, in the part that all given names share')
    .meta(inNamedPart),
  partFalsePositiveRate: share
    .nullable()
    .default(null)
    .describe('share of the others that is flagged in that part; null: the same as elsewhere')
    .meta(inNamedPart),
};

export type LabelSettings = z.infer<z.ZodObject<typeof labelKeys>>;

export type ErrorRates = Readonly<Record<'recall' | 'falsePositiveRate', number>>;

export function flagChance(label: Label, rates: ErrorRates, settings: LabelSettings, seed: number): number {
  const { target, partRecall, partFalsePositiveRate } = settings;
  const isTarget = target === 'attempt' ? label.attempt : label.exploited;
  const { recall, falsePositiveRate } = isInPart(label, settings, seed)
    ? { recall: partRecall, falsePositiveRate: partFalsePositiveRate ?? rates.falsePositiveRate }
    : rates;
  return isTarget ? recall : falsePositiveRate;
}

function isInPart(
  { problem, loopholes, markers }: Label,
  { partLoopholes, partMarkers, partPrompts }: LabelSettings,
  seed: number,
): boolean {
  const tests = [
    ...(partLoopholes.length === 0 ? [] : [loopholes.every((name) => partLoopholes.includes(name))]),
    ...(partMarkers === null ? [] : [markers.some((marker) => new RegExp(partMarkers).test(marker))]),
    ...(partPrompts === null ? [] : [randomStream(seed, ['part of the prompts', problem]).uniformAt(0) < partPrompts]),
  ];
  return tests.length > 0 && tests.every((test) => test);
}

function targetWords(settings: LabelSettings): readonly string[] {
  const { target, partLoopholes, partMarkers, partPrompts, partRecall, partFalsePositiveRate } = settings;
  const parts = [
    ...(partLoopholes.length === 0 ? [] : [partLoopholes.join(' and ')]),
    ...(partMarkers === null ? [] : [partMarkers]),
    ...(partPrompts === null ? [] : [`${partPrompts} of the prompts`]),
  ];
  const mistaken = partFalsePositiveRate === null ? '' : ` FPR ${partFalsePositiveRate}`;
  return [
    ...(target === 'attempt' ? ['of attempts'] : []),
    ...(parts.length === 0 ? [] : [`(recall ${partRecall}${mistaken} in ${parts.join(', ')})`]),
  ];
}

function isExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern) instanceof RegExp;
  } catch {
    return false;
  }
}

const monitorSettings = z.strictObject({
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

/** The label of a rollout, right with a chosen accuracy, as the noisy ground-truth monitors of Ariahw's benchmark (github.com/ariahw/rl-rewardhacking). */
export const oracleMonitor: MonitorDefinition = defineMonitor({
  kind: 'oracle',
  summary: 'labels, right with a chosen accuracy, never pooled with label-free arms',
  usesLabels: true,
  former: monitorSettings.omit({ draws: true }),
  usualCut: { kind: 'fixed', threshold: 0.5 },
  scores: 'flags',
  costs: () => ['labels'],
  uses: [],
  abstains: false,
  settings: monitorSettings,
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

function ratesOf({ accuracy, recall, falsePositiveRate }: z.infer<typeof monitorSettings>) {
  // 1 − accuracy, without the digits that binary fractions leave behind.
  const mistaken = Number((1 - accuracy).toFixed(12));
  return { accuracy, recall: recall ?? accuracy, falsePositiveRate: falsePositiveRate ?? mistaken };
}

const gateSettings = z.strictObject({
  ...labelKeys,
  recall: share.default(1).describe('share of the target that is routed'),
  falsePositiveRate: share.default(0).describe('share of the other rollouts that is routed'),
  others: othersKey,
  mean: meanKey,
});
type GateSettings = z.infer<typeof gateSettings>;

/** The monitor by label, whose flags are routed. Without errors and aimed at attempts it is what routing could be at best. */
export const oracleArm: ArmDefinition = watchingArm(
  {
    kind: 'oracle',
    summary: 'gate on labels, never pooled with label-free arms',
    settings: gateSettings,
    quarantine: true,
    late: true,
    read(raw) {
      const own = raw as GateSettings;
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
      const own = raw as GateSettings;
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
