/**
 * How often a page shows what has changed: the longer the last change took to be asked for and drawn, the longer the next one waits. So a page
 * that is left open costs the machine a small part of its time, however large the page or busy the machine.
 */

const restShare = 50;
const longestRestMs = 15_000;

export class RefreshPace {
  readonly #show: (ids: readonly string[]) => void;
  readonly #waiting = new Set<string>();
  #working = 0;
  #shownAt = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(show: (ids: readonly string[]) => void) {
    this.#show = show;
  }

  /** Shows a change now, or with those that come until the page has rested. */
  change(ids: readonly string[]): void {
    for (const id of ids) this.#waiting.add(id);
    if (this.#working === 0 && this.#timer === null) this.#pass();
  }

  /** Work for a change begins; the function that is returned ends it. */
  work(): () => void {
    this.#working += 1;
    return () => {
      this.#working -= 1;
      if (this.#working > 0) return;
      const rest = Math.min(longestRestMs, restShare * (performance.now() - this.#shownAt));
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = setTimeout(() => {
        this.#timer = null;
        if (this.#waiting.size > 0 && this.#working === 0) this.#pass();
      }, rest);
    };
  }

  #pass(): void {
    const ids = [...this.#waiting];
    this.#waiting.clear();
    this.#shownAt = performance.now();
    this.#show(ids);
  }
}
