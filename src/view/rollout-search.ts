/** A search through runs, one after another; what was found so far can be listed at any time. */
import { messageOf, UserError } from '../base/index.ts';
import type { JudgedRollout } from '../oracle/judged/columns.ts';
import type { ListedRollout, RolloutList } from './api.ts';
import { excerptOf, expressionOf, type RolloutQuery } from './query.ts';
import type { FoundPart, Limit, RunRollouts } from './run-rollouts.ts';

type SearchedRun = { readonly id: string; open(): Promise<RunRollouts> };

/** How long a search goes on before a page may draw. */
const mostBusyMs = 8;

/** Lets everything else that waits have its turn. Unlike a timer, a message is not put off. */
function rest(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((go) => {
    const end = (): void => {
      port1.close();
      go();
    };
    port1.addEventListener('message', end, { once: true });
    port1.start();
    port2.postMessage(null);
  });
}

export class RolloutSearch {
  readonly #runs: readonly SearchedRun[];
  readonly #query: RolloutQuery;
  readonly #limit: Limit;
  readonly #parts: { readonly rollouts: RunRollouts; readonly part: FoundPart }[] = [];
  readonly #leftOut: { run: string; why: string }[] = [];
  /** Of the rows that were found their parts and their places there, in the order of the query; `of`: the runs that were searched then. */
  #places: { readonly of: number; readonly parts: Uint32Array; readonly places: Uint32Array } | null = null;
  #working: Promise<void> = Promise.resolve();

  /** `limit` runs every piece of the search that may compute for long. */
  constructor(runs: readonly SearchedRun[], query: RolloutQuery, limit: Limit = (work) => work()) {
    this.#runs = runs;
    this.#query = query;
    this.#limit = limit;
  }

  /** Searches on for `ms` milliseconds, or to the end; one run at least. Who asks meanwhile waits for the same work, then for their own. */
  advance(ms: number): Promise<void> {
    const before = this.#working.catch(() => undefined);
    this.#working = before.then(() => this.#advance(performance.now() + ms));
    return this.#working;
  }

  async #advance(until: number): Promise<void> {
    let rested = performance.now();
    while (this.#unread > 0) {
      const run = this.#runs[this.#runs.length - this.#unread];
      try {
        const rollouts = await run.open();
        this.#parts.push({ rollouts, part: await rollouts.find(this.#query, this.#limit) });
      } catch (error) {
        if (this.#runs.length === 1 || isOfQuery(error)) throw error;
        this.#leftOut.push({ run: run.id, why: messageOf(error) });
      }
      const now = performance.now();
      if (now >= until) return;
      if (now - rested > mostBusyMs) {
        await rest();
        rested = performance.now();
      }
    }
  }

  get #unread(): number {
    return this.#runs.length - this.#parts.length - this.#leftOut.length;
  }

  get counts(): Omit<RolloutList, 'rows' | 'offset'> {
    return {
      total: this.#parts.reduce((sum, { part }) => sum + part.total, 0),
      found: this.#parts.reduce((sum, { part }) => sum + part.places.length, 0),
      facets: sumCounts(this.#parts.map(({ part }) => part.facets)),
      leftOut: [...this.#leftOut],
      unread: this.#unread,
    };
  }

  async rows<Name extends keyof JudgedRollout>(offset: number, limit: number, names?: readonly Name[]) {
    return this.#read(offset, limit, (rollouts, places) => rollouts.rowsAt(places, names));
  }

  async list(offset: number, limit: number): Promise<RolloutList> {
    const { counts } = this;
    const [rows, texts] = await Promise.all([
      this.#read(offset, limit, (rollouts, places) => rollouts.listedAt(places)),
      this.#read(offset, limit, (rollouts, places) => rollouts.completionsAt(places)),
    ]);
    const expression = expressionOf(this.#query);
    const listed = this.#limit(() =>
      rows.map((row, i): ListedRollout => ({ ...row, excerpt: excerptOf(texts[i] ?? '', expression) })),
    );
    return { ...counts, offset, rows: listed };
  }

  async #read<Row>(
    offset: number,
    limit: number,
    read: (rollouts: RunRollouts, places: readonly number[]) => Promise<readonly Row[]>,
  ): Promise<Row[]> {
    const { parts, places } = this.#inOrder();
    const shown = [...parts.subarray(offset, offset + limit)];
    const rows: Row[] = [];
    for (const part of new Set(shown)) {
      const own = shown.flatMap((each, i) => (each === part ? [i] : []));
      const found = await read(
        this.#parts[part].rollouts,
        own.map((i) => places[offset + i]),
      );
      for (const [at, row] of found.entries()) rows[own[at]] = row;
    }
    return rows.flat(0);
  }

  #inOrder() {
    if (this.#places?.of === this.#parts.length) return this.#places;
    const count = this.counts.found;
    const [parts, places, ranks] = [new Uint32Array(count), new Uint32Array(count), new Float64Array(count)];
    let at = 0;
    for (const [i, { part }] of this.#parts.entries()) {
      parts.fill(i, at, at + part.places.length);
      places.set(part.places, at);
      ranks.set(part.ranks ?? [], at);
      at += part.places.length;
    }
    const order = this.#query.order === 'update' ? null : largestFirst(ranks);
    this.#places = {
      of: this.#parts.length,
      parts: order?.map((i) => parts[i]) ?? parts,
      places: order?.map((i) => places[i]) ?? places,
    };
    return this.#places;
  }
}

function sumCounts(all: readonly RolloutList['facets'][]): RolloutList['facets'] {
  const sums = new Map<string, Map<string, number>>();
  for (const [name, counts] of all.flatMap((one) => Object.entries(one))) {
    const own = sums.get(name) ?? new Map<string, number>();
    for (const [value, count] of Object.entries(counts)) own.set(value, (own.get(value) ?? 0) + count);
    sums.set(name, own);
  }
  const sorted = [...sums].map(([name, own]): [string, Record<string, number>] => [
    name,
    Object.fromEntries([...own].sort(([, a], [, b]) => b - a)),
  ]);
  return Object.fromEntries(sorted);
}

/** Whether an error is about the search itself, so that every run would give it. */
const isOfQuery = (error: unknown): boolean => error instanceof UserError && error.message.startsWith('rollouts, ');

/**
 * The places of numbers, the largest first, equal ones in their order. By the 16-bit digits of their bits, the last digit first: a million
 * are put in order in a fifth of the time that a sort takes.
 */
export function largestFirst(numbers: Float64Array): Uint32Array {
  const { length } = numbers;
  // Adding zero makes −0 the 0 that it equals.
  const digits = new Uint16Array(numbers.map((number) => number + 0).buffer);
  // As whole numbers negative ones are the larger the smaller they are, which is the order wanted; of all others it is the other way round.
  for (let at = 0; at < digits.length; at += 4) {
    if (digits[at + 3] >= 0x8000) continue;
    for (let digit = 0; digit < 3; digit++) digits[at + digit] ^= 0xffff;
    digits[at + 3] ^= 0x7fff;
  }
  let [places, next] = [new Uint32Array(length).map((_, i) => i), new Uint32Array(length)];
  const starts = new Uint32Array(0x10000);
  for (let digit = 0; digit < 4; digit++) {
    starts.fill(0);
    for (let at = digit; at < digits.length; at += 4) starts[digits[at]] += 1;
    let before = 0;
    for (let value = 0; value < starts.length; value++) [starts[value], before] = [before, before + starts[value]];
    for (let i = 0; i < length; i++) next[starts[digits[4 * places[i] + digit]]++] = places[i];
    [places, next] = [next, places];
  }
  return places;
}
