/**
 * The gate of src/gates in the grid: a direction whose cut remembers features, so that earlier rollouts are scored anew whenever the
 * direction changes. Also the arms `activation` and `gradient`, which name such a monitor, cut and remedy by one set of keys.
 */
import { z } from 'zod';
import { readWhen, UserError } from '../base/index.ts';
import { directionPlacebos, haarDirection } from '../gates/direction.ts';
import { Gate, type GateSettings } from '../gates/gate.ts';
import { meanKey } from '../grpo/advantage.ts';
import type { Arm, FeatureKind } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';
import { gateArm, watchByGate } from '../grpo/arms/gate.ts';
import { builtinCuts, memoryKeys, tailKey } from './cuts.ts';
import { directionKeys, directionSettings, gateDirectionKeys, pairsOf, placeboWords } from './direction.ts';
import type { KindTable, PartTables } from './monitor.ts';
import { dealt, keepOnlyKey, massMatchedWords, routeSettings } from './remedies/route.ts';
import type { Acts } from './remedy.ts';

/** Cuts that come from the scores of the run. */
const fromScores = readWhen({ calibration: ['quantile', 'otsu', 'mixture'] });

const gateKeys = {
  placebo: z
    .enum([...directionPlacebos, 'mass-matched'])
    .default('none')
    .describe(`${placeboWords}; ${massMatchedWords}`),
  ...directionKeys,
  calibration: z
    .enum(['quantile', 'otsu', 'mixture', 'pairs'])
    .default('quantile')
    .describe(
      "where the cuts come from: quantile: both from tails of the run's scores; otsu: the high cut divides the run's scores in two parts of largest variance between them, the low cut is that of quantile; mixture: the same with the cut between two normal distributions fitted to them; pairs: the mean scores of the clean and of the hack pairs",
    ),
  granularity: gateDirectionKeys.granularity,
  tail: tailKey.meta(readWhen({ calibration: 'quantile' }, { calibration: ['otsu', 'mixture'], keepTail: null })),
  keepTail: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe(
      'share of the scores in the lower tail, which is kept, below 0.5 with quantiles; 0: nothing is kept; 1 with otsu or mixture: everything below their cut; null: the same as arm.tail',
    )
    .meta(fromScores),
  mean: meanKey,
  keepOnly: keepOnlyKey.meta(readWhen({ keepTail: { not: 0 } }, { calibration: 'pairs' })),
  halfLife: memoryKeys.halfLife.meta(fromScores),
  bufferRows: memoryKeys.bufferRows,
  bufferTokens: memoryKeys.bufferTokens.meta(readWhen({ granularity: 'token' })),
  warmupRows: memoryKeys.warmupRows.meta(fromScores),
  orthogonalTo: gateDirectionKeys.orthogonalTo,
};

export const activationKeys = z.strictObject(gateKeys);
export const gradientKeys = z.strictObject({ ...gateKeys, generatedPairs: gateDirectionKeys.generatedPairs });

/** A gate by one set of keys. */
export type GateArmSettings = z.infer<typeof activationKeys>;
type GeneratingSettings = GateArmSettings & { readonly generatedPairs?: boolean };

/** What a gate's keys mean. */
export function readGate(features: FeatureKind, own: GeneratingSettings): PartTables {
  const { placebo, placeboSeed, score, standardise, refreshEvery, granularity, orthogonalTo, generatedPairs } = own;
  const { calibration, tail, keepTail, halfLife, warmupRows, bufferRows, bufferTokens, mean, keepOnly } = own;
  const [directed, routed] = placebo === 'mass-matched' ? (['none', placebo] as const) : ([placebo, 'none'] as const);
  const memory = { halfLife, bufferRows, bufferTokens };
  const direction = { placebo: directed, placeboSeed, score, standardise, refreshEvery, granularity, orthogonalTo };
  return {
    monitor: { kind: 'direction', features, ...direction, generatedPairs: generatedPairs ?? false },
    cut:
      calibration === 'pairs'
        ? { kind: calibration, low: keepTail !== 0, ...memory }
        : {
            kind: calibration,
            ...(calibration === 'quantile' ? { tail } : {}),
            keepTail: keepTail ?? tail,
            memory: 'features',
            ...memory,
            warmupRows,
          },
    remedy: { kind: 'route', others: 'absorb', mean, keepOnly, placebo: routed, placeboSeed },
  };
}

/** Whether a cut belongs to a gate, which has the features of earlier rollouts and the scores of the pairs. */
export const remembersFeatures = ({ kind, memory }: KindTable): boolean => kind === 'pairs' || memory === 'features';

/** The keys of the gate that tables make, whose cut remembers features. */
function gateOfTables({ monitor, cut, remedy }: PartTables): GeneratingSettings {
  const own = directionOf(monitor);
  const { score, standardise, refreshEvery, granularity, orthogonalTo, generatedPairs } = own;
  const { kind: calibration, ...cutSettings } = cut;
  const definition = builtinCuts.find(({ kind }) => kind === calibration);
  const { low, tail, keepTail, halfLife, warmupRows, bufferRows, bufferTokens } = Object(
    definition?.settings.parse(cutSettings),
  );
  const routed = remedy.kind === 'route' ? routeOf(remedy) : null;
  const isDealt = routed?.placebo === 'mass-matched';
  return gradientKeys.parse({
    ...{ score, standardise, refreshEvery, granularity, orthogonalTo, generatedPairs },
    ...{ calibration, tail, halfLife, warmupRows, bufferRows, bufferTokens },
    ...{ mean: routed?.mean, keepOnly: routed?.keepOnly },
    keepTail: calibration === 'pairs' && low ? null : (keepTail ?? 0),
    placebo: isDealt ? 'mass-matched' : own.placebo,
    placeboSeed: isDealt ? routed.placeboSeed : own.placeboSeed,
  });
}

