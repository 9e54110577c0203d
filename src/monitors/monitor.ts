/**
 * A monitor is a value that says how suspicious a rollout looks: a number, or null where it abstains. It declares what it sees and is
 * shown nothing else. A cut (cut.ts) turns its scores into flags, and a remedy (remedy.ts) flags into what the arm does: a penalty, a
 * rollout left out, a route. A monitor that uses labels says so, and so does every run that it watches.
 */
import { z } from 'zod';
import type { Features } from '../adapters/index.ts';
import {
  aFunction,
  expectShape,
  flagOrFunction,
  type PartShape,
  partName,
  partSettings,
  partWords,
} from '../base/parts/index.ts';
import { type Arm, type ArmUse, armUseList, type FeatureTerm, type SeenRollouts, type Sight } from '../grpo/arm.ts';
import type { ArmTools } from '../grpo/arm-tools.ts';

/** The cut that a monitor may give itself: a rollout is flagged if its score is above it. */
export type CutRule =
  | { readonly kind: 'fixed'; readonly value: number }
  /** The quantile 1 − rate of the monitor's scores of clean completions. */
  | { readonly kind: 'fpr'; readonly rate: number }
  /** Otsu's cut over the scores of the run's last rollouts; nothing is flagged before `warmupRows` of them are in. */
  | { readonly kind: 'otsu'; readonly warmupRows: number; readonly halfLife: number | null };

export interface Monitor extends Pick<Arm, 'refresh' | 'rehearse' | 'save' | 'restore'> {
  readonly sees: Sight;
  /** Where its scores are cut if the config has the cut `own`, which is the usual one of a monitor that names no other. */
  readonly cut?: CutRule;
  /** One score per rollout, higher is more suspicious; null: the monitor abstains. */
  score(seen: SeenRollouts): readonly (number | null)[] | Promise<readonly (number | null)[]>;
  /** The scores as a function of features, with its gradient, for an arm that trains against them through the activations. */
  slopes?(features: Features): FeatureTerm;
  /** Most seconds that `score` or `refresh` may take, after which the run stops; default: an hour. */
  readonly mostSeconds?: number;
  /** Scores of completions that are clean by construction, for the cut `fpr`; is called after `refresh`. */
  cleanScores?(): ArrayLike<number>;
  /** What happened since the last call. */
  report?(): MonitorReport;
}

/** A table of a config whose keys depend on its kind; only the part of that kind knows their types. */
export interface KindTable {
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** An arm that watches, as the three choices that it is. */
export interface PartTables {
  readonly monitor: KindTable;
  readonly cut: KindTable;
  readonly remedy: KindTable;
}

/** Counts by name. They follow from the config and its seed, as all events do: no times. */
export interface MonitorReport {
  /** Abstentions by reason. */
  readonly abstentions?: Readonly<Record<string, number>>;
  /** What the scores cost beside the training itself: `passes` (completions read by a model), `requests`, `tokens`. */
  readonly costs?: Readonly<Record<string, number>>;
}

/** What a part costs beside training itself. */
const costs = ['pairs', 'readings', 'gradients', 'judge', 'requests', 'labels', 'labelled run'] as const;
export type Cost = (typeof costs)[number];

/** What cuts and remedies may ask of a monitor beside its scores. */
const gifts = ['clean scores', 'slopes', 'direction'] as const;
export type MonitorGift = (typeof gifts)[number];

/** What the cut of a config asks of the monitor. */
export interface MonitorNeeds {
  readonly cleanScores: boolean;
}

/** A monitor as a config can name it, in the table [monitor]. */
export interface MonitorDefinition {
  readonly kind: string;
  readonly summary: string;
  /** The monitor's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** Its keys in the table arm.monitor of arms that are named by their remedy, where its cut stands among them. */
  readonly former: z.ZodObject;
  /** The cut of a config that names none. */
  readonly usualCut: KindTable;
  /** What its scores are: 0 or 1, probabilities, or any numbers. */
  readonly scores: 'flags' | 'probabilities' | 'numbers';
  readonly gives: readonly MonitorGift[];
  /** The values of its key `placebo` that stand in for what it knows; without any, the monitor `chance` is its placebo. */
  readonly placebos: readonly string[];
  costs(settings: unknown): readonly Cost[];
  /** Whether labels reach the monitor under these settings. */
  usesLabels(settings: unknown): boolean;
  /** What the monitor makes use of under these settings. */
  uses(settings: unknown): readonly ArmUse[];
  /** Whether it may abstain. */
  readonly abstains: boolean;
  /** The monitor's name in tables, after the word "by". */
  label(settings: unknown): string;
  /** Names of the models that it opens beside the policy: folders, or `base`. */
  models(settings: unknown): readonly string[];
  /** Paths of the runs whose rollouts and labels it learns from. */
  runs(settings: unknown): readonly string[];
  open(settings: unknown, tools: ArmTools, needs?: MonitorNeeds): Monitor | Promise<Monitor>;
}

export interface MonitorSource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  /** Default: the settings. */
  readonly former?: z.ZodObject;
  /** Default: the cut that the opened monitor gives itself. */
  readonly usualCut?: KindTable;
  /** Default: any numbers. */
  readonly scores?: MonitorDefinition['scores'];
  /** Default: nothing. */
  readonly gives?: readonly MonitorGift[];
  /** Default: none. */
  readonly placebos?: readonly string[];
  /** Default: none. */
  costs?(settings: z.infer<z.ZodObject<Shape>>): readonly Cost[];
  /** Default: no labels. */
  readonly usesLabels?: boolean | ((settings: z.infer<z.ZodObject<Shape>>) => boolean);
  /** Default: everything. */
  readonly uses?: readonly ArmUse[];
  /** Default: it may. */
  readonly abstains?: boolean;
  /** The kind if absent. */
  label?(settings: z.infer<z.ZodObject<Shape>>): string;
  /** Default: none. */
  models?(settings: z.infer<z.ZodObject<Shape>>): readonly string[];
  /** Default: none. */
  runs?(settings: z.infer<z.ZodObject<Shape>>): readonly string[];
  open(settings: z.infer<z.ZodObject<Shape>>, tools: ArmTools, needs: MonitorNeeds): Monitor | Promise<Monitor>;
}

