/** A run on several ranks: what all must have in common, the grader of a rank's own rollouts, and who writes. */
import { UserError } from '../base/index.ts';
import { hashCode, readVersion } from '../base/node/index.ts';
import { createGrader, type Grader, type Judge, type Verdict } from '../env/index.ts';
import { adapterHash, type Policy } from '../grpo/index.ts';
import type { VerdictLedger } from '../oracle/index.ts';
import { alone, type Communicator, Shards } from '../parallel/index.ts';
import { configHash, type RunConfig, type RunIdentity } from '../run/index.ts';
import { identityWords } from './identity.ts';

const usualShards = 8;

export const withShards = (config: RunConfig): RunConfig =>
  config.parallel.shards > 0 ? config : { ...config, parallel: { ...config.parallel, shards: usualShards } };

export function openShards({ parallel }: RunConfig, communicator: Communicator = alone): Shards {
  if (parallel.shards > 0) return new Shards(communicator, parallel.shards);
  if (communicator.size === 1) return Shards.alone;
  throw new UserError({
    call: `train on ${communicator.size} ranks`,
    expected: 'a run with parallel.shards above 0',
    found: '0: the gradients of this run are summed in one piece',
    fix: 'Go on with it in one process, or begin a new run with ranks.',
  });
}

export const isWriter = ({ communicator }: Shards): boolean => communicator.rank === 0;

export async function expectSameProgram(shards: Shards, config: RunConfig): Promise<void> {
  if (shards.ranks === 1) return;
  await shards.expectSame('the version', `${readVersion()} on Node ${process.version}`);
  await shards.expectSame('the code', hashCode());
  await shards.expectSame('the config', configHash(config));
}

export async function expectSameInputs(shards: Shards, identity: RunIdentity, device: string): Promise<void> {
  for (const [key, words] of identityWords) await shards.expectSame(words, JSON.stringify(identity[key]));
  await shards.expectSame('the device', device);
}

export function meetingOf(shards: Shards, policy: Policy) {
  return {
    agree: async (asked: boolean) => (await shards.gather(asked)).some(Boolean),
    confirm: async () => shards.expectSame('the adapter', await adapterHash(policy)),
  };
}

export function shardedGrader(judge: Judge, ledger: VerdictLedger, shards: Shards, { sampling }: RunConfig): Grader {
  return {
    async grade(rollouts) {
      const { group, promptsPerStep } = sampling;
      const own = rollouts.filter((_, i) => shards.owns(shards.of(Math.floor(i / group), promptsPerStep)));
      const verdicts: Verdict[] = [];
      const grader = createGrader(judge, { append: (verdict) => void verdicts.push(verdict) });
      const rewards = await grader.grade(own);
      const graded = await shards.gather({ rewards, verdicts });
      for (const verdict of graded.flatMap((each) => each.verdicts)) ledger.sink.append(verdict);
      return Float32Array.from(graded.flatMap((each) => Array.from(each.rewards)));
    },
  };
}
