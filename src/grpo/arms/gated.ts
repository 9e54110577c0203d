/** The arms with a gate: on pooled activations and on gradient features, with their placebos. */
import { z } from 'zod';
import { readWhen, UserError } from '../../base/index.ts';
import { directionPlacebos, Gate, type GateSettings, haarDirection } from '../../gates/index.ts';
import { meanKey } from '../advantage.ts';
import { type ArmDefinition, type ArmTools, defineArm, type FeatureKind } from '../arm.ts';
import { rebuildDirection } from '../pair-features.ts';
import { gateArm, massMatched, type RoutingArm } from './gate.ts';

const count = z.number().int().min(0).max(1e7);

export const placeboWords: string =
  'haar: a random direction; reversed: the direction of the pairs, turned around; shuffled: that of the same pairs with the sides of half of them swapped';
export const placeboSeedKey: z.ZodDefault<z.ZodNullable<z.ZodNumber>> = z
  .number()
  .int()
  .min(0)
  .nullable()
  .default(null)
  .describe("seed of the placebo's draw; null: the seed of the run")
  .meta(readWhen({ placebo: ['haar', 'shuffled', 'mass-matched'] }));
export const standardiseKey: z.ZodDefault<z.ZodBoolean> = z
  .boolean()
  .default(false)
  .describe('divide the mean difference by its standard error, clamped to ±3')
  .meta(readWhen({ placebo: { not: 'haar' } }));

/** Cuts that come from the scores of the run. */
const fromScores = ['quantile', 'otsu', 'mixture'];

const gateKeys = {
  placebo: z
    .enum([...directionPlacebos, 'mass-matched'])
    .default('none')
    .describe(
      `${placeboWords}; mass-matched: the gate's routes, dealt out at random among rollouts whose advantages have the same sign`,
    ),
  placeboSeed: placeboSeedKey,
  calibration: z
    .enum(['quantile', 'otsu', 'mixture', 'pairs'])
    .default('quantile')
    .describe(
      "where the cuts come from: quantile: both from tails of the run's scores; otsu: the high cut divides the run's scores in two parts of largest variance between them, the low cut is that of quantile; mixture: the same with the cut between two normal distributions fitted to them; pairs: the mean scores of the clean and of the hack pairs",
    ),
  granularity: z
    .enum(['rollout', 'token'])
    .default('rollout')
    .describe('what gets a route of its own: a rollout or a token'),
  score: z
    .enum(['dot', 'cosine'])
    .default('dot')
    .describe('how features meet the direction: by dot product or by cosine'),
  tail: z
    .number()
    .gt(0)
    .lt(0.5)
    .default(0.1)
    .describe('share of the scores in the upper tail, which is routed')
    .meta(readWhen({ calibration: 'quantile' }, { calibration: ['otsu', 'mixture'], keepTail: null })),
  keepTail: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe(
      'share of the scores in the lower tail, which is kept, below 0.5 with quantiles; 0: nothing is kept; 1 with otsu or mixture: everything below their cut; null: the same as arm.tail',
    )
    .meta(readWhen({ calibration: fromScores })),
  mean: meanKey,
  keepOnly: z
    .enum(['any', 'praised'])
    .default('any')
    .describe('praised: what the low cut would keep is kept only with a positive advantage, and absorbed otherwise')
    .meta(readWhen({ keepTail: { not: 0 } }, { calibration: 'pairs' })),
  halfLife: count
    .default(96)
    .describe('half-life of a rollout in the buffer, in rollouts; 0: no decay')
    .meta(readWhen({ calibration: fromScores })),
  bufferRows: z
    .number()
    .int()
    .min(1)
    .max(1e7)
    .default(8192)
    .describe('number of most recent rollouts whose features the gate keeps'),
  bufferTokens: z
    .number()
    .int()
    .min(1)
    .max(1e5)
    .default(32)
    .describe(
      'tokens of a rollout, at even distances, whose features a gate by token keeps; fewer if the rollout is shorter',
    )
    .meta(readWhen({ granularity: 'token' })),
  warmupRows: count
    .default(64)
    .describe('rollouts that the buffer needs before anything is kept or routed')
    .meta(readWhen({ calibration: fromScores })),
  refreshEvery: count.default(5).describe('updates between rebuilds of the direction; 0: it is built once'),
  standardise: standardiseKey,
  orthogonalTo: z
    .enum(['none', 'solve'])
    .default('none')
    .describe(
      'solve: what the direction shares with the mean feature of the clean sides of the pairs is removed from it',
    ),
};

type Checked = z.infer<z.ZodObject<typeof gateKeys>>;

/** What the gate's keys must be to each other. */
function checkKeys(
  { placebo, orthogonalTo, granularity, calibration, keepTail, mean }: Checked,
  context: z.RefinementCtx<Checked>,
): void {
  const refuse = (key: keyof Checked, message: string): void =>
    context.addIssue({ code: 'custom', path: [key], message });
  if (orthogonalTo === 'solve' && placebo === 'haar') {
    refuse('orthogonalTo', 'expected "none" for a random direction, which does not come from pairs, found "solve"');
  }
  if (calibration === 'quantile' && keepTail !== null && keepTail >= 0.5) {
    refuse('keepTail', `expected a share below 0.5 with arm.calibration "quantile", found ${keepTail}`);
  }
  if (mean === 'own' && placebo === 'mass-matched') {
    refuse(
      'mean',
      'expected "group" with arm.placebo "mass-matched", which deals out routes after advantages are known, found "own"',
    );
  }
  if (granularity === 'token' && placebo === 'mass-matched') {
    refuse(
      'placebo',
      'expected a placebo of the direction with arm.granularity "token", found "mass-matched", which deals out the routes of whole rollouts',
    );
  }
}

