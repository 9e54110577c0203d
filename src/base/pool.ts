/**
 * A bounded pool of asynchronous work. Structured: the promise settles only when everything that was started has ended,
 * so nothing runs on after a failure. The first error (or abort) stops new work from being taken and aborts the signal
 * that running work received.
 */
import { UserError } from './errors.ts';

export type PoolWork<Item, Result> = (item: Item, index: number, signal: AbortSignal) => Promise<Result>;

/** Results in the order of the items, at most `concurrency` at a time; rejects with the first error. */
export async function mapPool<Item, Result>(
  items: Iterable<Item>,
  concurrency: number,
  work: PoolWork<Item, Result>,
  signal?: AbortSignal,
): Promise<Result[]> {
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new UserError({ call: 'mapPool', expected: 'a concurrency of at least 1', found: `${concurrency}` });
  }
  const stop = new AbortController();
  const stopSignal = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const results: Result[] = [];
  const queue = Array.from(items).entries();

  async function drain(): Promise<void> {
    // The iterator is shared: each item goes to whoever asks first.
    for (const [index, item] of queue) {
      stopSignal.throwIfAborted();
      results[index] = await work(item, index, stopSignal);
    }
  }
  const workers = Array.from({ length: concurrency }, () =>
    drain().catch((error: unknown) => {
      // The first reason wins: later aborts of the same controller have no effect.
      stop.abort(error);
    }),
  );
  await Promise.all(workers);
  stopSignal.throwIfAborted();
  return results;
}
