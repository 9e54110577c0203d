import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UserError } from './errors.ts';
import { mapPool } from './pool.ts';

describe('mapPool', () => {
  it('keeps the order, fills the limit and never exceeds it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 12 }), fc.integer({ min: 1, max: 5 }), async (waits, limit) => {
        let running = 0;
        let most = 0;
        const results = await mapPool(waits, limit, async (waitMs, index) => {
          running += 1;
          most = Math.max(most, running);
          await delay(waitMs);
          running -= 1;
          return `${index}:${waitMs}`;
        });
        expect(results).toEqual(waits.map((waitMs, index) => `${index}:${waitMs}`));
        expect(most).toBe(Math.min(limit, waits.length));
      }),
      { numRuns: 30 },
    );
  });

  it('rejects with the first error, takes no new work, and waits for what runs', async () => {
    const started: number[] = [];
    const ended: number[] = [];
    const failing = mapPool([0, 1, 2, 3, 4, 5], 2, async (item) => {
      started.push(item);
      await delay(item === 1 ? 1 : 30);
      ended.push(item);
      if (item === 1) throw new Error('item 1 failed');
      if (item === 0) throw new Error('a later failure');
    });
    await expect(failing).rejects.toThrow('item 1 failed');
    expect(started).toEqual([0, 1]);
    expect(ended).toEqual([1, 0]);
  });

  it('aborts the signal that running work got when another fails', async () => {
    const failing = mapPool([0, 1], 2, async (item, _index, signal) => {
      if (item === 1) throw new Error('item 1 failed');
      await delay(600_000, undefined, { signal });
    });
    await expect(failing).rejects.toThrow('item 1 failed');
  });

  it('stops with the reason of the caller signal', async () => {
    const controller = new AbortController();
    const started: number[] = [];
    const stopped = mapPool(
      [0, 1, 2],
      1,
      async (item) => {
        started.push(item);
        if (item === 1) controller.abort(new Error('the user pressed ctrl-c'));
      },
      controller.signal,
    );
    await expect(stopped).rejects.toThrow('the user pressed ctrl-c');
    expect(started).toEqual([0, 1]);
    const early = mapPool([0], 1, async () => started.push(9), controller.signal);
    await expect(early).rejects.toThrow('the user pressed ctrl-c');
    expect(started).toEqual([0, 1]);
  });

  it('turns a synchronous throw into a rejection, and refuses a senseless limit', async () => {
    const throwing = mapPool([0], 1, () => {
      throw new Error('at once');
    });
    await expect(throwing).rejects.toThrow('at once');
    await expect(mapPool([0], 0, async () => 0)).rejects.toThrow(UserError);
  });
});
