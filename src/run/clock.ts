/** Seconds spent in each phase of training. They go into timings.jsonl, apart from everything that follows from the config. */
import type { Phase } from '../grpo/index.ts';

export class PhaseClock {
  #phase: Phase | 'other' = 'other';
  #since = performance.now();
  #seconds: Record<string, number> = {};

  enter(phase: Phase | 'other'): void {
    const now = performance.now();
    this.#seconds[this.#phase] = (this.#seconds[this.#phase] ?? 0) + (now - this.#since) / 1000;
    this.#phase = phase;
    this.#since = now;
  }

  /** Returns the seconds per phase since the last call. */
  take(): Readonly<Record<string, number>> {
    this.enter('other');
    const seconds = this.#seconds;
    this.#seconds = {};
    return seconds;
  }
}