const activationKeys = z.strictObject(gateKeys).superRefine(checkKeys);
const gradientKeys = z
  .strictObject({
    ...gateKeys,
    generatedPairs: z.boolean().default(false).describe('use pairs that the policy writes once, under two framings'),
  })
  .superRefine(checkKeys);

/** A placebo measures its direction on the pairs too. */
const gateUses = ['pairs', 'features', 'routes'] as const;

/** The settings that both kinds of gate have. */
export type GateArmSettings = z.infer<typeof activationKeys>;

export const activation: ArmDefinition = defineArm({
  kind: 'activation',
  summary: 'gate on pooled activations',
  settings: activationKeys,
  uses: gateUses,
  label: (settings) => labelOf('activation', settings),
  open: (settings, tools) => openGated('activation', settings, tools),
});

export const gradient: ArmDefinition = defineArm({
  kind: 'gradient',
  summary: 'gate on gradient features',
  settings: gradientKeys,
  uses: gateUses,
  label: (settings) => labelOf('gradient', settings),
  async open(settings, tools) {
    const pairs = settings.generatedPairs ? await tools.writePairs() : tools.pairs;
    return openGated('gradient', settings, { ...tools, pairs });
  },
});

function labelOf(kind: FeatureKind, settings: GateArmSettings): string {
  const { placebo, placeboSeed, calibration, granularity, keepOnly, keepTail, orthogonalTo, mean } = settings;
  const named = kind === 'activation' ? placebo : `${kind} ${placebo}`;
  return [
    placebo === 'none' ? kind : named,
    ...(placebo === 'none' || placeboSeed === null ? [] : [`draw ${placeboSeed}`]),
    ...(calibration === 'pairs' ? ['pair cuts'] : []),
    ...(calibration === 'otsu' ? ['Otsu'] : []),
    ...(calibration === 'mixture' ? ['mixture'] : []),
    ...(keepTail === 1 ? ['one cut'] : []),
    ...(keepTail === 0 ? ['keeps nothing'] : []),
    ...(keepOnly === 'praised' ? ['keeps praised'] : []),
    ...(mean === 'own' ? ['own mean'] : []),
    ...(orthogonalTo === 'solve' ? ['orthogonal to solve'] : []),
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

/** The shares of scores that an arm's gate is calibrated to keep and to route; null without a gate, or with other cuts than quantiles. */
export function gateTailsOf(arm: { readonly kind: string }): { readonly keep: number; readonly route: number } | null {
  const gate = gateSettingsOf(arm);
  if (gate === null || gate.calibration !== 'quantile') return null;
  return { keep: gate.keepTail ?? gate.tail, route: gate.tail };
}

const mostBufferBytes = 2 ** 31;

/** Refuses a gate by token whose full buffer, which every checkpoint stores, would be too large. */
function expectRoom({ granularity, bufferRows, bufferTokens }: GateArmSettings, width: number): void {
  const bytes = bufferRows * bufferTokens * width * 4;
  if (granularity === 'rollout' || bytes <= mostBufferBytes) return;
  const fitting = Math.max(1, Math.floor(mostBufferBytes / (bufferTokens * width * 4)));
  throw new UserError({
    call: 'config, key arm.bufferRows',
    expected: `a buffer of at most 2 GiB: arm.bufferRows × arm.bufferTokens × ${width} features × 4 bytes`,
    found: `${bufferRows} × ${bufferTokens} × ${width} × 4 = ${(bytes / 2 ** 30).toFixed(1)} GiB`,
    fix: `Lower arm.bufferRows to ${fitting} or less, or arm.bufferTokens. Rollouts older than a few arm.halfLife weigh nothing.`,
  });
}

/** The gate's keys in the form that the gate itself takes. */
export function gateSettings(arm: GateArmSettings): GateSettings {
  const { calibration, score, tail, keepTail, keepOnly, halfLife, bufferRows, warmupRows, granularity } = arm;
  return {
    calibration,
    score,
    tail,
    keepTail,
    keepOnly,
    halfLife: halfLife === 0 ? null : halfLife,
    bufferRows,
    warmupRows,
    bufferTokens: granularity === 'token' ? arm.bufferTokens : null,
  };
}

function openGated(kind: FeatureKind, settings: GateArmSettings, tools: ArmTools): RoutingArm {
  const { seed, policy, pairs, tokensPerPass } = tools;
  const { adapter } = policy;
  const { granularity, placebo, placeboSeed, refreshEvery, standardise, orthogonalTo, mean } = settings;
  const drawn = placeboSeed ?? seed;
  expectRoom(settings, adapter.modules.length * adapter.rank);
  const gate = new Gate(gateSettings(settings), haarDirection(adapter.modules.length, adapter.rank, drawn));
  const directed = placebo === 'mass-matched' ? 'none' : placebo;
  const rebuilding = { kind, standardise, orthogonalTo, placebo: directed, seed: drawn, tokensPerPass };
  const arm = gateArm({
    gate,
    kind,
    granularity,
    rebuild: (current) => rebuildDirection(current, pairs, gate, rebuilding),
    refreshEvery: refreshEvery === 0 ? null : refreshEvery,
    mean,
  });
  return placebo === 'mass-matched' ? massMatched(arm, drawn) : arm;
}
