/**
 * The features of the run's most recent rollouts, kept so that scores can be computed again whenever the direction changes. A rollout
 * has one row, or a row for each of some of its tokens. It weighs 0.5^(age / halfLife), its age counted in rollouts added since; its
 * rows share that weight.
 */
import { ShapeError } from '../base/index.ts';
import { type Direction, type ScoreKind, scoreRows } from './direction.ts';

export interface BufferState {
  readonly width: number;
  /** Number of rollouts ever added. */
  readonly added: number;
  /** Number of rows of each rollout still held, oldest first. */
  readonly counts: readonly number[];
  /** Their rows, in the same order. */
  readonly rows: Float32Array;
}

export class FeatureBuffer {
  readonly #capacity: number;
  readonly #width: number;
  /** The rows of each rollout, one after another. */
  #rollouts: Float32Array[] = [];
  #added = 0;

  /** `capacity`: the most rollouts that are held. `width`: the length of a row. */
  constructor(capacity: number, width: number) {
    this.#capacity = capacity;
    this.#width = width;
  }

  /** Number of rollouts held. */
  get size(): number {
    return this.#rollouts.length;
  }

  add(rollouts: readonly Float32Array[]): void {
    const bad = rollouts.find(({ length }) => length % this.#width !== 0);
    if (bad !== undefined) {
      throw new ShapeError({
        call: 'feature buffer',
        expected: `rows of ${this.#width}`,
        found: `${bad.length} values`,
      });
    }
    this.#rollouts.push(...rollouts);
    this.#added += rollouts.length;
    if (this.size > this.#capacity) this.#rollouts = this.#rollouts.slice(-this.#capacity);
  }

  /** Scores of the held rows, oldest first. */
  scores({ data }: Direction, kind: ScoreKind): Float64Array {
    return Float64Array.from(this.#rollouts.flatMap((rows) => scoreRows(rows, data).map((row) => row[kind])));
  }

  /** Weights of the held rows, oldest first. The newest rollout has age 0; null gives all rollouts the same weight. */
  weights(halfLife: number | null): Float64Array {
    const newest = this.size - 1;
    return Float64Array.from(
      this.#counts.flatMap((count, i) => {
        const weight = halfLife === null ? 1 : 0.5 ** ((newest - i) / halfLife);
        return new Array<number>(count).fill(weight / count);
      }),
    );
  }

  get #counts(): number[] {
    return this.#rollouts.map(({ length }) => length / this.#width);
  }

  get state(): BufferState {
    const rows = new Float32Array(this.#rollouts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const own of this.#rollouts) {
      rows.set(own, at);
      at += own.length;
    }
    return { width: this.#width, added: this.#added, counts: this.#counts, rows };
  }

  restore({ added, counts, rows }: BufferState): void {
    let row = 0;
    this.#rollouts = counts.map((count) => {
      row += count;
      return rows.slice((row - count) * this.#width, row * this.#width);
    });
    this.#added = added;
  }
}
