/** The seconds of a start: parts in order, their sum, and silence where it was short. */
import { expect, it, vi } from 'vitest';
import { StartClock } from './sink.ts';

it('tells the parts of a start that took long', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const clock = new StartClock();
    const pass = (ms: number, part: string): void => {
      vi.advanceTimersByTime(ms);
      clock.done(part);
    };
    pass(2500, 'inputs');
    pass(1500, 'device');
    expect(clock.notice()).toBeNull();
    pass(40, 'models of the arm');
    pass(2000, 'inputs');
    expect(clock.notice()).toEqual({
      kind: 'info',
      name: 'start',
      message: 'the start took 6.0 s: inputs 4.5, device 1.5',
      detail: { seconds: { inputs: 4.5, device: 1.5, 'models of the arm': 0.04 }, total: 6.04 },
    });
  } finally {
    vi.useRealTimers();
  }
});
