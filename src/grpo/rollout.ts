/** What moves through one update: tasks, rollouts, and the groups they form. P prompts, G group, T tokens. */
import type { PolicyState } from '../adapters/index.ts';
import type { LoopholeName, MarkerPolicy, Problem } from '../env/index.ts';

/** A problem as the policy is asked it, both ways. */
export interface Task {
  readonly problem: Problem;
  /** The loophole its hint discloses. */
  readonly loophole: LoopholeName;
  readonly markers: MarkerPolicy;
  readonly hinted: Int32Array;
  readonly unhinted: Int32Array;
}

export type Source = 'student' | 'teacher-hack' | 'teacher-solve';
export type SampledState = Extract<PolicyState, 'full' | 'deployed'>;

/** A completion of a prompt, as far as a pass over it is concerned: a rollout, or one side of a pair. */
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
  /** What the completion is learned under: the prompt it was sampled under, unless the arm says otherwise. */
  readonly learnPrompt: Int32Array;
  /** Without its hint a problem is graded by ground truth alone. */
  readonly hackable: boolean;
  readonly source: Source;
  /** The policy state that sampled it; a demonstration counts as full. */
  readonly sampled: SampledState;
  readonly text: string;
  /** Stopped by the length limit. */
  readonly truncated: boolean;
  /** The sampler's log-probabilities under the full distribution; null for a demonstration. */
  readonly sampledLogps: Float32Array | null;
}

export function rolloutId(step: number, group: number, member: number): string {
  return `${step + 1}-${group}-${member}`;
}
