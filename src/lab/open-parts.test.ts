/** Parts that open each other: what a failure, a signal and the end do to them. */
import { describe, expect, it } from 'vitest';
import { OpenParts } from './open-parts.ts';

const never = new Promise<never>(() => undefined);

describe('parts', () => {
  it('are opened once, and told when they are open', async () => {
    const told: string[] = [];
    await using parts = new OpenParts(undefined, (name) => told.push(name));
    let opened = 0;
    const count = () => parts.part('count', async () => ++opened);
    expect(await Promise.all([count(), count()])).toEqual([1, 1]);
    expect([await count(), told]).toEqual([1, ['count']]);
  });

  it('all fail with the first failure, whoever waits for what', async () => {
    await using parts = new OpenParts();
    const slow = parts.part('slow', () => never);
    const broken = () => parts.part('broken', () => Promise.reject(new Error('no such file')));
    const needs = parts.part('needs both', () => Promise.all([slow, broken()]));
    await expect(needs).rejects.toThrow('no such file');
    await expect(slow).rejects.toThrow('no such file');
    await expect(parts.part('later', async () => 1)).rejects.toThrow('no such file');
    expect(parts.signal.aborted).toBe(true);
  });

  it('end with the caller’s signal while they are being opened; what is open stays open', async () => {
    const stop = new AbortController();
    await using parts = new OpenParts(stop.signal);
    const open = await parts.part('open', async () => 'open');
    const opening = parts.part('opening', () => never);
    stop.abort();
    await expect(opening).rejects.toMatchObject({ name: 'AbortError' });
    expect(await parts.part('open', () => never)).toBe(open);
  });

  it('do not mind a signal when all are open: the work goes on to its end', async () => {
    const stop = new AbortController();
    await using parts = new OpenParts(stop.signal);
    await parts.part('open', async () => 1);
    stop.abort();
    expect(parts.signal.aborted).toBe(false);
  });
});

describe('closing', () => {
  it('comes in the opposite order', async () => {
    const closed: number[] = [];
    {
      await using parts = new OpenParts();
      for (const number of [1, 2]) parts.use({ [Symbol.dispose]: () => void closed.push(number) });
    }
    expect(closed).toEqual([2, 1]);
  });

  it('waits for what still ends after a failure, and closes what it opened', async () => {
    const closed: string[] = [];
    let end = (): void => undefined;
    const parts = new OpenParts();
    const late = parts.part('late', async () => {
      await new Promise<void>((resolve) => (end = resolve));
      parts.use({ [Symbol.dispose]: () => void closed.push('late') });
    });
    await expect(parts.part('broken', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    // Nothing is closed under the hands of what is being opened, and nobody waits for ever.
    await parts[Symbol.asyncDispose]();
    expect(closed).toEqual([]);
    end();
    await expect(late).rejects.toThrow('no');
    await expect.poll(() => closed).toEqual(['late']);
  });
});
