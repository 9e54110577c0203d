/** Answers that were read and stay right as long as the files behind them do. Of each kind the ones that were asked for last are kept. */

interface Kept {
  readonly stamp: string;
  readonly value: Promise<unknown>;
}

export class KeptAnswers {
  readonly #most: number;
  readonly #kinds = new Map<string, Map<string, Kept>>();

  /** `most`: how many answers of each kind are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Reads, or gives what was read under the same stamp. What could not be read is read again the next time. */
  get<Value>(kind: string, key: string, stamp: string, read: () => Promise<Value>): Promise<Value> {
    const all = this.#kinds.get(kind) ?? new Map<string, Kept>();
    this.#kinds.set(kind, all);
    const known = all.get(key);
    const kept = known?.stamp === stamp ? known : { stamp, value: (async () => read())() };
    all.delete(key);
    all.set(key, kept);
    for (const oldest of all.keys()) if (all.size > this.#most) all.delete(oldest);
    kept.value.catch(() => all.get(key) === kept && all.delete(key));
    return kept.value as Promise<Value>;
  }
}
