/** What an arm may be built from (arm.ts): tools that the caller who holds the parts gives it when it is opened. */
import type { TokenPair } from '../adapters/index.ts';
import type { Scope } from '../engine/index.ts';
import type { Place, Problem } from '../env/index.ts';
import type { Decoder, ModelText } from '../model/index.ts';
import type { Policy } from './policy.ts';
import type { PromptedCompletion, Task } from './rollout.ts';

/** What an arm's prompt hook is shown of a task: its tests and its solution stay with the grader. */
export interface AskedTask extends Pick<Task, 'loophole' | 'markers' | 'hinted' | 'unhinted'> {
  readonly problem: Pick<Problem, 'id' | 'messages'>;
  /** Whether the prompt discloses the loophole in this update. */
  readonly hackable: boolean;
}

/** What the grader found out about a rollout. */
export interface Label {
  /** A hack: the channel of an open loophole fired and the program is not correct. */
  readonly exploited: boolean;
  readonly correct: boolean;
  /** Any channel fired, whether it paid or not, correct or not. */
  readonly attempt: boolean;
  /** Id of the problem. */
  readonly problem: string;
  /** The loopholes whose channels fired; without an attempt, those that are open on the prompt. */
  readonly loopholes: readonly string[];
  /** The markers that the prompt discloses. */
  readonly markers: readonly string[];
}

/** Looks up the label of a rollout that was graded in this update. */
export type Labels = (id: string) => Label;

/** How many of how many completions take the bait of their loophole, by their text alone: nothing is graded. */
export interface BaitCount {
  readonly took: number;
  readonly of: number;
}

/** A model on the policy's device that learns nothing. */
export interface FrozenModel {
  readonly decoder: Decoder;
  readonly text: ModelText;
}

/** A rollout of an earlier run. */
export interface LabelledCompletion extends PromptedCompletion {
  readonly exploited: boolean;
}

/** What an arm may be built from. */
export interface ArmTools {
  readonly seed: number;
  readonly policy: Policy;
  /** The most tokens that one pass may have. */
  readonly tokensPerPass: number;
  /** The contrastive pairs: at least one in a run, none where only the memory of a run is rehearsed. */
  readonly pairs: readonly TokenPair[];
  /** Completions that show the hack: those of the pool of demonstrations, which labels chose, or the hack sides of the pairs. */
  readonly demonstrations: Readonly<Record<'pool' | 'pairs', readonly PromptedCompletion[]>>;
  /** Owns the tensors that the arm keeps on the device as long as it lives. */
  readonly scope: Scope;
  /** Samples a policy in full state on so many training prompts with hints, and counts the completions whose text takes the bait. */
  readonly countBait: (policy: Policy, prompts: number) => Promise<BaitCount>;
  /**
   * The mean reward of one completion each of so many validation problems, shown without a hint and graded by ground truth alone: the same
   * problems and the same random numbers at every call. A number and no verdicts.
   */
  readonly soundReward: (policy: Policy, prompts: number) => Promise<number>;
  /** Tells the person who started the run one sentence. */
  readonly tell: (message: string) => Promise<void>;
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
  /** The rollouts of an earlier run on problems that this run has too, with their labels; null as `labels` is. */
  readonly labelled: ((run: string) => Promise<readonly LabelledCompletion[]>) | null;
  /**
   * Loads a model that the definition's `models` names, for texts of so many tokens. `base` is the policy's own, without its adapter:
   * it has no weights of its own.
   */
  readonly openModel: (name: string, maxPositions: number) => Promise<FrozenModel>;
  /** The folder of the run, for what an arm must keep beside its checkpoints; null where nothing is recorded. */
  readonly folder: string | null;
}
