/**
 * The rows that are still generating, as tensors that stay where they are while the batch shrinks: last token, position,
 * cache slot, counts, and the table of what each row sees. Everything advances on the device.
 */
import { DeviceError } from '../../base/index.ts';
import { readInts, type SampleOptions, Scope, Segments, segmentColumns, type Tensor } from '../../engine/index.ts';
import type { TokenBatch } from './decoder.ts';
import type { Span } from './pack.ts';

export interface RowState {
  /** Where the row's tokens go in the history. */
  readonly slot: number;
  /** Number of the row's random stream. */
  readonly row: number;
  readonly scale: number;
  /** Cache slots of the row's prompt, and of its own tokens. */
  readonly prompt: Span;
  readonly room: Span;
}

type StateName = 'ids' | 'positions' | 'slots' | 'counts' | 'streams' | 'histories';

export class DecodeBatch {
  /** Every token drawn, i32 [rows, room], and its log-probabilities, f32 [rows, room, 2], by history slot. */
  readonly history: Tensor;
  readonly logps: Tensor;
  rows: readonly RowState[] = [];
  /** A scope that lives until the rows change. */
  scope: Scope;
  readonly #device: Scope['device'];
  readonly #keys: number;
  readonly #state: Readonly<Record<StateName, Tensor>>;
  readonly #segmentTable: Tensor;
  readonly #one: Tensor;
  readonly #oneKey: Tensor;
  #segments: Segments | undefined;

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
    };
    this.#segmentTable = scope.empty([rows, segmentColumns], 'decode segments', 'i32');
    this.#one = scope.from(Int32Array.of(1), [1], 'one');
    this.#oneKey = scope.from(Int32Array.of(0, 0, 0, 0, 0, 1), [segmentColumns], 'one key');
    this.scope = new Scope(scope.device);
    scope.defer(() => this.scope[Symbol.dispose]());
  }

  /** The batch becomes these rows, each with `drawn` tokens in the history (whose contents are given once there are any). */
  fill(rows: readonly RowState[], drawn: number, history: Int32Array | null): void {
    this.scope[Symbol.dispose]();
    this.scope = new Scope(this.#device);
    this.rows = rows;
    const room = this.history.shape[1];
    const put = (name: StateName, value: (row: RowState) => number): void =>
      this.#device.write(this.#state[name].rows(0, rows.length), Int32Array.from(rows, value));
    put('streams', ({ row }) => row);
    put('histories', ({ slot }) => slot);
    put('counts', () => drawn);
    if (history === null || rows.length === 0) return;
    put('ids', ({ slot }) => history[slot * room + drawn - 1]);
    put('positions', ({ prompt }) => prompt.end - prompt.start + drawn - 1);
    put('slots', ({ room: own }) => own.start + drawn - 1);
    const list = rows.map(({ prompt, room: own }, i) => ({
      queryStart: i,
      queryEnd: i + 1,
      prefixStart: prompt.start,
      prefixEnd: prompt.end,
      keyStart: own.start,
      keyEnd: own.start + drawn,
    }));
    this.#segments = new Segments(this.scope, list, rows.length, this.#keys, this.#segmentTable.rows(0, rows.length));
  }

  get ids(): Tensor {
    return this.#view('ids');
  }

  get slots(): Tensor {
    return this.#view('slots');
  }

  get tokens(): TokenBatch {
    if (this.#segments === undefined) {
      throw new DeviceError({ call: 'decode', expected: 'a batch that was prefilled', found: 'none' });
    }
    return { ids: this.ids, positions: this.#view('positions'), segments: this.#segments };
  }

  draw(logits: Tensor, options: SampleOptions): void {
    const [histories, streams, counts] = [this.#view('histories'), this.#view('streams'), this.#view('counts')];
    this.#device.kernels.sample(this.ids, this.history, this.logps, logits, histories, streams, counts, options);
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

  #view(name: StateName): Tensor {
    return this.#state[name].rows(0, this.rows.length);
  }
}
