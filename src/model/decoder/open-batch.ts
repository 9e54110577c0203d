/**
 * A decoding batch that rows join and leave at any step: continuous batching over the same forward pass, cache and draw as `generate`. A row
 * owns a stretch of the cache, prompt first, and draws from its own random stream, so its tokens do not depend on who else is in the
 * batch. The host sees every token as it is drawn.
 */
import type { RandomStream } from '../../base/index.ts';
import { groupBy, ShapeError } from '../../base/index.ts';
import { nextLogits, readFloats, readInts, Scope, Segments, Tape, type Tensor, tokenIds } from '../../engine/index.ts';
import { type RankedToken, rankToken } from './chances.ts';
import type { Decoder } from './decoder.ts';
import type { GenerateOptions, SamplingSettings } from './generate.ts';
import { KeyValueCache } from './kv-cache.ts';
import { packGroups, type Span } from './pack.ts';

export type DrawSettings = Pick<SamplingSettings, 'temperature' | 'topK' | 'topP' | 'minP'>;

/** An adapter of some rows alone. */
export interface RowAdapter extends Required<Pick<GenerateOptions, 'project'>> {
  readonly name: string;
}

export interface OpenRow {
  readonly prompt: Int32Array;
  /** Number of the row's random stream. */
  readonly row: number;
  /** Scale of the quarantine; null: without the adapter. */
  readonly scale: number | null;
  readonly draw: DrawSettings;
  /** An adapter in the place of the batch's own; absent: none. Rows of the same name have the same. */
  readonly adapter?: RowAdapter | undefined;
  /** How many of the likeliest tokens are reported beside each that is drawn. */
  readonly likeliest: number;
  /** Whether the tokens of the prompt are scored too. */
  readonly scoresPrompt: boolean;
}

export interface DrawnToken extends RankedToken {
  /** With the first token of a row that asked for it: the chance of every token of its prompt but the first. */
  readonly prompt?: readonly RankedToken[];
}

export interface OpenBatchOptions extends Pick<GenerateOptions, 'project'> {
  readonly rows: number;
  /** Most tokens of a row, prompt and completion together. */
  readonly context: number;
  /** Most tokens of prompts in one step, but for a single longer prompt: joining rows keep the others waiting that long. */
  readonly tokensPerPass: number;
  readonly stream: RandomStream;
}

/** A row in the batch, with the last token that it drew. */
interface Seat {
  readonly slot: number;
  readonly own: OpenRow;
  /** Rows with the same lane draw together. */
  readonly lane: string;
  drawn: number;
  last: number;
}

type Drawn = Map<number, DrawnToken>;

/** Places of a prompt whose logits are in memory at a time. */
const scoredTogether = 16;

/** One for all tokens: a server holds many. */
const none: readonly never[] = [];

export class OpenBatch {
  readonly context: number;
  readonly #decoder: Decoder;
  readonly #options: OpenBatchOptions;
  readonly #cache: KeyValueCache;
  readonly #history: Tensor;
  readonly #logps: Tensor;
  readonly #seats = new Map<number, Seat>();
  readonly #free: number[];

  constructor(scope: Scope, decoder: Decoder, options: OpenBatchOptions) {
    const { rows, context } = options;
    this.context = context;
    this.#decoder = decoder;
    this.#options = options;
    this.#cache = new KeyValueCache(scope, decoder.config, 0, rows, context);
    this.#history = scope.empty([rows, context], 'drawn tokens', 'i32');
    this.#logps = scope.empty([rows, context, 2], 'drawn log-probabilities');
    this.#free = Array.from({ length: rows }, (_, i) => rows - 1 - i);
  }

  get free(): number {
    return this.#free.length;
  }

  get size(): number {
    return this.#seats.size;
  }

  /** Takes a row in and returns its slot. Its first token comes with one of the next steps. */
  add(own: OpenRow): number {
    const { length } = own.prompt;
    const slot = length > 0 && length < this.context ? this.#free.pop() : undefined;
    if (slot === undefined) {
      const expected = `a free row, and a prompt of 1 to ${this.context - 1} tokens`;
      throw new ShapeError({ call: 'add to a batch', expected, found: `${this.free} free, ${length} tokens` });
    }
    this.#seats.set(slot, { slot, own, lane: laneOf(own), drawn: 0, last: -1 });
    return slot;
  }

