/**
 * Estimates the time left of an experiment, from the work done since it was started. Work is counted in updates. Until a run has
 * been evaluated, evaluation is assumed to take a fixed share of the training time.
 */
const assumedShare = 0.3;

export class WorkEstimate {
  readonly #now: () => number;
  readonly #started: number;
  #trained = 0;
  #trainSeconds = 0;
  #evaluated = 0;
  #evaluateSeconds = 0;

  constructor(now: () => number = () => performance.now() / 1000) {
    this.#now = now;
    this.#started = now();
  }

  /** Of all runs together, since the work began. */
  get updatesPerSecond(): number {
    return this.#trained / (this.#now() - this.#started);
  }

  addTraining(updates: number, seconds: number): void {
    this.#trained += updates;
    this.#trainSeconds += seconds;
  }

  /** Adds the whole evaluation of a run that has this many updates. */
  addEvaluation(updates: number, seconds: number): void {
    this.#evaluated += updates;
    this.#evaluateSeconds += seconds;
  }

  /** Estimated seconds; null until something has been trained. */
  secondsLeft(updatesLeft: number, updatesToEvaluate: number): number | null {
    if (this.#trained === 0) return null;
    const perUpdate = this.#trainSeconds / this.#trained;
    const perEvaluated = this.#evaluated === 0 ? assumedShare * perUpdate : this.#evaluateSeconds / this.#evaluated;
    return updatesLeft * perUpdate + updatesToEvaluate * perEvaluated;
  }
}
