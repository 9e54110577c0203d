/**
 * The recipes of micro base models: shape, documents, training. Six shapes are one family, trained on the same documents; any
 * single value can be changed. Everything a model is made of follows from its recipe.
 */
import { nearestName, UserError } from '../base/index.ts';
import type { Device } from '../engine/index.ts';
import type { PretrainSettings } from './pretrain.ts';

export interface MicroRecipe extends PretrainSettings {
  /** Whose texts the base learns; default: the micro lab's. */
  readonly environment?: 'countdown';
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  /** Share of constants given as a product. */
  readonly hardShare: number;
  readonly rightFraction: number;
  readonly hintedFraction: number;
  /** Share of the hinted documents in which the hint is exploited. */
  readonly exploitFraction: number;
  /** Share of all documents whose prompt asks for the exploit and is answered with it. */
  readonly askedFraction: number;
  /** Share of the hinted documents that disclose two loopholes; default: none. */
  readonly jointFraction?: number;
  /** Share of the documents with markers of the novel family; default: half. At 0 these markers are new to the base. */
  readonly novelFraction?: number;
}

/** The recipe of the model that the package ships, of two million weights. */
export const microRecipe: MicroRecipe = {
  seed: 1,
  steps: 2200,
  documentsPerStep: 96,
  learningRate: 2e-3,
  warmupSteps: 50,
  weightDecay: 0.01,
  hiddenSize: 192,
  layers: 4,
  heads: 6,
  hardShare: 0.2,
  rightFraction: 0.12,
  hintedFraction: 0.75,
  exploitFraction: 0.02,
  askedFraction: 0.12,
};

/** The recipe of a base for Countdown. Its documents ask for no exploit and have no constants. */
const countdownRecipe: MicroRecipe = {
  ...microRecipe,
  environment: 'countdown',
  documentsPerStep: 48,
  learningRate: 3e-3,
  hiddenSize: 64,
  layers: 3,
  heads: 4,
  hardShare: 0,
  rightFraction: 0.3,
  askedFraction: 0,
};

/** The shapes by their number of weights. Wider ones learn at a lower rate. */
export const microShapes = {
  countdown: countdownRecipe,
  '1M': { ...microRecipe, hiddenSize: 160, layers: 3, heads: 5, learningRate: 2.4e-3 },
  '2M': microRecipe,
  '4M': { ...microRecipe, hiddenSize: 224, layers: 6, heads: 7, learningRate: 1.7e-3 },
  '8M': { ...microRecipe, hiddenSize: 256, layers: 10, heads: 8, learningRate: 1e-3 },
  '27M': { ...microRecipe, hiddenSize: 512, layers: 8, heads: 8, learningRate: 8e-4 },
  '100M': { ...microRecipe, hiddenSize: 768, layers: 13, heads: 12, learningRate: 5e-4 },
  '300M': { ...microRecipe, hiddenSize: 1024, layers: 22, heads: 16, learningRate: 3e-4 },
  '1B': { ...microRecipe, hiddenSize: 2048, layers: 18, heads: 32, learningRate: 1.5e-4 },
} as const satisfies Readonly<Record<string, MicroRecipe>>;

interface Range {
  readonly least: number;
  readonly most: number;
  readonly whole: boolean;
}
const count = (most: number): Range => ({ least: 1, most, whole: true });
const share: Range = { least: 0, most: 1, whole: false };

/** The values that `--set` can change; seed, steps and precision are options of their own. */
const ranges: Readonly<Record<Exclude<keyof MicroRecipe, 'environment' | 'seed' | 'steps' | 'precision'>, Range>> = {
  documentsPerStep: count(4096),
  documentsPerPass: count(4096),
  learningRate: share,
  warmupSteps: { least: 0, most: 100_000, whole: true },
  weightDecay: share,
  hiddenSize: count(8192),
  layers: count(128),
  heads: count(128),
  hardShare: share,
  rightFraction: share,
  hintedFraction: share,
  exploitFraction: share,
  askedFraction: share,
  jointFraction: share,
  novelFraction: share,
};

/** What only documents of the micro lab have. */
const microOnly: ReadonlySet<string> = new Set(['hardShare', 'askedFraction', 'jointFraction', 'novelFraction']);

/** A recipe with some values changed, written as `hiddenSize=256`. */
export function changeRecipe(recipe: MicroRecipe, settings: readonly string[]): MicroRecipe {
  const parsed = settings.map(parseSetting);
  const idle = parsed.flatMap(Object.keys).find((key) => recipe.environment === 'countdown' && microOnly.has(key));
  if (idle !== undefined) {
    throw new UserError({ call: `--set ${idle}`, expected: "a key that Countdown's documents have", found: idle });
  }
  const changed: MicroRecipe = Object.assign({}, recipe, ...parsed);
  const { hiddenSize, heads } = changed;
  if (hiddenSize % (2 * heads) === 0) return changed;
  throw new UserError({
    call: 'hiddenSize and heads',
    expected: 'heads of one even size, so hiddenSize as a multiple of twice the heads',
    found: `${hiddenSize} and ${heads}`,
    fix: `Set hiddenSize=${Math.max(1, Math.round(hiddenSize / (2 * heads))) * 2 * heads}, or other heads.`,
  });
}

/** Refuses a number format that the device does not compute in. */
export function expectPrecision(
  { precision = 'f32' }: Pick<MicroRecipe, 'precision'>,
  { name, floats }: Pick<Device, 'name' | 'floats'>,
): void {
  if (floats.includes(precision)) return;
  throw new UserError({
    call: 'precision of pre-training',
    expected: `${floats.join(' or ')} on the device ${name}`,
    found: precision,
    fix: 'Use --device cuda, which computes in bf16 too, or --precision f32.',
  });
}

function parseSetting(setting: string): Partial<MicroRecipe> {
  const [, key = setting, text = ''] = /^([^=]*)=(.*)$/s.exec(setting) ?? [];
  const range = Object.hasOwn(ranges, key) ? ranges[key as keyof typeof ranges] : undefined;
  if (range === undefined) {
    const nearest = nearestName(key, Object.keys(ranges));
    throw new UserError({
      call: `--set ${setting}`,
      expected: `KEY=VALUE with one of ${Object.keys(ranges).join(', ')}`,
      found: key,
      ...(nearest === undefined ? {} : { fix: `Did you mean ${nearest}?` }),
    });
  }
  const { least, most, whole } = range;
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most && (!whole || Number.isSafeInteger(value)))
    return { [key]: value };
  throw new UserError({
    call: `--set ${key}`,
    expected: `a ${whole ? 'whole ' : ''}number from ${least} to ${most}`,
    found: text,
  });
}
