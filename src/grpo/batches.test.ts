import { describe, expect, it } from 'vitest';
import { queueAhead } from './batches.ts';

describe('queueing ahead', () => {
  it('has one pass more in the queue than is waited for, and gives results in order', async () => {
    const told: string[] = [];
    const results = await queueAhead([1, 2, 3], (item) => {
      told.push(`queue ${item}`);
      return new Promise<number>((resolve) => {
        setImmediate(() => {
          told.push(`done ${item}`);
          resolve(10 * item);
        });
      });
    });
    expect(results).toEqual([10, 20, 30]);
    expect(told.indexOf('queue 2')).toBeLessThan(told.indexOf('done 1'));
    expect(told.indexOf('queue 3')).toBeGreaterThan(told.indexOf('done 1'));
    expect(await queueAhead([], () => Promise.resolve(1))).toEqual([]);
  });

  it('fails as the first pass that failed, or as the one that could not be queued', async () => {
    const failing = (item: number) => Promise.reject(new Error(`pass ${item}`));
    await expect(queueAhead([1, 2], failing)).rejects.toThrow('pass 1');
    const unqueued = (item: number): Promise<number> => {
      if (item === 2) throw new Error('no memory');
      return failing(item);
    };
    await expect(queueAhead([1, 2], unqueued)).rejects.toThrow('no memory');
  });
});
