/** A search through runs, one after another; what was found so far can be listed at any time. */
import { messageOf, UserError } from '../base/index.ts';
import type { JudgedRollout } from '../oracle/judged/columns.ts';
import type { ListedRollout, RolloutList } from './api.ts';
import { expressionOf, type RolloutQuery } from './query.ts';
import { countBelow, type FoundPart, type Limit, type RunRollouts } from './run-rollouts.ts';

type SearchedRun = { readonly id: string; open(): Promise<RunRollouts> };

const excerptLength = 160;
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
  /** Of the first rows that were found their parts and their places there, in the order of the query; `of`: the runs that were searched then. */
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
    const excerpt = (text: string): string => {
      const start = Math.max(0, (expression === null ? 0 : text.search(expression)) - 40);
      return text.slice(start, start + excerptLength).replace(/\s+/g, ' ');
    };
    const listed = this.#limit(() =>
      rows.map((row, i): ListedRollout => ({ ...row, excerpt: excerpt(texts[i] ?? '') })),
    );
    return { ...counts, offset, rows: listed };
  }

  async #read<Row>(
    offset: number,
    limit: number,
    read: (rollouts: RunRollouts, places: readonly number[]) => Promise<readonly Row[]>,
  ): Promise<Row[]> {
    const { parts, places } = this.#inOrder(offset + limit);
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

  #inOrder(most: number) {
    const known = this.#places;
    const count = this.counts.found;
    const isCurrent = known !== null && known.of === this.#parts.length;
    if (isCurrent && known.places.length >= Math.min(most, count)) return known;
    const [parts, places, ranks] = [new Uint32Array(count), new Uint32Array(count), new Float64Array(count)];
    let at = 0;
    for (const [i, { part }] of this.#parts.entries()) {
      parts.fill(i, at, at + part.places.length);
      places.set(part.places, at);
      ranks.set(part.ranks ?? [], at);
      at += part.places.length;
    }
    // While runs are still searched, rows beyond the page in sight are put in order only when somebody looks further.
    const isWhole = isCurrent || this.#unread === 0;
    const order = this.#query.order === 'update' ? null : largestFirst(ranks, isWhole ? count : most);
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

/** The places of the largest numbers, the largest first, equal ones in their order. Counted, not compared: a million are put in order in a tenth of the time. */
export function largestFirst(numbers: Float64Array, most = numbers.length): Uint32Array {
  const sorted = numbers.slice().sort();
  const next = new Uint32Array(numbers.length);
  const places = new Uint32Array(Math.min(most, numbers.length));
  const least = sorted[numbers.length - places.length];
  for (let i = 0; i < numbers.length; i++) {
    if (numbers[i] < least) continue;
    const above = numbers.length - countBelow(sorted, numbers[i], true);
    const place = above + next[above];
    if (place < places.length) places[place] = i;
    next[above] += 1;
  }
  return places;
}
