/** An interrupt: work may end by itself, but not take long about it. */

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { exitCodes } from '../base/index.ts';
import { onInterrupt, tellUpdate } from './interrupt.ts';

beforeEach(() => void vi.stubEnv('GQ_GRACE', ''));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function interrupted(): { said: () => string; exit: ReturnType<typeof vi.fn>; interruption: Disposable } {
  vi.useFakeTimers();
  const exit = vi.fn();
  vi.spyOn(process, 'exit').mockImplementation(exit as unknown as typeof process.exit);
  let said = '';
  const interruption = onInterrupt({ write: (text) => (said += text) }, 'saving');
  process.emit('SIGINT');
  expect(interruption.signal.aborted).toBe(true);
  return { said: () => said, exit, interruption };
}

it('ends work that takes too long, and says how to give it longer', () => {
  const { said, exit, interruption } = interrupted();
  expect(said()).toContain('interrupted: saving, in at most 8 s (again to quit at once)');
  vi.advanceTimersByTime(7900);
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(200);
  expect(exit).toHaveBeenCalledWith(exitCodes.interrupted);
  expect(said()).toMatch(/interrupted: saving,.*\n.*more than 8 s \(GQ_GRACE=SECONDS/);
  interruption[Symbol.dispose]();
});

it('waits for two of the longest updates until now, and for what is saved after them', () => {
  vi.useFakeTimers();
  const exit = vi.fn();
  vi.spyOn(process, 'exit').mockImplementation(exit as unknown as typeof process.exit);
  let said = '';
  const interruption = onInterrupt({ write: (text) => (said += text) }, 'saving');
  for (const seconds of [41.4, 40.2]) tellUpdate(interruption.signal, seconds);
  process.emit('SIGINT');
  expect(said).toContain('in at most 87 s');
  vi.advanceTimersByTime(86_500);
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(600);
  expect(exit).toHaveBeenCalledWith(exitCodes.interrupted);
  interruption[Symbol.dispose]();
});

it('lets work end by itself', () => {
  const { exit, interruption } = interrupted();
  interruption[Symbol.dispose]();
  vi.advanceTimersByTime(60_000);
  expect(exit).not.toHaveBeenCalled();
});

it('waits as long as the environment says', () => {
  vi.stubEnv('GQ_GRACE', '30');
  const { exit, interruption } = interrupted();
  vi.advanceTimersByTime(29_000);
  expect(exit).not.toHaveBeenCalled();
  interruption[Symbol.dispose]();
  vi.stubEnv('GQ_GRACE', 'long');
  expect(() => onInterrupt(process.stderr, 'saving')).toThrow('GQ_GRACE: expected seconds, more than 0');
});
