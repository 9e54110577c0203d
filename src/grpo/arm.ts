/**
 * An arm is a value with hooks: what one way of training does differently from plain GRPO. The step calls the hooks in this order and
 * knows nothing else about an arm; a hook that is absent costs nothing.
 *
 *   prompt → sample (steer) → grade → watch → reward → screen → advantages → score (condense) → route → learn (term) → gradient → settle → after
 *
 * An arm declares what it sees and is shown nothing else. It saves what it must remember between updates as an opaque state. An arm
 * that needs labels is given them when it is opened, by the caller who holds the verdicts: nothing in this folder can reach them.
 */
import { z } from 'zod';
import type { Features, Route, StoredTensor } from '../adapters/index.ts';
import {
  aFunction,
  expectShape,
  flagOrFunction,
  type PartShape,
  partName,
  partSettings,
  partWords,
} from '../base/parts/index.ts';
import type { Parameter } from '../engine/index.ts';
import type { CondensedRows, Cuts, DirectionQuality } from '../gates/index.ts';
import type { JsonValue, Project } from '../model/index.ts';
import type { ArmTools, AskedTask } from './arm-tools.ts';
import type { Expectation } from './events.ts';
import type { Policy } from './policy.ts';
import type { Rollout } from './rollout.ts';

export type FeatureKind = 'activation' | 'gradient';
/** What a row of features stands for. */
export type Granularity = 'rollout' | 'token';

/** What an arm is shown of the rollouts, beside their rewards and advantages. */
export interface Sight {
  readonly features: { readonly kind: FeatureKind; readonly granularity: Granularity } | null;
  /** Whether it is shown prompts and completions as text. */
  readonly text: boolean;
  /** Whether it is told which prompts are sound: shown without a hint and graded by ground truth alone. Default: no. */
  readonly sound?: boolean;
}

/** The rollouts of an update as an arm sees them, always in the same order. */
export interface SeenRollouts {
  /** Index of the update, from 0. */
  readonly step: number;
  readonly rollouts: readonly Seen[];
  /** One row per rollout, or per completion token; null for an arm that did not ask for features, or that condenses them. */
  readonly features: Features | null;
  /** What the arm's condense hook kept of each rollout's rows; absent without that hook. */
  readonly condensed?: readonly CondensedRows[];
}

export interface Seen extends Pick<Rollout, 'id' | 'step' | 'group' | 'member' | 'sampled' | 'truncated'> {
  /** Number of completion tokens. */
  readonly length: number;
  /** null for an arm that did not ask for text. */
  readonly text: { readonly prompt: string; readonly completion: string } | null;
  /** Whether no loophole is open on its prompt; absent for an arm that did not ask. */
  readonly sound?: boolean;
}

export interface GradedRollouts extends SeenRollouts {
  readonly rewards: Float32Array;
  /** What the arm's watch hook said; absent without that hook. */
  readonly watched?: Watched;
}

export interface ScoredRollouts extends SeenRollouts {
  readonly advantages: Float32Array;
  /** What the arm's watch hook said; absent without that hook. */
  readonly watched?: Watched;
}

/** What a monitor says of rollouts, in their order. */
export interface Watched {
  /** Higher is more suspicious; null where the monitor abstained. */
  readonly scores: readonly (number | null)[];
  /** Whether the arm takes the rollout for a hack. */
  readonly flagged: readonly boolean[];
  /** Scores above it are flagged; null while there is none. */
  readonly cut: number | null;
  /** Scores up to it are kept by an arm that routes; absent with one cut. */
  readonly low?: number;
  /** Abstentions by reason. */
  readonly abstentions: Readonly<Record<string, number>>;
  /** What the scores cost beside the training itself, in counts by name: `passes` (completions read by a model), `requests`, `tokens`. */
  readonly costs: Readonly<Record<string, number>>;
}

/** The prompt that a group is sampled under, and the prompt that its completions are learned under. */
export interface Prompts {
  readonly sample: Int32Array;
  readonly learn: Int32Array;
}

/**
 * `leave-out`: not in its group's statistics, advantage 0. `silence`: in the statistics, advantage 0. `apart`: compared with the whole
 * group, and not in the statistics that the others are compared with.
 */
export type Screening = 'train' | 'leave-out' | 'silence' | 'apart';

export interface Routing {
  /** For each rollout: one route, or one per completion token. */
  readonly routes: readonly (readonly Route[])[];
  readonly scores: readonly number[] | null;
  readonly cuts: Cuts | null;
  /** Number of rollouts that the cuts were made from. */
  readonly bufferRows: number;
  /** Mean cosine of the rollouts' features with the arm's direction; absent or null for an arm without one. */
  readonly meanCosine?: number | null;
}

