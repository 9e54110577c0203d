import { expect, test } from 'vitest';
import { KeptAnswers } from './kept-answers.ts';

test('the answers that were asked for last are kept, of each kind as many', async () => {
  const kept = new KeptAnswers(3);
  const read: string[] = [];
  const ask = (kind: string, key: string) =>
    kept.get(kind, key, 'same', async () => {
      read.push(`${kind} ${key}`);
      return key;
    });
  for (const key of ['1', '2', '3', '4', '4', '1']) expect(await ask('run', key)).toBe(key);
  await ask('gate', '1');
  expect(read).toEqual(['run 1', 'run 2', 'run 3', 'run 4', 'run 1', 'gate 1']);
});

test('what has changed, or could not be read, is read again', async () => {
  const kept = new KeptAnswers(3);
  const fails = () => kept.get('run', 'a', 'one', () => Promise.reject(new Error('gone')));
  await expect(fails()).rejects.toThrow('gone');
  expect(await kept.get('run', 'a', 'one', async () => 1)).toBe(1);
  expect(await kept.get('run', 'a', 'one', async () => 2)).toBe(1);
  expect(await kept.get('run', 'a', 'two', async () => 3)).toBe(3);
});
