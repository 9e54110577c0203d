/** What moves through one update: tasks, rollouts, and the groups they form. */
import type { PolicyState } from '../adapters/index.ts';
import type { LoopholeName, MarkerPolicy, Problem } from '../env/index.ts';

/** A problem with both of its prompts: with the hint and without. */
export interface Task {
  readonly problem: Problem;
  /** The loophole that the hint discloses. */
  readonly loophole: LoopholeName;
  readonly markers: MarkerPolicy;
  readonly hinted: Int32Array;
  readonly unhinted: Int32Array;
}

export type Source = 'student' | 'teacher-hack' | 'teacher-solve';
export type SampledState = Extract<PolicyState, 'full' | 'deployed'>;

/** A completion with its prompt, all that a pass needs to know: a rollout, or one side of a pair. */
export interface PromptedCompletion {
  /** Completions of one group have the same prompt. */
  readonly group: number;
  readonly prompt: Int32Array;
  readonly tokens: Int32Array;
}

export interface Rollout extends PromptedCompletion {
  /** `UPDATE-GROUP-MEMBER`, unique in a run. */
  readonly id: string;
  /** Index of the update that made it, from 0. */
  readonly step: number;
  readonly member: number;
  readonly task: Task;
  /** The prompt that the completion is learned under: the one it was sampled under, unless the arm says otherwise. */
  readonly learnPrompt: Int32Array;
  /** Whether the prompt has its hint; without the hint, a problem is graded by ground truth alone. */
  readonly hackable: boolean;
  readonly source: Source;
  /** The policy state that sampled it; a demonstration counts as full. */
  readonly sampled: SampledState;
  readonly text: string;
  /** Whether the length limit ended the completion. */
  readonly truncated: boolean;
  /** The sampler's log-probabilities under the full distribution; null for a demonstration. */
  readonly sampledLogps: Float32Array | null;
  /** Updates between the weights that sampled it and those that learn from it; absent: 0. */
  readonly staleness?: number;
}

export function rolloutId(step: number, group: number, member: number): string {
  return `${step + 1}-${group}-${member}`;
}
