/**
 * A monitor is a value that says how suspicious a rollout looks: a number, or null where it abstains. It declares what it sees and is
 * shown nothing else. An arm with a monitor (src/monitors/arms) turns its scores into flags by the monitor's cut, and flags into what
 * the arm does: a penalty, a rollout left out, a route. A monitor that uses labels says so, and so does every run that it watches.
 */
import type { z } from 'zod';
import type { Features } from '../adapters/index.ts';
import type { Arm, ArmTools, ArmUse, FeatureTerm, SeenRollouts, Sight } from '../grpo/index.ts';

/** Where the scores are cut in two: a rollout is flagged if its score is above the cut. */
export type CutRule =
  | { readonly kind: 'fixed'; readonly value: number }
  /** The quantile 1 − rate of the monitor's scores of clean completions. */
  | { readonly kind: 'fpr'; readonly rate: number }
  /** Otsu's cut over the scores of the run's last rollouts; nothing is flagged before `warmupRows` of them are in. */
  | { readonly kind: 'otsu'; readonly warmupRows: number; readonly halfLife: number | null };

export interface Monitor extends Pick<Arm, 'refresh' | 'rehearse' | 'save' | 'restore'> {
  readonly sees: Sight;
  readonly cut: CutRule;
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

/** Counts by name. They follow from the config and its seed, as all events do: no times. */
export interface MonitorReport {
  /** Abstentions by reason. */
  readonly abstentions?: Readonly<Record<string, number>>;
  /** What the scores cost beside the training itself: `passes` (completions read by a model), `requests`, `tokens`. */
  readonly costs?: Readonly<Record<string, number>>;
}

/** A monitor as a config can name it, in the table arm.monitor. */
export interface MonitorDefinition {
  readonly kind: string;
  readonly summary: string;
  /** The monitor's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
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
  open(settings: unknown, tools: ArmTools): Monitor | Promise<Monitor>;
}

export interface MonitorSource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
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
  open(settings: z.infer<z.ZodObject<Shape>>, tools: ArmTools): Monitor | Promise<Monitor>;
}

/** What a monitor that does not say may make use of. */
const everyUse: readonly ArmUse[] = ['pairs', 'pool', 'features'];

/** Makes a definition whose `open` gets settings of its schema's type. */
export function defineMonitor<Shape extends z.ZodRawShape>(source: MonitorSource<Shape>): MonitorDefinition {
  const { kind, summary, settings, usesLabels = false, uses = everyUse, abstains = true } = source;
  return {
    kind,
    summary,
    settings,
    usesLabels: (raw) => (typeof usesLabels === 'function' ? usesLabels(settings.parse(raw)) : usesLabels),
    uses: () => uses,
    abstains,
    label: (raw) => source.label?.(settings.parse(raw)) ?? kind,
    models: (raw) => source.models?.(settings.parse(raw)) ?? [],
    runs: (raw) => source.runs?.(settings.parse(raw)) ?? [],
    open: (raw, tools) => source.open(settings.parse(raw), tools),
  };
}
