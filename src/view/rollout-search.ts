/**
 * A search through runs, one after another, that is told of while it goes on: it works as long as somebody waits for it, and what was
 * found so far can be listed at any time. A run that cannot be read does not hide the others.
 */
import { UserError } from '../base/index.ts';
import type { RolloutList } from './api.ts';
import type { FoundEntry } from './catalogue.ts';
import { type FoundPart, type JoinedParts, joinFound } from './query.ts';

export interface FoundInRuns extends JoinedParts {
  /** The runs whose parts were joined. */
  readonly runs: readonly FoundEntry[];
  readonly leftOut: RolloutList['leftOut'];
  /** Runs that were not searched yet. */
  readonly unread: number;
}

export class RolloutSearch {
  readonly #runs: readonly FoundEntry[];
  readonly #find: (run: FoundEntry) => Promise<FoundPart>;
  readonly #searched: FoundEntry[] = [];
  readonly #parts: FoundPart[] = [];
  readonly #leftOut: { run: string; why: string }[] = [];
  #working: Promise<void> = Promise.resolve();
  #joined: FoundInRuns | null = null;

  constructor(runs: readonly FoundEntry[], find: (run: FoundEntry) => Promise<FoundPart>) {
    this.#runs = runs;
    this.#find = find;
  }

  /** Searches on for `ms` milliseconds, or to the end; one run at least. Who asks meanwhile waits for the same work, then for their own. */
  advance(ms: number): Promise<void> {
    const before = this.#working.catch(() => undefined);
    this.#working = before.then(() => this.#advance(performance.now() + ms));
    return this.#working;
  }

  async #advance(until: number): Promise<void> {
    while (this.#unread > 0) {
      const run = this.#runs[this.#runs.length - this.#unread];
      try {
        this.#parts.push(await this.#find(run));
        this.#searched.push(run);
      } catch (error) {
        if (this.#runs.length === 1 || isOfQuery(error)) throw error;
        this.#leftOut.push({ run: run.id, why: error instanceof Error ? error.message : String(error) });
      }
      if (performance.now() >= until) return;
    }
  }

  /** Whether some of the runs are searched. */
  get isBegun(): boolean {
    return this.#unread < this.#runs.length;
  }

  get #unread(): number {
    return this.#runs.length - this.#searched.length - this.#leftOut.length;
  }

  found(): FoundInRuns {
    if (this.#joined === null || this.#joined.unread !== this.#unread) {
      const runs = [...this.#searched];
      this.#joined = { ...joinFound(this.#parts), runs, leftOut: [...this.#leftOut], unread: this.#unread };
    }
    return this.#joined;
  }
}

/** Whether an error is about the search itself, so that every run would give it. */
const isOfQuery = (error: unknown): boolean => error instanceof UserError && error.message.startsWith('rollouts, ');
