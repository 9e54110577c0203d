/** Answers that were read and stay right as long as the files behind them do. Of each kind the ones that were asked for last are kept. */

interface Kept {
  readonly stamp: string;
  readonly owner: string | null;
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

  /**
   * Reads, or gives what was read under the same stamp. What could not be read is read again the next time. Answers of one `owner` are
   * asked for in rounds: what does not fit beside the others of its round is not kept, instead of taking the place of one that comes sooner.
   */
  get<Value>(
    kind: string,
    key: string,
    stamp: string,
    read: () => Promise<Value>,
    owner: string | null = null,
  ): Promise<Value> {
    const all = this.#kept.get(kind) ?? new Map<string, Kept>();
    this.#kept.set(kind, all);
    const known = all.get(key);
    all.delete(key);
    const kept = known?.stamp === stamp ? known : this.#read(kind, all, key, { stamp, owner }, read);
    all.set(key, kept);
    this.#drop(kind, all, kept);
    return kept.value as Promise<Value>;
  }

  #read(
    kind: string,
    all: Map<string, Kept>,
    key: string,
    marks: Pick<Kept, 'stamp' | 'owner'>,
    read: () => Promise<unknown>,
  ): Kept {
    const { weigh } = this.#kinds[kind] ?? this.#others;
    const kept: Kept = { ...marks, value: (async () => read())(), weight: weigh === undefined ? 1 : 0 };
    kept.value.then(
      (value) => {
        if (weigh === undefined) return;
        kept.weight = weigh(value);
        if (all.get(key) === kept) this.#drop(kind, all, kept);
      },
      () => all.get(key) === kept && all.delete(key),
    );
    return kept;
  }

  /** The oldest go first, but for those of the owner of the `last`, which goes before them; the only one stays, whatever it weighs. */
  #drop(kind: string, all: Map<string, Kept>, last: Kept): void {
    const { most } = this.#kinds[kind] ?? this.#others;
    let sum = 0;
    for (const { weight } of all.values()) sum += weight;
    if (sum <= most) return;
    const isOfRound = ([, kept]: [string, Kept]): boolean => last.owner !== null && kept.owner === last.owner;
    const entries = [...all];
    const round = entries.filter(isOfRound);
    const order = [
      ...entries.filter((entry) => !isOfRound(entry)),
      ...round.filter(([, kept]) => kept === last),
      ...round,
    ];
    for (const [key, { weight }] of order) {
      if (sum <= most || all.size === 1) return;
      if (all.delete(key)) sum -= weight;
    }
  }
}
