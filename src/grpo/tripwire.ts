/** Divergence tripwire: stops a run whose mean log-probability on a fixed set of completions fell far below its best, twice in a row. */
export interface TripwireState {
  readonly best: number | null;
  readonly strikes: number;
  /** Why the run must stop, with the sample that was drawn last; null while it may go on. */
  readonly tripped: string | null;
}

const strikesToStop = 2;

export class Tripwire {
  readonly #nats: number;
  #state: TripwireState = { best: null, strikes: 0, tripped: null };

  constructor(nats: number) {
    this.#nats = nats;
  }

  get state(): TripwireState {
    return this.#state;
  }

  restore(state: TripwireState): void {
    this.#state = state;
  }

  /** What the base has, before the first update. */
  begin(meanLogp: number): void {
    this.#state = { ...this.#state, best: meanLogp };
  }

  /** A value that is not finite counts as a strike. */
  watch(meanLogp: number, lastSample: string): void {
    const finite = Number.isFinite(meanLogp);
    const best = finite ? Math.max(meanLogp, this.#state.best ?? meanLogp) : this.#state.best;
    const below = !finite || (best !== null && meanLogp < best - this.#nats);
    const strikes = below ? this.#state.strikes + 1 : 0;
    const detail = `mean log-probability of the tripwire set ${meanLogp}, best ${best}; last sample: ${lastSample}`;
    this.#state = { best, strikes, tripped: strikes >= strikesToStop ? detail : null };
  }
}
