/** Divergence tripwire: stops a run whose mean log-probability on a fixed reference set fell far below its best, twice in a row. */
export interface TripwireState {
  readonly best: number | null;
  readonly strikes: number;
}

export class Tripwire {
  readonly #nats: number;
  #state: TripwireState = { best: null, strikes: 0 };

  constructor(nats: number) {
    this.#nats = nats;
  }

  get state(): TripwireState {
    return this.#state;
  }

  restore(state: TripwireState): void {
    this.#state = state;
  }

  /** True when the run must stop. A value that is not finite counts as a strike. */
  trips(meanLogp: number): boolean {
    const best = Number.isFinite(meanLogp) ? Math.max(meanLogp, this.#state.best ?? meanLogp) : this.#state.best;
    const below = !Number.isFinite(meanLogp) || (best !== null && meanLogp < best - this.#nats);
    this.#state = { best, strikes: below ? this.#state.strikes + 1 : 0 };
    return this.#state.strikes >= 2;
  }
}
