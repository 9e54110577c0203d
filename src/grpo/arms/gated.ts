/** The arms with a gate: on pooled activations and on gradient features, with their placebos. */
import { z } from 'zod';
import { Gate, type GateSettings, haarDirection } from '../../gates/index.ts';
import { type ArmDefinition, type ArmTools, defineArm, type FeatureKind } from '../arm.ts';
import { rebuildDirection } from '../pair-features.ts';
import { gateArm, massMatched, type RoutingArm } from './gate.ts';

const count = z.number().int().min(0).max(1e7);

const gateKeys = {
  placebo: z
    .enum(['none', 'haar', 'mass-matched'])
    .default('none')
    .describe("haar: a random direction; mass-matched: the gate's routes, dealt out at random"),
  calibration: z
    .enum(['quantile', 'pairs'])
    .default('quantile')
    .describe('where the two cuts come from: the scores of the run, or of the pairs'),
  granularity: z
    .enum(['rollout', 'token'])
    .default('rollout')
    .describe('what gets a route of its own: a rollout or a token'),
  score: z
    .enum(['dot', 'cosine'])
    .default('dot')
    .describe('how features meet the direction: by dot product or by cosine'),
  tail: z.number().gt(0).lt(0.5).default(0.1).describe('share of the scores in the upper tail, which is routed'),
  keepTail: z
    .number()
    .min(0)
    .lt(0.5)
    .nullable()
    .default(null)
    .describe('share of the scores in the lower tail, which is kept; null: the same as arm.tail'),
  halfLife: count.default(96).describe('half-life of a row in the buffer, in rows; 0: no decay'),
  bufferRows: z
    .number()
    .int()
    .min(1)
    .max(1e7)
    .default(8192)
    .describe('most recent rows of features that the gate keeps'),
  warmupRows: count.default(64).describe('rows that the buffer needs before anything is kept or routed'),
  refreshEvery: count.default(5).describe('updates between rebuilds of the direction; 0: it is built once'),
  standardise: z.boolean().default(false).describe('divide the mean difference by its standard error, clamped to ±3'),
};

const activationKeys = z.strictObject(gateKeys);
const gradientKeys = z.strictObject({
  ...gateKeys,
  generatedPairs: z.boolean().default(false).describe('use pairs that the policy writes once, under two framings'),
});

/** The settings that both kinds of gate have. */
export type GateArmSettings = z.infer<typeof activationKeys>;

export const activation: ArmDefinition = defineArm({
  kind: 'activation',
  summary: 'gate on pooled activations',
  settings: activationKeys,
  label: (settings) => labelOf('activation', settings),
  open: (settings, tools) => openGated('activation', settings, tools),
});

export const gradient: ArmDefinition = defineArm({
  kind: 'gradient',
  summary: 'gate on gradient features',
  settings: gradientKeys,
  label: (settings) => labelOf('gradient', settings),
  async open(settings, tools) {
    const pairs = settings.generatedPairs ? await tools.writePairs() : tools.pairs;
    return openGated('gradient', settings, { ...tools, pairs });
  },
});

function labelOf(kind: FeatureKind, { placebo, calibration, granularity }: GateArmSettings): string {
  const named = kind === 'activation' ? placebo : `${kind} ${placebo}`;
  return [
    placebo === 'none' ? kind : named,
    ...(calibration === 'pairs' ? ['pair cuts'] : []),
    ...(granularity === 'token' ? ['by token'] : []),
  ].join(' ');
}

/** The gate's keys in the config of an arm; null for an arm without a gate. */
export function gateSettingsOf(arm: { readonly kind: string }): (GateArmSettings & { kind: FeatureKind }) | null {
  if (arm.kind !== 'activation' && arm.kind !== 'gradient') return null;
  const { kind, ...settings } = arm;
  const schema = kind === 'activation' ? activationKeys : gradientKeys;
  return { ...schema.parse(settings), kind };
}

/** The shares of scores that an arm's gate is calibrated to keep and to route; null without a gate, or with cuts from pairs. */
export function gateTailsOf(arm: { readonly kind: string }): { readonly keep: number; readonly route: number } | null {
  const gate = gateSettingsOf(arm);
  if (gate === null || gate.calibration !== 'quantile') return null;
  return { keep: gate.keepTail ?? gate.tail, route: gate.tail };
}

/** The gate's keys in the form that the gate itself takes. */
export function gateSettings(arm: GateArmSettings): GateSettings {
  const { calibration, score, tail, keepTail, halfLife, bufferRows, warmupRows } = arm;
  return { calibration, score, tail, keepTail, halfLife: halfLife === 0 ? null : halfLife, bufferRows, warmupRows };
}

function openGated(kind: FeatureKind, settings: GateArmSettings, tools: ArmTools): RoutingArm {
  const { seed, policy, pairs, tokensPerPass } = tools;
  const { adapter } = policy;
  const { granularity, placebo, refreshEvery, standardise } = settings;
  const gate = new Gate(gateSettings(settings), haarDirection(adapter.modules.length, adapter.rank, seed));
  const rebuilding = { kind, standardise, placebo: placebo === 'haar', tokensPerPass };
  const arm = gateArm({
    gate,
    kind,
    granularity,
    rebuild: (current) => rebuildDirection(current, pairs, gate, rebuilding),
    refreshEvery: refreshEvery === 0 ? null : refreshEvery,
  });
  return placebo === 'mass-matched' ? massMatched(arm, seed) : arm;
}
