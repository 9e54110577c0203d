/**
 * The features of the run's most recent rows, kept so that scores can be computed again whenever the direction changes.
 * A row weighs 0.5^(age / halfLife), its age counted in rows added since.
 */
import type { Features } from '../adapters/index.ts';
import { ShapeError } from '../base/index.ts';
import { type Direction, type ScoreKind, scoreRow } from './direction.ts';

export interface BufferState {
  readonly width: number;
  /** Number of rows ever added. */
  readonly added: number;
  /** The rows still held, oldest first. */
  readonly rows: Float32Array;
}

export class FeatureBuffer {
  readonly #capacity: number;
  #rows: Float32Array[] = [];
  #added = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#rows.length;
  }

  add(features: Features): void {
    const width = features.modules * features.rank;
    const [first] = this.#rows;
    if (first !== undefined && first.length !== width) {
      throw new ShapeError({ call: 'feature buffer', expected: `rows of ${first.length}`, found: `${width}` });
    }
    for (let row = 0; row < features.rows; row++) {
      this.#rows.push(features.data.slice(row * width, (row + 1) * width));
    }
    this.#added += features.rows;
    if (this.#rows.length > this.#capacity) this.#rows = this.#rows.slice(-this.#capacity);
  }

  /** Scores of the held rows, oldest first. */
  scores(direction: Direction, kind: ScoreKind): Float64Array {
    return Float64Array.from(this.#rows, (row) => scoreRow(row, direction.data, kind));
  }

  /** Weights of the held rows, oldest first. The newest row has age 0; null gives all rows the same weight. */
  weights(halfLife: number | null): Float64Array {
    const newest = this.#rows.length - 1;
    return Float64Array.from(this.#rows, (_, i) => (halfLife === null ? 1 : 0.5 ** ((newest - i) / halfLife)));
  }

  get state(): BufferState {
    const width = this.#rows[0]?.length ?? 0;
    const rows = new Float32Array(width * this.#rows.length);
    this.#rows.forEach((row, i) => {
      rows.set(row, i * width);
    });
    return { width, added: this.#added, rows };
  }

  restore({ width, added, rows }: BufferState): void {
    const count = width === 0 ? 0 : rows.length / width;
    this.#rows = Array.from({ length: count }, (_, i) => rows.slice(i * width, (i + 1) * width));
    this.#added = added;
  }
}
