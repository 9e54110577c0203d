/**
 * The work of an update in shards (src/parallel): every rank samples, scores and learns the prompts of its own shards, and what the
 * hooks and the report need is gathered in the order of the rollouts. A run that asks for no shards has one, which is everything.
 */
import type { AdamW } from '../engine/index.ts';
import { readFloats } from '../engine/index.ts';
import type { Shards } from '../parallel/index.ts';
import type { PromptedCompletion } from './rollout.ts';
import type { Sampler } from './sampler.ts';
import type { OldScores } from './score.ts';
import type { GrpoSettings } from './settings.ts';
import type { Accumulated, UpdateInputs } from './update.ts';

/** The run's shards, beside the number of prompts that they divide. */
export interface Sharding {
  readonly shards: Shards;
  readonly settings: Pick<GrpoSettings, 'sampling'>;
}

/** Samples the rows of this rank, all at once or shard by shard, and gathers those of the others. */
export function shardedSampler(
  sampler: Sampler,
  shards: Shards,
  { sampling, compute }: Pick<GrpoSettings, 'sampling' | 'compute'>,
): Sampler {
  const { group, promptsPerStep } = sampling;
  return {
    async sample(requests, settings, stream) {
      const shardOf = (row: number): number => shards.of(Math.floor(row / group), promptsPerStep);
      const own = requests.filter(({ row }) => shards.owns(shardOf(row)));
      const batches = compute.sampleByShard
        ? shards.own.map((shard) => own.filter(({ row }) => shardOf(row) === shard))
        : [own];
      const generations = [];
      for (const batch of batches) {
        if (batch.length > 0) generations.push(...(await sampler.sample(batch, settings, stream)));
      }
      return (await shards.gather(generations)).flat();
    },
    report: () => sampler.report?.() ?? null,
  };
}

/** Does work on the rollouts of each shard of this rank, and returns that of all shards, in their order. */
async function inShards<Rolled extends PromptedCompletion, Result>(
  { shards, settings: { sampling } }: Sharding,
  rollouts: readonly Rolled[],
  work: (own: readonly Rolled[]) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const shard of shards.own) {
    const own = rollouts.filter(({ group }) => shards.of(group, sampling.promptsPerStep) === shard);
    results.push(await work(own));
  }
  return (await shards.gather(results)).flat();
}

/** Scores rollouts, one number list each. */
export async function scoreInShards<Rolled extends PromptedCompletion>(
  sharding: Sharding,
  rollouts: readonly Rolled[],
  score: (own: readonly Rolled[]) => Promise<readonly Float32Array[]>,
): Promise<readonly Float32Array[]> {
  return (await inShards(sharding, rollouts, score)).flat();
}

export async function scoreOldInShards<Rolled extends PromptedCompletion>(
  sharding: Sharding,
  rollouts: readonly Rolled[],
  score: (own: readonly Rolled[]) => Promise<OldScores>,
): Promise<OldScores> {
  const parts = await inShards(sharding, rollouts, score);
  return {
    logpOld: parts.flatMap(({ logpOld }) => logpOld),
    features: parts.flatMap(({ features }) => features),
    condensed: parts.some((part) => part.condensed === null) ? null : parts.flatMap((part) => part.condensed ?? []),
    passes: parts.reduce((sum, { passes }) => sum + passes, 0),
  };
}

/** Makes the gradients of each shard from zero, sums them in the tree over shards, and gives every rank the sum. One shard needs no copy. */
export async function sumOverShards(
  shards: Shards,
  optimiser: AdamW,
  inputs: UpdateInputs,
  { sampling }: GrpoSettings,
  accumulate: (own: UpdateInputs) => Promise<Accumulated>,
): Promise<Accumulated> {
  if (shards.count === 1) {
    optimiser.zeroGradients();
    return accumulate(inputs);
  }
  const parts: Accumulated[] = [];
  const summed = await shards.sum(async (shard) => {
    optimiser.zeroGradients();
    parts.push(await accumulate(takeShard(inputs, shard, shards, sampling)));
    return readGradients(optimiser);
  });
  writeGradients(optimiser, summed);
  const all = (await shards.gather(parts)).flat();
  const worst = (kind: 'keep' | 'route'): number | null =>
    all.reduce<number | null>((most, { leaks }) => larger(most, leaks[kind]), null);
  return {
    loss: sumPairs(all.map(({ loss }) => loss)),
    rollouts: all.flatMap(({ rollouts }) => rollouts),
    logpOld: all.flatMap(({ logpOld }) => logpOld),
    leaks: { keep: worst('keep'), route: worst('route') },
  };
}

function larger(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.max(a, b);
}

/** The sum in the same tree as that of the gradients. */
function sumPairs(values: readonly number[]): number {
  if (values.length === 1) return values[0];
  const middle = values.length / 2;
  return sumPairs(values.slice(0, middle)) + sumPairs(values.slice(middle));
}

function takeShard(
  { rollouts, advantages, logpOld, logpBase, routes }: UpdateInputs,
  shard: number,
  shards: Shards,
  { promptsPerStep }: GrpoSettings['sampling'],
): UpdateInputs {
  const own = [...rollouts.keys()].filter((i) => shards.of(rollouts[i].group, promptsPerStep) === shard);
  return {
    rollouts: own.map((i) => rollouts[i]),
    advantages: Float32Array.from(own, (i) => advantages[i]),
    logpOld: own.map((i) => logpOld[i]),
    logpBase: own.map((i) => logpBase[i]),
    routes: own.map((i) => routes[i]),
  };
}

/** All gradients, one parameter after another. */
async function readGradients({ parameters }: AdamW): Promise<Float32Array> {
  const all = new Float32Array(parameters.reduce((sum, { gradient }) => sum + gradient.size, 0));
  let start = 0;
  for (const { gradient } of parameters) {
    all.set(await readFloats(gradient), start);
    start += gradient.size;
  }
  return all;
}

function writeGradients({ parameters, device }: AdamW, all: Float32Array): void {
  let start = 0;
  for (const { gradient } of parameters) {
    device.write(gradient, all.subarray(start, start + gradient.size));
    start += gradient.size;
  }
}