  remove(slot: number): void {
    if (this.#seats.delete(slot)) this.#free.push(slot);
  }

  /** Draws the next token of every row whose prompt is computed, and computes prompts of rows that joined. */
  async step(): Promise<ReadonlyMap<number, DrawnToken>> {
    const drawn: Drawn = new Map();
    const seats = [...this.#seats.values()].sort(byLane);
    const running = seats.filter((seat) => seat.drawn > 0);
    for (const lane of lanes(running)) await this.#advance(lane, drawn);
    for (const lane of lanes(this.#joining(seats))) await this.#enter(lane, drawn);
    for (const [slot, { token }] of drawn) {
      const seat = this.#seats.get(slot);
      if (seat === undefined) continue;
      seat.drawn++;
      seat.last = token;
    }
    return drawn;
  }

  /** Rows whose prompts are computed in this step, the oldest first. */
  #joining(seats: readonly Seat[]): Seat[] {
    const waiting = new Set(seats.filter((seat) => seat.drawn === 0));
    const chosen: Seat[] = [];
    let tokens = 0;
    for (const seat of this.#seats.values()) {
      if (!waiting.has(seat)) continue;
      tokens += seat.own.prompt.length;
      if (chosen.length > 0 && tokens > this.#options.tokensPerPass) break;
      chosen.push(seat);
    }
    return chosen.sort(byLane);
  }

  /** Computes the prompts of these rows and draws their first tokens. */
  async #enter(seats: readonly Seat[], drawn: Drawn): Promise<void> {
    const { device } = this.#decoder.head;
    using scope = new Scope(device);
    using tape = new Tape(device);
    const groups = seats.map(({ own }) => ({ prompt: own.prompt, completions: [] }));
    const packed = packGroups(scope, this.#decoder.config, groups);
    const places = seats.flatMap((seat) => Array.from(seat.own.prompt, (_, t) => this.#start(seat) + t));
    const scales = seats.flatMap(({ own }) => Array.from(own.prompt, () => own.scale ?? 0));
    const hidden = this.#decoder.forward(tape, packed.batch, {
      ...this.#project(scope, seats, scales),
      keyValues: this.#cache.store(ints(scope, places, 'prompt slots'), 'pass'),
    });
    const last = scope.empty([seats.length, hidden.shape[1]], 'last hidden states', device.floats[0]);
    const ends = packed.prompts.map(({ end }) => end - 1);
    device.kernels.gatherRows(last, hidden, ints(scope, ends, 'last tokens'));
    await this.#draw(scope, nextLogits(tape, last, this.#decoder.head), seats, drawn);
    for (const [i, { slot, own }] of seats.entries()) {
      const first = own.scoresPrompt ? drawn.get(slot) : undefined;
      if (first !== undefined) {
        drawn.set(slot, { ...first, prompt: await this.#scorePrompt(hidden, packed.prompts[i], own) });
      }
    }
  }

  /** The chances of the tokens of a prompt whose hidden states stand at `span`, a few at a time: logits are long. */
  async #scorePrompt(hidden: Tensor, span: Span, { prompt, likeliest }: OpenRow): Promise<RankedToken[]> {
    const { head } = this.#decoder;
    const [ranked, vocabulary]: [RankedToken[], number] = [[], head.shape[0]];
    for (let start = span.start; start < span.end - 1; start += scoredTogether) {
      using tape = new Tape(head.device);
      const rows = hidden.rows(start, Math.min(start + scoredTogether, span.end - 1));
      const logits = await readFloats(nextLogits(tape, rows, head));
      for (let at = 0; at < logits.length; at += vocabulary) {
        ranked.push(rankToken(logits.subarray(at, at + vocabulary), prompt[ranked.length + 1], likeliest));
      }
    }
    return ranked;
  }

  /** Feeds the last token of each of these rows and draws the next. */
  async #advance(seats: readonly Seat[], drawn: Drawn): Promise<void> {
    const { device } = this.#decoder.head;
    using scope = new Scope(device);
    using tape = new Tape(device);
    const list = seats.map((seat, i) => {
      const start = this.#start(seat);
      const end = start + seat.own.prompt.length;
      return {
        queryStart: i,
        queryEnd: i + 1,
        prefixStart: start,
        prefixEnd: end,
        keyStart: end,
        keyEnd: end + seat.drawn,
      };
    });
    const ids = tokenIds(
      scope,
      Int32Array.from(seats, ({ last }) => last),
      this.#decoder.config.vocabSize,
    );
    const positions = seats.map(({ own, drawn: count }) => own.prompt.length + count - 1);
    const slots = list.map(({ keyEnd }) => keyEnd - 1);
    const batch = {
      ids,
      positions: ints(scope, positions, 'positions'),
      segments: new Segments(scope, list, seats.length, this.#cache.slots),
    };
    const hidden = this.#decoder.forward(tape, batch, {
      ...this.#project(
        scope,
        seats,
        seats.map(({ own }) => own.scale ?? 0),
      ),
      keyValues: this.#cache.store(ints(scope, slots, 'cache slots'), 'cache'),
    });
    await this.#draw(scope, nextLogits(tape, hidden, this.#decoder.head), seats, drawn);
  }

  /** Rows of one pass have the same adapter, or none has any. */
  #project(scope: Scope, [first]: readonly Seat[], scales: readonly number[]) {
    const project = first.own.adapter?.project ?? this.#options.project;
    return first.own.scale === null || project === undefined
      ? {}
      : { project: project(scope, Float32Array.from(scales)) };
  }

  /** Draws for runs of rows with the same settings, which a lane is sorted by, and reads what was drawn. */
  async #draw(scope: Scope, logits: Tensor, seats: readonly Seat[], drawn: Drawn): Promise<void> {
    const { kernels } = scope.device;
    const { key, step } = this.#options.stream;
    const column = (values: (seat: Seat) => number, label: string) => ints(scope, seats.map(values), label);
    const ids = scope.empty([seats.length], 'drawn tokens', 'i32');
    const histories = column(({ slot }) => slot, 'history slots');
    const streams = column(({ own }) => own.row, 'random streams');
    const counts = column((seat) => seat.drawn, 'drawn counts');
    for (const [start, end] of runs(seats)) {
      const of = (tensor: Tensor): Tensor => tensor.rows(start, end);
      const options = { key, step, ...seats[start].own.draw };
      kernels.sample(of(ids), this.#history, this.#logps, of(logits), of(histories), of(streams), of(counts), options);
    }
    const rows = this.#logps.shape[0] * this.context;
    const pairs = scope.empty([seats.length, 2], 'log-probabilities');
    const places = column((seat) => seat.slot * this.context + seat.drawn, 'places');
    kernels.gatherRows(pairs, this.#logps.view([rows, 2]), places);
    const [tokens, logps] = [await readInts(ids), await readFloats(pairs)];
    for (const [i, { slot, own }] of seats.entries()) {
      const [token, logp] = [tokens[i], logps[2 * i + 1]];
      drawn.set(
        slot,
        own.likeliest === 0
          ? { token, logp, likeliest: none }
          : rankToken(await readFloats(logits.rows(i, i + 1)), token, own.likeliest, logp),
      );
    }
  }

  #start({ slot }: Seat): number {
    return this.#cache.room(slot).start;
  }
}

function ints(scope: Scope, values: readonly number[], label: string): Tensor {
  return scope.from(Int32Array.from(values), [values.length], label);
}

const laneOf = ({ scale, draw, adapter }: OpenRow): string =>
  `${scale === null} ${adapter?.name ?? ''} ${draw.temperature} ${draw.topK} ${draw.topP} ${draw.minP}`;

const byLane = (a: Seat, b: Seat): number => (a.lane < b.lane ? -1 : a.lane > b.lane ? 1 : a.slot - b.slot);

/** Rows with the same adapter, and rows without any, which come last. */
function lanes(seats: readonly Seat[]): Seat[][] {
  const parts = groupBy(seats, ({ own }) => (own.scale === null ? null : (own.adapter?.name ?? '')));
  return [...parts].sort(([a], [b]) => Number(a === null) - Number(b === null)).map(([, lane]) => lane);
}

/** Runs of neighbours with the same settings, as [start, end). */
function runs(seats: readonly Seat[]): [number, number][] {
  const found: [number, number][] = [];
  seats.forEach((seat, i) => {
    const current = found.at(-1);
    if (current !== undefined && seats[current[0]].lane === seat.lane) current[1] = i + 1;
    else found.push([i, i + 1]);
  });
  return found;
}