/** A direction that an arm has just built, or has just measured again. */
export interface NewDirection {
  readonly quality: DirectionQuality;
  readonly direction: Float32Array;
  /** Mean scores of the clean sides (low) and of the hack sides (high) of the pairs under this direction. */
  readonly pairCuts: Cuts | null;
}

/** A function of pooled activations, at each row of features: its values, and its gradients [rows, modules, R]. */
export interface FeatureTerm {
  readonly values: readonly number[];
  readonly slopes: Float32Array;
}

/** What an arm remembers. Only the arm itself looks inside. */
export interface ArmState {
  readonly json: JsonValue;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

export interface Arm {
  readonly sees: Sight;
  /**
   * Is called once in a process, after what was saved is restored and before anything is sampled. What it states is recorded, so an
   * arm that was prepared before its checkpoint states nothing again.
   */
  prepare?(policy: Policy): Promise<readonly Expectation[]>;
  /** Is called before an update and rebuilds what is due. */
  refresh?(step: number, policy: Policy): Promise<NewDirection | null>;
  /** Returns prompts to use in place of the task's own. It is also asked about every task before training, to see that all prompts fit. */
  prompt?(asked: AskedTask): Prompts;
  /** Changes how the policy applies its linear layers while it samples, scores and learns; never while it is evaluated. */
  readonly steer?: (project: Project) => Project;
  /** Has a monitor judge the rollouts. Its answer is recorded, and shown to the hooks after it. */
  watch?(graded: GradedRollouts): Watched | Promise<Watched>;
  /** Returns rewards to use in place of the grader's. */
  reward?(graded: GradedRollouts): Float32Array | Promise<Float32Array>;
  screen?(graded: GradedRollouts): readonly Screening[] | Promise<readonly Screening[]>;
  /**
   * Is given each rollout's rows of features as soon as they are made, and returns what is kept of them for `route`. The rows of a whole
   * update never are in memory together then, which matters where a row is a token.
   */
  condense?(rows: Features): CondensedRows;
  /** Chooses the routes; without this hook every rollout is absorbed. */
  route?(scored: ScoredRollouts): Routing | Promise<Routing>;
  /**
   * A term of the loss: a function of each rollout's pooled activations as it is learned, whose mean over an update's rollouts is added
   * to the loss. Its gradient flows through the activations into what learns.
   */
  term?(features: Features): FeatureTerm;
  /** Changes the summed gradients in place; `again` computes them anew on the same rollouts with the current parameters. */
  gradient?(parameters: readonly Parameter[], again: () => Promise<void>): Promise<void>;
  /** Is called after the optimiser's step, and puts back what must not have moved. */
  settle?(policy: Policy): Promise<void>;
  /** Is called after every update, also after one that taught nothing, and may change the policy. What it states is recorded. */
  after?(done: DoneUpdate, policy: Policy): Promise<readonly Expectation[]>;
  /** Why training ends before its last update; null: it goes on. Is asked before every update. */
  ends?(): string | null;
  /** Uses the device as the largest update does outside of training; is called to plan the memory, and never while training. */
  rehearse?(): Promise<void>;
  /** An arm that has `save` must also have `restore`. */
  save?(): ArmState;
  restore?(state: ArmState): void;
}

/** An update that was made. */
export interface DoneUpdate {
  /** Updates completed, this one included, and how many the run has. */
  readonly update: number;
  readonly of: number;
  /** Mean reward of the policy's own rollouts. */
  readonly meanReward: number;
}

/** What an arm may make use of beside rewards: keys of the config about anything else have no reader. */
const armUses = ['pairs', 'pool', 'features', 'routes'] as const;
export type ArmUse = (typeof armUses)[number];
export const armUseList: z.ZodType = z.array(z.enum(armUses));

/** An arm as a config can name it. */
export interface ArmDefinition {
  readonly kind: string;
  readonly summary: string;
  /**
   * Whether deployment deletes a block under these settings, which may lack keys that must still be given. Without a quarantine
   * everything that is trained is deployed.
   */
  quarantine(settings: unknown): boolean;
  /** Whether the arm is given labels under these settings. The manifest records it, and results never pool such an arm with the others. */
  usesLabels(settings: unknown): boolean;
  /** `closed`: every problem is shown without its hint and graded by ground truth alone. */
  readonly loopholes: 'open' | 'closed';
  /** The arm's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** The arm's name in tables, which says how it differs from the plainest arm of its kind. */
  label(settings: unknown): string;
  /** What the arm makes use of under these settings. */
  uses(settings: unknown): readonly ArmUse[];
  /** Names of the models that the arm opens beside the policy: folders, or `base`. */
  models(settings: unknown): readonly string[];
  /** Paths of the runs whose rollouts and labels the arm learns from. */
  runs(settings: unknown): readonly string[];
  /** What an arm that watches is made of; null for one that watches nothing. */
  means(settings: unknown): ArmMeaning | null;
  /** The tables that settings may leave out, as they are then. */
  usual(settings: unknown): Readonly<Record<string, { readonly kind: string }>>;
  open(settings: unknown, tools: ArmTools): Arm | Promise<Arm>;
}

/** An arm that watches as a monitor, a cut and a remedy. */
export interface ArmMeaning {
  readonly monitor: Readonly<Record<string, unknown>>;
  readonly cut: Readonly<Record<string, unknown>>;
  readonly remedy: Readonly<Record<string, unknown>>;
  /** What it costs beside training itself, in words. */
  readonly costs: readonly string[];
  /** Its placebos: the settings that make each, with spaces between them. */
  readonly placebos: readonly string[];
}

export interface ArmSource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly quarantine?: boolean | ((settings: unknown) => boolean);
  readonly usesLabels?: boolean | ((settings: z.infer<z.ZodObject<Shape>>) => boolean);
  readonly loopholes?: 'open' | 'closed';
  /** Default: everything. */
  readonly uses?: readonly ArmUse[] | ((settings: z.infer<z.ZodObject<Shape>>) => readonly ArmUse[]);
  /** The arm's name in tables; the kind if absent. */
  label?(settings: z.infer<z.ZodObject<Shape>>): string;
  /** Default: none. */
  models?(settings: z.infer<z.ZodObject<Shape>>): readonly string[];
  /** Default: none. */
  runs?(settings: z.infer<z.ZodObject<Shape>>): readonly string[];
  /** Default: the arm watches nothing. */
  means?(settings: z.infer<z.ZodObject<Shape>>): ArmMeaning;
  /** Is asked about settings that are not checked yet. Default: none. */
  usual?(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, { readonly kind: string }>>;
  open(settings: z.infer<z.ZodObject<Shape>>, tools: ArmTools): Arm | Promise<Arm>;
}

const meaning = z.strictObject({
  monitor: z.looseObject({}),
  cut: z.looseObject({}),
  remedy: z.looseObject({}),
  costs: z.array(z.string()),
  placebos: z.array(z.string()),
});

export const armShape: PartShape = {
  word: 'arm',
  members: z.strictObject({
    kind: partName,
    summary: z.string(),
    settings: partSettings,
    quarantine: flagOrFunction.optional(),
    usesLabels: flagOrFunction.optional(),
    loopholes: z.enum(['open', 'closed']).optional(),
    uses: z.union([armUseList, aFunction], `a list of ${armUses.join(', ')}, or a function`).optional(),
    label: aFunction.optional(),
    models: aFunction.optional(),
    runs: aFunction.optional(),
    means: aFunction.optional(),
    usual: aFunction.optional(),
    open: aFunction,
  }),
  answers: {
    quarantine: z.boolean(),
    usesLabels: z.boolean(),
    uses: armUseList,
    label: partWords.refine((label) => label !== '', 'a label: a text that is not empty'),
    models: z.array(z.string()),
    runs: z.array(z.string()),
    means: meaning.nullable(),
    usual: z.record(z.string(), z.looseObject({ kind: z.string() })),
  },
};

/** Makes a definition whose `open` gets settings of its schema's type. By default the arm has a quarantine and is given no labels. */
export function defineArm<Shape extends z.ZodRawShape>(source: ArmSource<Shape>): ArmDefinition {
  const { kind, summary, settings, quarantine = true, usesLabels = false, loopholes = 'open', uses = armUses } = source;
  expectShape(`arm ${kind}`, armShape.members, source);
  return {
    kind,
    summary,
    settings,
    quarantine: (raw) => (typeof quarantine === 'function' ? quarantine(raw) : quarantine),
    usesLabels: (raw) => (typeof usesLabels === 'function' ? usesLabels(settings.parse(raw)) : usesLabels),
    loopholes,
    uses: (raw) => (typeof uses === 'function' ? uses(settings.parse(raw)) : uses),
    label: (raw) => source.label?.(settings.parse(raw)) ?? kind,
    models: (raw) => source.models?.(settings.parse(raw)) ?? [],
    runs: (raw) => source.runs?.(settings.parse(raw)) ?? [],
    means: (raw) => source.means?.(settings.parse(raw)) ?? null,
    usual: (raw) => source.usual?.(Object(raw)) ?? {},
    open: (raw, tools) => source.open(settings.parse(raw), tools),
  };
}

export const seesNothing: Sight = { features: null, text: false };

/** Every rollout trains both blocks. */
export function absorbAll(count: number): Routing {
  return { routes: Array.from({ length: count }, () => ['absorb']), scores: null, cuts: null, bufferRows: 0 };
}