/** What a monitor that does not say may make use of. */
const everyUse: readonly ArmUse[] = ['pairs', 'pool', 'features'];

export const monitorShape: PartShape = {
  word: 'monitor',
  members: z.strictObject({
    kind: partName,
    summary: z.string(),
    settings: partSettings,
    former: partSettings.optional(),
    usualCut: z.looseObject({ kind: z.string() }).optional(),
    scores: z.enum(['flags', 'probabilities', 'numbers']).optional(),
    gives: z.array(z.enum(gifts)).optional(),
    placebos: z.array(z.string()).optional(),
    costs: aFunction.optional(),
    usesLabels: flagOrFunction.optional(),
    uses: armUseList.optional(),
    abstains: z.boolean().optional(),
    label: aFunction.optional(),
    models: aFunction.optional(),
    runs: aFunction.optional(),
    open: aFunction,
  }),
  answers: {
    costs: z.array(z.enum(costs)),
    usesLabels: z.boolean(),
    uses: armUseList,
    label: partWords,
    models: z.array(z.string()),
    runs: z.array(z.string()),
  },
};

/** Makes a definition whose `open` gets settings of its schema's type. */
export function defineMonitor<Shape extends z.ZodRawShape>(source: MonitorSource<Shape>): MonitorDefinition {
  const { settings, usesLabels = false, uses = everyUse } = source;
  expectShape(`monitor ${source.kind}`, monitorShape.members, source);
  return {
    kind: source.kind,
    summary: source.summary,
    settings,
    former: source.former ?? settings,
    usualCut: source.usualCut ?? { kind: 'own' },
    scores: source.scores ?? 'numbers',
    gives: source.gives ?? [],
    placebos: source.placebos ?? [],
    costs: (raw) => source.costs?.(settings.parse(raw)) ?? [],
    usesLabels: (raw) => (typeof usesLabels === 'function' ? usesLabels(settings.parse(raw)) : usesLabels),
    uses: () => uses,
    abstains: source.abstains ?? true,
    label: (raw) => source.label?.(settings.parse(raw)) ?? source.kind,
    models: (raw) => source.models?.(settings.parse(raw)) ?? [],
    runs: (raw) => source.runs?.(settings.parse(raw)) ?? [],
    open: (raw, tools, needs = { cleanScores: false }) => source.open(settings.parse(raw), tools, needs),
  };
}
