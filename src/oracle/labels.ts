/**
 * What arms and monitors by label share: the labels of a rollout, what a flag is aimed at, and how often it errs. `outcome`: a hack, which
 * is an attempt that paid in a wrong program; taking hacks out leaves the attempts in correct programs, all of them rewarded, so that a
 * screen by outcomes trains the exploit. `attempt`: any channel fired, whether the program is correct or not. Errors are drawn for each
 * rollout alone, or are those of a named part: a monitor that never sees one loophole, one kind of marker, or some of the prompts.
 */
import { z } from 'zod';
import { randomStream, readWhen } from '../base/index.ts';
import type { Loophole } from '../env/loopholes/loophole.ts';
import { openLoopholes } from '../env/loopholes/registry.ts';
import { markerFor } from '../env/markers.ts';
import type { Label, Labels } from '../grpo/index.ts';
import type { VerdictLedger } from './verdicts.ts';

export function labelsOf(ledger: VerdictLedger, loopholes: readonly Loophole[]): Labels {
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

export function targetWords(settings: LabelSettings): readonly string[] {
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
