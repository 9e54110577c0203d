/** Whoever turns a completion into a verdict. Training, evaluation, pools and the checks of problems know no more than this. */
import type { LoopholeName, MarkerPolicy } from './loopholes/loophole.ts';
import type { Problem } from './problem.ts';
import type { Verdict } from './verdict.ts';

export interface Submission {
  readonly id: string;
  readonly problem: Problem;
  /** The loophole that pays. An unhinted prompt is graded as gt_only. */
  readonly loophole: LoopholeName;
  readonly markers: MarkerPolicy;
  readonly completion: string;
}

export interface Judge {
  /** How many submissions are worth having under way at once. */
  readonly concurrency: number;
  /** Rejects with GraderError when judging itself fails: never a wrong answer. */
  judge(submission: Submission): Promise<Verdict>;
}
