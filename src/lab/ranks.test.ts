/** The grader of a run on several ranks: a rollout's reward is its own, whichever rank judged it. */
import { expect, it } from 'vitest';
import { ranksInProcess } from '../../test/parallel/in-process.ts';
import type { Judge, Submission, Verdict } from '../env/index.ts';
import type { VerdictLedger } from '../oracle/index.ts';
import { type Communicator, Shards } from '../parallel/index.ts';
import { resolveBuiltin } from './index.ts';
import { shardedGrader } from './ranks.ts';

const { config } = resolveBuiltin(null, ['sampling.promptsPerStep=5', 'sampling.group=3']);
const rollouts = Array.from({ length: 15 }, (_, i) => ({ id: `1-${Math.floor(i / 3)}-${i % 3}` }) as Submission);
const rewardOf = (id: string): number => Number(id.replaceAll('-', ''));

it.each([1, 2, 4])('on %i ranks every rank has the rewards and verdicts in the order of the rollouts', async (size) => {
  const judge = {
    concurrency: 2,
    judge: async ({ id }: Submission) => ({ id, reward: rewardOf(id) }) as Verdict,
  } as unknown as Judge;
  const one = async (communicator: Communicator) => {
    const verdicts: string[] = [];
    const ledger = { sink: { append: ({ id }: Verdict) => void verdicts.push(id) } } as unknown as VerdictLedger;
    const rewards = await shardedGrader(judge, ledger, new Shards(communicator, 4), config).grade(rollouts);
    return { rewards: Array.from(rewards), verdicts };
  };
  for (const { rewards, verdicts } of await Promise.all(ranksInProcess(size).map(one))) {
    expect(rewards).toEqual(rollouts.map(({ id }) => rewardOf(id)));
    expect(verdicts).toEqual(rollouts.map(({ id }) => id));
  }
});
