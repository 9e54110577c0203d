import { expect, test } from 'vitest';
import { randomStream } from '../rng.ts';
import { drawHere, NormalThreads } from './normal-threads.ts';

const length = 2 ** 16 + 6;
const streams = ['a', 'b', 'c'].map((name, row) => randomStream(7, ['threads', name], 3, row));

test('threads draw the bytes that one thread draws, in whichever order they end', async () => {
  await using threads = new NormalThreads(2);
  const drawn = await Promise.all(streams.map((stream, i) => threads.draw(stream, length + i, 0.5)));
  for (const [i, stream] of streams.entries()) {
    const alone = await drawHere(stream, length + i, 0.5);
    expect(Buffer.compare(Buffer.from(drawn[i].buffer), Buffer.from(alone.buffer))).toBe(0);
  }
  expect((await threads.draw(streams[0], 3, 1))[2]).toBe(Math.fround(streams[0].normalAt(2)));
});

test('a pool that ends with work left leaves no thread, and a draw that cannot be is an error', async () => {
  const threads = new NormalThreads(1);
  await expect(threads.draw(streams[0], 2 ** 53, 1)).rejects.toThrow('Invalid typed array length');
  await threads[Symbol.asyncDispose]();
});
