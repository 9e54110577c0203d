/**
 * An arm is a value with hooks: what one way of training does differently from plain GRPO. The step calls the hooks in this order and
 * knows nothing else about an arm; a hook that is absent costs nothing.
 *
 *   prompt → sample (steer) → grade → reward → screen → advantages → score (condense) → route → learn → gradient
 *
 * An arm declares what it sees and is shown nothing else. It saves what it must remember between updates as an opaque state. An arm
 * that needs labels is given them when it is opened, by the caller who holds the verdicts: nothing in this folder can reach them.
 */
import type { z } from 'zod';
import type { Features, Route, StoredTensor, TokenPair } from '../adapters/index.ts';
import type { Parameter } from '../engine/index.ts';
import type { Place, Problem } from '../env/index.ts';
import type { CondensedRows, Cuts, DirectionQuality } from '../gates/index.ts';
import type { JsonValue, Project } from '../model/index.ts';
import type { Policy } from './policy.ts';
import type { Rollout, Task } from './rollout.ts';

export type FeatureKind = 'activation' | 'gradient';
/** What a row of features stands for. */
export type Granularity = 'rollout' | 'token';

/** What an arm is shown of the rollouts, beside their rewards and advantages. */
export interface Sight {
  readonly features: { readonly kind: FeatureKind; readonly granularity: Granularity } | null;
  /** Whether it is shown prompts and completions as text. */
  readonly text: boolean;
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
}

export interface GradedRollouts extends SeenRollouts {
  readonly rewards: Float32Array;
}

export interface ScoredRollouts extends SeenRollouts {
  readonly advantages: Float32Array;
}

/** What an arm's prompt hook is shown of a task: its tests and its solution stay with the grader. */
export interface AskedTask extends Pick<Task, 'loophole' | 'markers' | 'hinted' | 'unhinted'> {
  readonly problem: Pick<Problem, 'id' | 'messages'>;
  /** Whether the prompt discloses the loophole in this update. */
  readonly hackable: boolean;
}

/** The prompt that a group is sampled under, and the prompt that its completions are learned under. */
export interface Prompts {
  readonly sample: Int32Array;
  readonly learn: Int32Array;
}

/** `leave-out`: not in its group's statistics, advantage 0. `silence`: in the statistics, advantage 0. */
export type Screening = 'train' | 'leave-out' | 'silence';

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

/** What an arm remembers. Only the arm itself looks inside. */
export interface ArmState {
  readonly json: JsonValue;
  readonly tensors: ReadonlyMap<string, StoredTensor>;
}

export interface Arm {
  readonly sees: Sight;
  /** Is called before an update and rebuilds what is due. */
  refresh?(step: number, policy: Policy): Promise<NewDirection | null>;
  /** Returns prompts to use in place of the task's own. It is also asked about every task before training, to see that all prompts fit. */
  prompt?(asked: AskedTask): Prompts;
  /** Changes how the policy applies its linear layers while it samples, scores and learns; never while it is evaluated. */
  readonly steer?: (project: Project) => Project;
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
  /** Changes the summed gradients in place; `again` computes them anew on the same rollouts with the current parameters. */
  gradient?(parameters: readonly Parameter[], again: () => Promise<void>): Promise<void>;
  /** An arm that has `save` must also have `restore`. */
  save?(): ArmState;
  restore?(state: ArmState): void;
}

/** Looks up the labels of a rollout that was graded in this update. */
export type Labels = (id: string) => { readonly exploited: boolean; readonly correct: boolean };

/** What an arm may be built from. */
export interface ArmTools {
  readonly seed: number;
  readonly policy: Policy;
  /** The most tokens that one pass may have. */
  readonly tokensPerPass: number;
  readonly pairs: readonly TokenPair[];
  /** Has the policy write pairs itself. */
  readonly writePairs: () => Promise<readonly TokenPair[]>;
  /** Turns the messages of a prompt into the token ids that the model reads. */
  readonly tokenize: (
    messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[],
  ) => Int32Array;
  /**
   * Makes prompts with an instruction beside the user message: a preset, or an own text. One that the model cannot read is refused at
   * once; `key` is the arm's key that it was given with.
   */
  readonly instruct: (given: string, place: Place, key: string) => (asked: AskedTask) => Int32Array;
  /** null unless the definition says that the arm uses labels. */
  readonly labels: Labels | null;
}

/** An arm as a config can name it. */
export interface ArmDefinition {
  readonly kind: string;
  readonly summary: string;
  /** Whether deployment deletes a block. Without a quarantine everything that is trained is deployed. */
  readonly quarantine: boolean;
  /** Whether the arm is given labels. The manifest records it, and results never pool such an arm with the others. */
  readonly usesLabels: boolean;
  /** `closed`: every problem is shown without its hint and graded by ground truth alone. */
  readonly loopholes: 'open' | 'closed';
  /** The arm's keys in the config, beside `kind`. */
  readonly settings: z.ZodObject;
  /** The arm's name in tables, which says how it differs from the plainest arm of its kind. */
  label(settings: unknown): string;
  open(settings: unknown, tools: ArmTools): Arm | Promise<Arm>;
}

export interface ArmSource<Shape extends z.ZodRawShape> {
  readonly kind: string;
  readonly summary: string;
  readonly settings: z.ZodObject<Shape>;
  readonly quarantine?: boolean;
  readonly usesLabels?: boolean;
  readonly loopholes?: 'open' | 'closed';
  /** The arm's name in tables; the kind if absent. */
  label?(settings: z.infer<z.ZodObject<Shape>>): string;
  open(settings: z.infer<z.ZodObject<Shape>>, tools: ArmTools): Arm | Promise<Arm>;
}

/** Makes a definition whose `open` gets settings of its schema's type. By default the arm has a quarantine and is given no labels. */
export function defineArm<Shape extends z.ZodRawShape>(source: ArmSource<Shape>): ArmDefinition {
  const { kind, summary, settings, quarantine = true, usesLabels = false, loopholes = 'open' } = source;
  return {
    kind,
    summary,
    settings,
    quarantine,
    usesLabels,
    loopholes,
    label: (raw) => source.label?.(settings.parse(raw)) ?? kind,
    open: (raw, tools) => source.open(settings.parse(raw), tools),
  };
}

export const seesNothing: Sight = { features: null, text: false };

/** Every rollout trains both blocks. */
export function absorbAll(count: number): Routing {
  return { routes: Array.from({ length: count }, () => ['absorb']), scores: null, cuts: null, bufferRows: 0 };
}
