import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { refreshPace } from './page/pace.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a change waits fifty times as long as the last one took, with those that come meanwhile', () => {
  const shown: string[] = [];
  const pace = refreshPace((ids) => shown.push(ids.join()));
  pace.change(['a']);
  expect(shown).toEqual(['a']);
  const [first, second] = [pace.work(), pace.work()];
  vi.advanceTimersByTime(60);
  first();
  pace.change(['b']);
  vi.advanceTimersByTime(40);
  second();
  pace.change(['c', 'b']);
  vi.advanceTimersByTime(4990);
  expect(shown, 'a tenth of a second is followed by five').toEqual(['a']);
  vi.advanceTimersByTime(20);
  expect(shown).toEqual(['a', 'b,c']);
});

test('however long a change takes, the next is shown after a quarter of a minute, and after a rest at once', () => {
  const shown: string[] = [];
  const pace = refreshPace((ids) => shown.push(ids.join()));
  pace.change(['a']);
  const done = pace.work();
  vi.advanceTimersByTime(20_000);
  pace.change(['b']);
  expect(shown, 'nothing is asked for twice at once').toEqual(['a']);
  done();
  vi.advanceTimersByTime(15_001);
  expect(shown).toEqual(['a', 'b']);
  pace.work()();
  vi.advanceTimersByTime(60_000);
  pace.change(['c']);
  expect(shown).toEqual(['a', 'b', 'c']);
});
