/** Answers that were read and stay right as long as the files behind them do. Of each kind the ones that were asked for last are kept. */

interface Kept {
  readonly stamp: string;
  readonly value: Promise<unknown>;
  weight: number;
}

/** How much of a kind is kept: a number of answers, or a sum of weights where `weigh` tells what one weighs. */
export interface KeptKind {
  readonly most: number;
  readonly weigh?: (value: unknown) => number;
}

export class KeptAnswers {
  readonly #kinds: Readonly<Record<string, KeptKind>>;
  readonly #others: KeptKind;
  readonly #kept = new Map<string, Map<string, Kept>>();

  constructor(kinds: Readonly<Record<string, KeptKind>>, others: KeptKind) {
    this.#kinds = kinds;
    this.#others = others;
  }

  /** Reads, or gives what was read under the same stamp. What could not be read is read again the next time. */
  get<Value>(kind: string, key: string, stamp: string, read: () => Promise<Value>): Promise<Value> {
    const all = this.#kept.get(kind) ?? new Map<string, Kept>();
    this.#kept.set(kind, all);
    const known = all.get(key);
    all.delete(key);
    const kept = known?.stamp === stamp ? known : this.#read(kind, all, key, stamp, read);
    all.set(key, kept);
    this.#drop(kind, all);
    return kept.value as Promise<Value>;
  }

  #read(kind: string, all: Map<string, Kept>, key: string, stamp: string, read: () => Promise<unknown>): Kept {
    const { weigh } = this.#kinds[kind] ?? this.#others;
    const kept: Kept = { stamp, value: (async () => read())(), weight: weigh === undefined ? 1 : 0 };
    kept.value.then(
      (value) => {
        if (weigh === undefined) return;
        kept.weight = weigh(value);
        this.#drop(kind, all);
      },
      () => all.get(key) === kept && all.delete(key),
    );
    return kept;
  }

  /** The oldest go first; the last one that was asked for stays, whatever it weighs. */
  #drop(kind: string, all: Map<string, Kept>): void {
    const { most } = this.#kinds[kind] ?? this.#others;
    let sum = 0;
    for (const { weight } of all.values()) sum += weight;
    for (const [key, { weight }] of all) {
      if (sum <= most || all.size === 1) return;
      all.delete(key);
      sum -= weight;
    }
  }
}
