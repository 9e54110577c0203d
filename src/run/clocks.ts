/** The clocks of a run: of the phases of training, and of its start. What they say goes nowhere that follows from the config. */
import type { Phase } from '../grpo/index.ts';
import type { Notice } from './notices.ts';

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

  take(): Readonly<Record<string, number>> {
    this.enter('other');
    const seconds = this.#seconds;
    this.#seconds = {};
    return seconds;
  }
}

const tellingSeconds = 5;

/** Seconds of what a run does before it samples its first tokens, part by part, told where they are many. */
export class StartClock {
  readonly #start = performance.now();
  readonly #seconds: Record<string, number> = {};
  #since = this.#start;

  done(part: string): void {
    const now = performance.now();
    this.#seconds[part] = (this.#seconds[part] ?? 0) + (now - this.#since) / 1000;
    this.#since = now;
  }

  notice(least = tellingSeconds): Notice | null {
    const total = (this.#since - this.#start) / 1000;
    if (total < least) return null;
    const parts = Object.entries(this.#seconds).map(([part, seconds]) => `${part} ${seconds.toFixed(1)}`);
    const message = `samples after ${total.toFixed(1)} s: ${parts.join(', ')}`;
    return { kind: 'info', name: 'start', message, detail: { seconds: { ...this.#seconds }, total } };
  }
}
