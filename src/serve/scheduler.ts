/**
 * Shares one open batch among jobs. Jobs wait in order of arrival, join when a row is free, get their tokens one by one, and leave when they
 * have enough, are cancelled, or their time is up. Between steps the event loop has its turn, so that connections are served while
 * the model works. A step that fails ends the jobs in it and no others.
 */
import { setImmediate } from 'node:timers/promises';
import type { DrawnToken, OpenBatch, OpenRow } from '../model/index.ts';

export interface Job {
  readonly row: OpenRow;
  /** Takes a token; false: it was the last one. */
  token(drawn: DrawnToken): boolean;
  /** Is called once, when no more tokens come: null after the last one, or why there will be none. */
  end(reason: CutOff | null): void;
}

export type CutOff = 'cancelled' | 'too long' | 'failed' | 'closed';

export interface SchedulerOptions {
  /** Most jobs that wait for a row. */
  readonly queue: number;
  /** Most seconds of a job, waiting included. */
  readonly seconds: number;
  /** Is told of a step that failed. */
  readonly failed?: (error: unknown) => void;
}

interface Place {
  readonly job: Job;
  readonly deadline: number;
  slot: number | null;
}

export class Scheduler {
  readonly #batch: OpenBatch;
  readonly #options: SchedulerOptions;
  readonly #waiting = new Set<Place>();
  readonly #sitting = new Map<number, Place>();
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(batch: OpenBatch, options: SchedulerOptions) {
    this.#batch = batch;
    this.#options = options;
  }

  get load(): { readonly running: number; readonly waiting: number } {
    return { running: this.#sitting.size, waiting: this.#waiting.size };
  }

  /** Whether so many more jobs may come. */
  hasRoomFor(jobs: number): boolean {
    return !this.#isClosed && this.#waiting.size + jobs <= this.#options.queue + this.#batch.free;
  }

  /** Takes a job in; the function that is returned cancels it. */
  submit(job: Job): () => void {
    const place: Place = { job, deadline: Date.now() + 1000 * this.#options.seconds, slot: null };
    this.#waiting.add(place);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return () => this.#leave(place, 'cancelled');
  }

  /** Ends every job and waits for the step in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const place of [...this.#waiting, ...this.#sitting.values()]) this.#leave(place, 'closed');
    await this.#running;
  }

  async #run(): Promise<void> {
    // Requests that arrived together are taken in together.
    await setImmediate();
    while (this.#waiting.size + this.#sitting.size > 0) {
      this.#expire();
      this.#admit();
      await this.#step();
      await setImmediate();
    }
  }

  #expire(): void {
    const now = Date.now();
    for (const place of [...this.#waiting, ...this.#sitting.values()]) {
      if (place.deadline < now) this.#leave(place, 'too long');
    }
  }

  #admit(): void {
    for (const place of this.#waiting) {
      if (this.#batch.free === 0) return;
      this.#waiting.delete(place);
      place.slot = this.#batch.add(place.job.row);
      this.#sitting.set(place.slot, place);
    }
  }

  async #step(): Promise<void> {
    if (this.#sitting.size === 0) return;
    const before = new Map(this.#sitting);
    try {
      const drawn = await this.#batch.step();
      for (const [slot, token] of drawn) {
        const place = this.#sitting.get(slot);
        // A job may have left during the step, and its row have another already.
        if (place === undefined || place !== before.get(slot)) continue;
        if (!place.job.token(token)) this.#leave(place, null);
      }
    } catch (error) {
      this.#options.failed?.(error);
      for (const place of before.values()) this.#leave(place, 'failed');
    }
  }

  #leave(place: Place, reason: CutOff | null): void {
    if (place.slot === null) {
      if (!this.#waiting.delete(place)) return;
    } else {
      if (this.#sitting.get(place.slot) !== place) return;
      this.#sitting.delete(place.slot);
      this.#batch.remove(place.slot);
    }
    place.job.end(reason);
  }
}
