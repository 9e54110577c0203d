/** The judge turns a completion into a verdict. Grader, evaluation, pools and the checks of problems know only this interface. */
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
  /** Taken off the reward, whatever the verdict; default: nothing. */
  readonly charge?: number;
}

export interface Judge {
  /** Number of submissions that are worth judging at the same time. */
  readonly concurrency: number;
  /** Rejects with GraderError when judging itself fails: a failure never counts as a wrong answer. */
  judge(submission: Submission): Promise<Verdict>;
}
