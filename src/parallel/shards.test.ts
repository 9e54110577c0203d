import { describe, expect, it } from 'vitest';
import { ranksInProcess } from '../../test/parallel/in-process.ts';
import { alone } from './communicator.ts';
import { Shards } from './shards.ts';

const values = Float32Array.from({ length: 1000 }, (_, i) => Math.sin(i) * 10 ** (i % 7));
const ofShard = (shard: number): Float32Array => values.map((value) => value * Math.fround(1 / (shard + 3)));

async function sumOn(size: number): Promise<Float32Array[]> {
  const ranks = ranksInProcess(size).map((communicator) => new Shards(communicator, 8));
  return Promise.all(ranks.map((shards) => shards.sum(async (shard) => ofShard(shard))));
}

describe('the sum over shards', () => {
  it('has the same bytes on 1, 2, 4 and 8 ranks, on each of them', async () => {
    const [[one], ...others] = await Promise.all([1, 2, 4, 8].map(sumOn));
    for (const sum of others.flat()) expect(sum).toEqual(one);
  });

  it('is the tree: a sum in the order of shards has other bytes', async () => {
    const [[tree]] = [await sumOn(1)];
    const inOrder = new Float32Array(values.length);
    for (let shard = 0; shard < 8; shard++) {
      ofShard(shard).forEach((value, i) => {
        inOrder[i] += value;
      });
    }
    expect(inOrder).not.toEqual(tree);
    expect(Math.abs(inOrder[1] - tree[1])).toBeLessThan(1e-3);
  });
});

describe('the shard of a run alone', () => {
  it('is everything: what is gathered, made or found once is the value itself', async () => {
    const { alone: shards } = Shards;
    const value = { kept: () => 1 };
    expect(shards.own).toEqual([0]);
    expect([0, 3, 7].map((prompt) => shards.of(prompt, 8))).toEqual([0, 0, 0]);
    expect((await shards.gather(value))[0]).toBe(value);
    expect(await shards.fromFirst(async () => value)).toBe(value);
    await shards.expectSame('the adapter', 'any');
  });
});

describe('shards of ranks', () => {
  it('every prompt has one owner, and ranks own prompts one after another', () => {
    for (const size of [1, 2, 4, 8]) {
      const ranks = ranksInProcess(size).map((communicator) => new Shards(communicator, 8));
      for (const prompts of [1, 3, 8, 13, 64]) {
        const owners = Array.from({ length: prompts }, (_, prompt) => {
          const owning = ranks.filter((shards) => shards.owns(shards.of(prompt, prompts)));
          expect(owning).toHaveLength(1);
          expect(owning[0].own).toContain(owning[0].of(prompt, prompts));
          return owning[0].communicator.rank;
        });
        expect(owners).toEqual([...owners].sort((a, b) => a - b));
      }
    }
  });

  it('a number of ranks that does not divide the shards is refused', () => {
    for (const size of [3, 6, 16]) {
      expect(() => new Shards({ ...alone, size }, 8)).toThrow(`at most parallel.shards (8), found ${size}`);
    }
  });

  it('values are gathered in the order of ranks, numbers that JSON does not know among them', async () => {
    const ranks = ranksInProcess(4).map((communicator) => new Shards(communicator, 8));
    const all = await Promise.all(
      ranks.map((shards, rank) => shards.gather({ rank, odd: [Number.NaN, -0], none: null })),
    );
    for (const gathered of all) {
      expect(gathered.map(({ rank }) => rank)).toEqual([0, 1, 2, 3]);
      expect(gathered[3]).toEqual({ rank: 3, odd: [Number.NaN, -0], none: null });
    }
  });

  it('the rank that has another value than most is named on all of them', async () => {
    const ranks = ranksInProcess(4).map((communicator) => new Shards(communicator, 4));
    const hashes = ['same', 'same', 'other', 'same'];
    const ends = await Promise.allSettled(ranks.map((shards, rank) => shards.expectSame('the adapter', hashes[rank])));
    for (const end of ends) {
      expect(end.status).toBe('rejected');
      if (end.status === 'rejected') {
        expect(end.reason.message).toContain(
          'rank 2 of 4: expected the adapter of the other ranks (same), found other',
        );
      }
    }
  });

  it('what the first rank makes is made once', async () => {
    const ranks = ranksInProcess(2).map((communicator) => new Shards(communicator, 2));
    let made = 0;
    const answers = await Promise.all(ranks.map((shards) => shards.fromFirst(async () => ++made)));
    expect(answers).toEqual([1, 1]);
  });
});
