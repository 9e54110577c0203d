/**
 * A timer with one deadline at a time: it fires once, with its reason, unless it is cleared or replaced. The time is waited for
 * in parts, and between the last of them and the deadline all data that has arrived is read. So when something else
 * held up this thread, however long, a late timer does not come before an answer that is already in the pipe.
 */
const parts = 10;

export class DeadlineTimer {
  readonly #onLate: (why: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  constructor(onLate: (why: string) => void) {
    this.#onLate = onLate;
  }

  set(limitMs: number, why: string): void {
    this.clear();
    this.#wait(limitMs / parts, parts, why, this.#round);
  }

  #wait(partMs: number, left: number, why: string, round: number): void {
    this.#timer = setTimeout(() => {
      // Immediates run after the pipes have been read.
      setImmediate(() => {
        if (round !== this.#round) return;
        if (left > 1) this.#wait(partMs, left - 1, why, round);
        else this.#onLate(why);
      });
    }, partMs);
  }

  clear(): void {
    this.#round += 1;
    clearTimeout(this.#timer);
  }
}