const directionOf = ({ kind: _kind, ...settings }: KindTable) => directionSettings.parse(settings);
const routeOf = ({ kind: _kind, ...settings }: KindTable) => routeSettings.parse(settings);

/** The settings of an arm's gate on features, with its kind of feature; null for an arm that has no such gate. */
export function gateSettingsOf(arm: {
  readonly kind: string;
  readonly [key: string]: unknown;
}): (GateArmSettings & { readonly kind: FeatureKind }) | null {
  const { kind, ...settings } = arm;
  if (kind === 'watched') {
    const tables = settings as unknown as PartTables;
    if (tables.remedy.kind !== 'route' || !remembersFeatures(tables.cut)) return null;
    return { ...gateOfTables(tables), kind: tables.monitor['features'] as FeatureKind };
  }
  if (kind !== 'activation' && kind !== 'gradient') return null;
  return { ...(kind === 'activation' ? activationKeys : gradientKeys).parse(settings), kind };
}

/** Whether the routes of an arm are dealt out at random, so that its monitor's flags are not what was routed. */
export function dealsRoutes({ placebo, remedy }: { readonly [key: string]: unknown }): boolean {
  const stated = (remedy as { readonly placebo?: unknown } | undefined)?.placebo ?? placebo;
  return stated === 'mass-matched';
}

/** The shares of scores that an arm's gate is calibrated to keep and to route; null without a gate, or with other cuts than quantiles. */
export function gateTailsOf(arm: { readonly kind: string }): { readonly keep: number; readonly route: number } | null {
  const gate = gateSettingsOf(arm);
  if (gate === null || gate.calibration !== 'quantile') return null;
  return { keep: gate.keepTail ?? gate.tail, route: gate.tail };
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

/** The arm's name in tables. */
export function gateLabel(kind: FeatureKind, settings: GateArmSettings): string {
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

const mostBufferBytes = 2 ** 31;

/** Refuses a gate by token whose full buffer, which every checkpoint stores, would be too large. */
function expectRoom({ bufferTokens, bufferRows }: GateSettings, width: number): void {
  if (bufferTokens === null) return;
  const bytes = bufferRows * bufferTokens * width * 4;
  if (bytes <= mostBufferBytes) return;
  const fitting = Math.max(1, Math.floor(mostBufferBytes / (bufferTokens * width * 4)));
  throw new UserError({
    call: 'config, key bufferRows of the gate',
    expected: `a buffer of at most 2 GiB: bufferRows × bufferTokens × ${width} features × 4 bytes`,
    found: `${bufferRows} × ${bufferTokens} × ${width} × 4 = ${(bytes / 2 ** 30).toFixed(1)} GiB`,
    fix: `Lower bufferRows to ${fitting} or less, or bufferTokens. Rollouts older than a few half-lives weigh nothing.`,
  });
}

/**
 * The hooks of an arm by a gate. One that routes asks it after advantages are computed, so that features are made of those rollouts alone
 * that carry gradient; any other remedy acts on what the gate flags before.
 */
export async function openGated(tables: PartTables, acts: Acts, tools: ArmTools): Promise<Arm> {
  const { rebuildDirection } = await import('../grpo/pair-features.ts');
  const own = directionOf(tables.monitor);
  const { adapter } = tools.policy;
  const { features: kind, granularity, placebo, placeboSeed, refreshEvery, standardise, orthogonalTo } = own;
  const settings = gateOfTables(tables);
  const drawn = placeboSeed ?? tools.seed;
  expectRoom(gateSettings(settings), adapter.modules.length * adapter.rank);
  const gate = new Gate(gateSettings(settings), haarDirection(adapter.modules.length, adapter.rank, drawn));
  const pairs = await pairsOf(own, tools);
  const rebuilding = { kind, standardise, orthogonalTo, placebo, seed: drawn, tokensPerPass: tools.tokensPerPass };
  const { route, screen, ...arm } = gateArm({
    gate,
    kind,
    granularity,
    rebuild: (current) => rebuildDirection(current, pairs, gate, rebuilding),
    refreshEvery: refreshEvery === 0 ? null : refreshEvery,
    mean: settings.mean,
  });
  if (acts.route === undefined) return { ...arm, watch: (graded) => watchByGate(gate, graded) };
  const remedy = routeOf(tables.remedy);
  const { others, keepOnly } = remedy;
  return {
    ...arm,
    ...(screen === undefined ? {} : { screen }),
    async route(scored) {
      const decided = await route(scored);
      const keep = (i: number) => others === 'keep' && (keepOnly === 'any' || scored.advantages[i] > 0);
      const routes = decided.routes.map((rows, i) =>
        keep(i) ? rows.map((each) => (each === 'absorb' ? 'keep' : each)) : rows,
      );
      return dealt({ ...decided, routes }, scored, remedy, tools.seed);
    },
  };
}
