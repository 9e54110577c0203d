import { expect, it } from 'vitest';
import { withinLimit } from './index.ts';

/** Keeps this thread waiting without computing, as other processes would. */
const pause = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

it('ends what computes without end, and the next work is as good as new', () => {
  const text = `${'a'.repeat(60)}b`;
  expect(withinLimit(() => /^(a+)+$/.test(text), 20)).toBeNull();
  expect(withinLimit(() => /^a+b$/.test(text), 20)).toEqual({ value: true });
});

it('what was only kept waiting is done again, however long that took', () => {
  const tries: number[] = [];
  const work = (): string => {
    tries.push(tries.length);
    if (tries.length < 3) pause(20 * 2 ** tries.length + 20);
    // The watch looks up where a loop turns.
    for (let i = 0; i < 10; i++) Math.sqrt(i);
    return 'done';
  };
  expect(withinLimit(work, 20)).toEqual({ value: 'done' });
  expect(tries.length).toBeGreaterThan(1);
});

it('a failure of the work is its own', () => {
  const fail = () => {
    throw new TypeError('of its own');
  };
  expect(() => withinLimit(fail, 1000)).toThrow(new TypeError('of its own'));
});
