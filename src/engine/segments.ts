/**
 * Which keys each query of a packed batch may see. A segment is a run of queries [queryStart, queryEnd) of one row: all
 * of them see the keys [prefixStart, prefixEnd) (a prompt shared by a group; empty when there is none), and query i of n
 * sees [keyStart, keyEnd − (n − 1 − i)) (causal). Packed scoring, shared prompts, prefill and decoding over a cache are
 * all this one table. The host copy is for planning (grids, shards); the device copy, owned by the scope, is what kernels read.
 */
import { ShapeError } from '../base/index.ts';
import type { Scope } from './scope.ts';
import type { Tensor } from './tensor.ts';

export interface Segment {
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly prefixStart: number;
  readonly prefixEnd: number;
  readonly keyStart: number;
  readonly keyEnd: number;
}

export const segmentColumns = 6;

export class Segments {
  #list: readonly Segment[];
  /** The table i32 [S, 6], its columns in the order of the interface above. */
  readonly tensor: Tensor;
  readonly queries: number;
  readonly keys: number;

  /** `tensor` is where the table goes, when it must stay at one place. */
  constructor(scope: Scope, list: readonly Segment[], queries: number, keys: number, tensor?: Tensor) {
    let covered = 0;
    for (const segment of list) {
      const { queryStart, queryEnd, prefixStart, prefixEnd, keyStart, keyEnd } = segment;
      const whole = Object.values(segment).every(Number.isInteger);
      const causal = keyEnd - keyStart >= queryEnd - queryStart;
      const inside =
        prefixStart >= 0 && prefixEnd >= prefixStart && prefixEnd <= keys && keyStart >= 0 && keyEnd <= keys;
      if (queryStart !== covered || queryEnd < queryStart || !whole || !causal || !inside) {
        throw new ShapeError({
          call: 'segments',
          expected: `queries in order from ${covered}, at least as many own keys as queries, keys within ${keys}`,
          found: JSON.stringify(segment),
        });
      }
      covered = queryEnd;
    }
    if (covered !== queries) {
      throw new ShapeError({ call: 'segments', expected: `${queries} queries covered`, found: `${covered}` });
    }
    this.#list = list;
    this.queries = queries;
    this.keys = keys;
    const flat = list.flatMap((s) => [s.queryStart, s.queryEnd, s.prefixStart, s.prefixEnd, s.keyStart, s.keyEnd]);
    this.tensor = tensor ?? scope.empty([list.length, segmentColumns], 'segments', 'i32');
    scope.device.write(this.tensor, Int32Array.from(flat));
  }

  /** Rows of the given lengths, packed one after another, each attending to itself. */
  static packed(scope: Scope, lengths: readonly number[]): Segments {
    let start = 0;
    const list = lengths.map((length) => {
      const end = start + length;
      const segment = { queryStart: start, queryEnd: end, prefixStart: 0, prefixEnd: 0, keyStart: start, keyEnd: end };
      start = end;
      return segment;
    });
    return new Segments(scope, list, start, start);
  }

  /** The segments as of the last `grow`. */
  get list(): readonly Segment[] {
    return this.#list;
  }

  /** Every row has one more key of its own: the next token of a decoding batch. */
  grow(oneKey: Tensor): void {
    this.#list = this.#list.map((segment) => ({ ...segment, keyEnd: segment.keyEnd + 1 }));
    this.tensor.device.kernels.advance(this.tensor, oneKey);
  }
}
