/** A timer with one deadline at a time: it fires once, with its reason, unless it is cleared or replaced. */
export class DeadlineTimer {
  readonly #onLate: (why: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onLate: (why: string) => void) {
    this.#onLate = onLate;
  }

  set(limitMs: number, why: string): void {
    this.clear();
    this.#timer = setTimeout(() => this.#onLate(why), limitMs);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}
