/**
 * Shares one open batch among jobs: a free row goes to the client with the fewest, then to its request with the fewest. Some rows, and a part
 * of the queue, are for jobs of few tokens alone, which then wait for few steps. A step that fails ends the jobs in it and no others.
 */
import { setImmediate } from 'node:timers/promises';
import type { DrawnToken, OpenBatch, OpenRow } from '../model/index.ts';

export interface Job {
  readonly row: OpenRow;
  readonly maxTokens: number;
  token(drawn: DrawnToken): boolean;
  end(reason: CutOff | null): void;
}

export type CutOff = 'cancelled' | 'too long' | 'failed' | 'closed';

export interface SchedulerOptions {
  /** Most jobs of a client that wait for a row; of all clients together four times as many. */
  readonly queue: number;
  readonly seconds: number;
  readonly failed?: (error: unknown) => void;
}

export type Asker = { readonly client: string; readonly request: object };

/** Jobs of at most this many tokens find rows that others leave free. */
const fewTokens = 32;

const isQuick = ({ maxTokens }: Pick<Job, 'maxTokens'>): boolean => maxTokens <= fewTokens;

type Place = Asker & { readonly job: Job; readonly deadline: number; slot: number | null };

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

  roomOf(kind: Pick<Job, 'maxTokens'>): number {
    const { queue } = this.#options;
    return isQuick(kind) ? queue + this.#rows : queue - Math.floor(queue / 4) + this.#rows - this.#reserved;
  }

  hasRoomFor(jobs: number, client: string, kind: Pick<Job, 'maxTokens'>): boolean {
    const own = [...this.#waiting].filter((place) => place.client === client).length;
    const most = this.roomOf(kind) - this.#batch.size;
    return !this.#isClosed && own + jobs <= most && this.#waiting.size + jobs <= most + 3 * this.#options.queue;
  }

  submit(job: Job, { client, request }: Asker): () => void {
    const deadline = performance.now() + 1000 * this.#options.seconds;
    const place: Place = { job, client, request, deadline, slot: null };
    this.#waiting.add(place);
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return () => this.#leave(place, 'cancelled');
  }

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
    // Not the time of day, which may go back.
    const now = performance.now();
    for (const place of [...this.#waiting, ...this.#sitting.values()]) {
      if (place.deadline < now) this.#leave(place, 'too long');
    }
  }

  #admit(): void {
    while (this.#batch.free > 0) {
      const place = this.#next();
      if (place === null) return;
      this.#waiting.delete(place);
      place.slot = this.#batch.add(place.job.row);
      this.#sitting.set(place.slot, place);
    }
  }

  #next(): Place | null {
    const rows = new Map<unknown, number>();
    for (const { client, request } of this.#sitting.values()) {
      for (const key of [client, request]) rows.set(key, (rows.get(key) ?? 0) + 1);
    }
    const long = [...this.#sitting.values()].filter(({ job }) => !isQuick(job)).length;
    const isFull = long >= this.#rows - this.#reserved;
    let [first, fewest]: [Place | null, number] = [null, Number.POSITIVE_INFINITY];
    for (const place of this.#waiting) {
      if (isFull && !isQuick(place.job)) continue;
      const held = (rows.get(place.client) ?? 0) * (this.#rows + 1) + (rows.get(place.request) ?? 0);
      if (held < fewest) [first, fewest] = [place, held];
    }
    return first;
  }

  get #rows(): number {
    return this.#batch.free + this.#batch.size;
  }

  get #reserved(): number {
    return this.#rows === 1 ? 0 : Math.max(1, Math.floor(this.#rows / 16));
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
