/**
 * The rows that are still generating, as tensors that stay where they are while the batch shrinks: last token, position,
 * cache slot, counts, and the table of what each row sees. Everything advances on the device. Of rows that are equal so far only the
 * first is computed, and all draw from its logits; what is computed comes first in the batch.
 */
import { DeviceError } from '../../base/index.ts';
import { readInts, type SampleOptions, Scope, Segments, segmentColumns, type Tensor } from '../../engine/index.ts';
import type { TokenBatch } from './decoder.ts';
import { laneSpans } from './lanes.ts';
import type { Span } from './pack.ts';

export interface RowState {
  /** Where the row's tokens go in the history. */
  readonly slot: number;
  /** Number of the row's random stream. */
  readonly row: number;
  readonly scale: number;
  /** Which of the batch's policies the row is of. */
  readonly lane: number;
  /** Cache slots of the row's prompt, and of its own tokens. */
  readonly prompt: Span;
  readonly room: Span;
}

/** Rows of one lane with the same prompt, scale and tokens so far. */
export type EqualRows = readonly [RowState, ...RowState[]];

type StateName = 'ids' | 'positions' | 'slots' | 'counts' | 'streams' | 'histories' | 'sources';

export class DecodeBatch {
  /** Every token drawn, i32 [rows, room], and its log-probabilities, f32 [rows, room, 2], by history slot. */
  readonly history: Tensor;
  readonly logps: Tensor;
  rows: readonly RowState[] = [];
  /** How many of the rows are computed. */
  computed = 0;
  /** A scope that lives until the rows change. */
  scope: Scope;
  readonly #device: Scope['device'];
  readonly #keys: number;
  readonly #state: Readonly<Record<StateName, Tensor>>;
  readonly #segmentTable: Tensor;
  readonly #one: Tensor;
  readonly #oneKey: Tensor;
  #segments: Segments | undefined;
  #rowKeys: Tensor | undefined;

  constructor(scope: Scope, rows: number, room: number, keys: number) {
    const state = (label: string): Tensor => scope.empty([rows], label, 'i32');
    this.#device = scope.device;
    this.#keys = keys;
    this.history = scope.empty([rows, room], 'drawn tokens', 'i32');
    this.logps = scope.empty([rows, room, 2], 'drawn log-probabilities');
    this.#state = {
      ids: state('last tokens'),
      positions: state('positions'),
      slots: state('cache slots'),
      counts: state('drawn counts'),
      streams: state('random streams'),
      histories: state('history slots'),
      sources: state('rows whose logits are drawn from'),
    };
    this.#segmentTable = scope.empty([rows, segmentColumns], 'decode segments', 'i32');
    this.#one = scope.from(Int32Array.of(1), [1], 'one');
    this.#oneKey = scope.from(Int32Array.of(0, 0, 0, 0, 0, 1), [segmentColumns], 'one key');
    this.scope = new Scope(scope.device);
    scope.defer(() => this.scope[Symbol.dispose]());
  }

  /** The batch becomes these rows, each with `drawn` tokens in the history (whose contents are given once there are any). */
  fill(sets: readonly EqualRows[], drawn: number, history: Int32Array | null): void {
    this.scope[Symbol.dispose]();
    this.scope = new Scope(this.#device);
    this.#rowKeys = undefined;
    const firsts = sets.map(([first]) => first);
    const rows = [...firsts, ...sets.flatMap(([, ...others]) => others)];
    const sources = [...firsts.keys(), ...sets.flatMap(([, ...others], i) => others.map(() => i))];
    this.rows = rows;
    this.computed = firsts.length;
    const room = this.history.shape[1];
    const put = (name: StateName, value: (row: RowState) => number): void =>
      this.#device.write(this.#state[name].rows(0, rows.length), Int32Array.from(rows, value));
    put('streams', ({ row }) => row);
    put('histories', ({ slot }) => slot);
    put('counts', () => drawn);
    this.#device.write(this.#view('sources'), Int32Array.from(sources));
    if (history === null || rows.length === 0) return;
    put('ids', ({ slot }) => history[slot * room + drawn - 1]);
    put('positions', ({ prompt }) => prompt.end - prompt.start + drawn - 1);
    put('slots', ({ room: own }) => own.start + drawn - 1);
    const list = firsts.map(({ prompt, room: own }, i) => ({
      queryStart: i,
      queryEnd: i + 1,
      prefixStart: prompt.start,
      prefixEnd: prompt.end,
      keyStart: own.start,
      keyEnd: own.start + drawn,
    }));
    const table = this.#segmentTable.rows(0, list.length);
    this.#segments = new Segments(this.scope, list, list.length, this.#keys, table);
  }

  /** Cache slots of the computed rows. */
  get slots(): Tensor {
    return this.#view('slots', this.computed);
  }

  get tokens(): TokenBatch {
    if (this.#segments === undefined) {
      throw new DeviceError({ call: 'decode', expected: 'a batch that was prefilled', found: 'none' });
    }
    const [ids, positions] = [this.#view('ids', this.computed), this.#view('positions', this.computed)];
    return { ids, positions, segments: this.#segments };
  }

  /** Draws a token for every row from the logits of the computed ones, by the options of its lane. */
  draw(logits: Tensor, optionsOf: (lane: number) => SampleOptions): void {
    const { kernels } = this.#device;
    using scope = new Scope(this.#device);
    let own = logits;
    if (this.computed < this.rows.length) {
      own = scope.empty([this.rows.length, logits.shape[1]], 'logits of rows');
      kernels.gatherRows(own, logits, this.#view('sources'));
    }
    if (this.#device.lanes !== undefined) {
      const of = (name: StateName): Tensor => this.#view(name);
      const options = { ...optionsOf(this.rows[0].lane), streams: this.#keysOf(optionsOf) };
      kernels.sample(of('ids'), this.history, this.logps, own, of('histories'), of('streams'), of('counts'), options);
      return;
    }
    for (const { lane, start, end } of laneSpans(this.rows, (row) => row.lane)) {
      const of = (name: StateName): Tensor => this.#state[name].rows(start, end);
      const [ids, histories, streams, counts] = [of('ids'), of('histories'), of('streams'), of('counts')];
      const from = own.rows(start, end);
      kernels.sample(ids, this.history, this.logps, from, histories, streams, counts, optionsOf(lane));
    }
  }

  /** Key and step of every row, made once for these rows. */
  #keysOf(optionsOf: (lane: number) => SampleOptions): Tensor {
    this.#rowKeys ??= this.scope.from(
      Int32Array.from(
        this.rows.flatMap(({ lane }) => {
          const { key, step } = optionsOf(lane);
          return [...key, step];
        }),
      ),
      [this.rows.length, 3],
      'keys of rows',
    );
    return this.#rowKeys;
  }

  advance(): void {
    const { kernels } = this.#device;
    for (const name of ['positions', 'slots', 'counts'] as const) {
      kernels.advance(this.#view(name).view([this.rows.length, 1]), this.#one);
    }
    this.#segments?.grow(this.#oneKey);
  }

  readTokens(): Promise<Int32Array> {
    return readInts(this.history);
  }

  #view(name: StateName, count = this.rows.length): Tensor {
    return this.#state[name].rows(0, count);
  }
}
