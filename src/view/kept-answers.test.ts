import { expect, test } from 'vitest';
import { KeptAnswers } from './kept-answers.ts';

async function readAll(
  kept: KeptAnswers,
  kind: string,
  keys: readonly number[],
  owner: string | null = null,
): Promise<number[]> {
  const read: number[] = [];
  for (const key of keys) {
    const own = async (): Promise<number> => {
      read.push(key);
      return key;
    };
    await kept.get(kind, `${key}`, 'same', own, owner);
  }
  return read;
}

test('a round through 200 answers that fit reads each once, and one through more than fit keeps the last', async () => {
  const kept = new KeptAnswers({ rows: { most: 20_000, weigh: (value) => value as number } }, { most: 3 });
  const round = Array.from({ length: 200 }, (_, i) => i);
  expect(await readAll(kept, 'rows', round), 'the first time').toEqual(round);
  expect(await readAll(kept, 'rows', round), 'the second time').toEqual([]);
  expect(await readAll(kept, 'rows', [30_000, 199])).toEqual([30_000, 199]);
  expect(await readAll(kept, 'other', [1, 2, 3, 4, 4, 1])).toEqual([1, 2, 3, 4, 1]);
});

test('a second round through more than fit reads only what did not fit; another owner takes the place', async () => {
  const kept = new KeptAnswers({ rows: { most: 10, weigh: () => 1 } }, { most: 3 });
  const round = Array.from({ length: 14 }, (_, i) => i);
  expect(await readAll(kept, 'rows', round, 'one'), 'the first time').toEqual(round);
  expect(await readAll(kept, 'rows', round, 'one'), 'the second time').toEqual([10, 11, 12, 13]);
  expect(await readAll(kept, 'rows', [20, 21, 20, 21], 'two')).toEqual([20, 21]);
  expect(await readAll(kept, 'rows', [20, 21, 9], 'two'), 'what was asked for long ago has left').toEqual([]);
});

test('what has changed, or could not be read, is read again', async () => {
  const kept = new KeptAnswers({}, { most: 3 });
  const fails = () => kept.get('run', 'a', 'one', () => Promise.reject(new Error('gone')));
  await expect(fails()).rejects.toThrow('gone');
  expect(await kept.get('run', 'a', 'one', async () => 1)).toBe(1);
  expect(await kept.get('run', 'a', 'one', async () => 2)).toBe(1);
  expect(await kept.get('run', 'a', 'two', async () => 3)).toBe(3);
});
