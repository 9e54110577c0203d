/**
 * The grader as training sees it: rollouts in, rewards out. Verdicts go to the sink in the order of the rollouts,
 * whatever order they were finished in; nothing here can read them.
 */
import { mapPool } from '../base/index.ts';
import type { Judge, Submission } from './judge.ts';
import type { Verdict, VerdictSink } from './verdict.ts';

export interface Grader {
  /** Rewards in the order of the rollouts. Rejects with GraderError when the sandbox fails, which is never a wrong answer. */
  grade(rollouts: readonly Submission[]): Promise<Float32Array>;
}

export function createGrader(judge: Judge, sink: VerdictSink): Grader {
  return {
    async grade(rollouts) {
      const rewards = new Float32Array(rollouts.length);
      const waiting = new Map<number, Verdict>();
      let next = 0;
      await mapPool(rollouts, judge.concurrency, async (rollout, index) => {
        const judged = await judge.judge(rollout);
        const { charge = 0 } = rollout;
        const verdict = charge === 0 ? judged : { ...judged, reward: judged.reward - charge };
        rewards[index] = verdict.reward;
        waiting.set(index, verdict);
        for (let ready = waiting.get(next); ready !== undefined; ready = waiting.get(next)) {
          waiting.delete(next);
          next += 1;
          sink.append(ready);
        }
      });
      return rewards;
    },
  };
}
