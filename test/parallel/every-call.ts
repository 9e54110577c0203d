/** A program for mpirun: makes every call of the communicator and prints, on rank 0, what came of it. */
import { createHash } from 'node:crypto';
import { joinRanks, launchedRanks } from '../../src/parallel/index.ts';
import { Shards } from '../../src/parallel/shards.ts';

const launched = launchedRanks();
if (launched === null) throw new Error('start this program with mpirun');
const communicator = await joinRanks(launched);
const { rank, size } = communicator;
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

await communicator.barrier();
const gathered = await communicator.allGather(Buffer.from('x'.repeat(rank * 100)));
const told = await communicator.broadcast(size - 1, Buffer.from(`from ${rank}`));
const shards = new Shards(communicator, 8);
const values = Float32Array.from({ length: 100_003 }, (_, i) => Math.sin(i) * 10 ** (i % 7));
const sum = await shards.sum(async (shard) => values.map((value) => value * Math.fround(1 / (shard + 3))));
const hash = createHash('sha256').update(new Uint8Array(sum.buffer)).digest('hex').slice(0, 16);
await shards.expectSame('the sum', hash);
if (rank === 0) {
  process.stdout.write(
    `${JSON.stringify({ size, lengths: gathered.map(({ length }) => length), told: text(told), hash })}\n`,
  );
}
await communicator.close();
