/** The rollouts of one run as a search goes through them, in the page and in the terminal. */
import { murmur3 } from '../base/index.ts';
import { type JudgedRollout, type ListedName, listedNames } from '../oracle/judged/columns.ts';
import type { JudgedTable } from '../oracle/judged/table.ts';
import { blockRows } from '../run/columns/index.ts';
import type { LedgerRow } from './api.ts';
import { facetNames, facetValues, matcherOf, type RolloutOrder, type RolloutQuery } from './query.ts';

/** What a query finds in a run: the places of the rows, by what they are ordered (null: as they are), and the counts of its facets. */
export interface FoundPart {
  readonly total: number;
  readonly places: Uint32Array;
  readonly ranks: Float64Array | null;
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

type ListedRow = JudgedRollout<ListedName> & { readonly run: string };

/** What lists show of all rows, and the values of each facet. */
type Listed = { readonly rows: readonly ListedRow[]; readonly facets: Readonly<Record<string, readonly string[]>> };

export type Limit = <Value>(work: () => Value) => Value;

export class RunRollouts {
  readonly run: string;
  readonly #table: JudgedTable;
  #listed: Promise<Listed> | null = null;
  #last: { readonly key: string; readonly part: Promise<FoundPart> } | null = null;

  constructor(run: string, table: JudgedTable) {
    this.run = run;
    this.#table = table;
  }

  find(query: RolloutQuery, limit: Limit): Promise<FoundPart> {
    const { offset: _offset, limit: _limit, ...rest } = query;
    const key = JSON.stringify(rest);
    if (this.#last?.key !== key || this.#table.grows) {
      const part = this.#find(query, limit);
      this.#last = { key, part };
      part.catch(() => {
        this.#last = null;
      });
    }
    return this.#last.part;
  }

  async listedAt(places: readonly number[]): Promise<ListedRow[]> {
    const { rows } = await this.#readListed();
    // A run that began again meanwhile may have fewer.
    return places.flatMap((place) => rows[place] ?? []);
  }

  async rowsAt<Name extends keyof JudgedRollout>(
    places: readonly number[],
    names?: readonly Name[],
  ): Promise<(JudgedRollout<Name> & { readonly run: string })[]> {
    const found = new Map<number, JudgedRollout<Name>>();
    const ranges = rangesOf([...places].sort((a, b) => a - b));
    await Promise.all(
      ranges.map(async ([from, to]) => {
        for (const [i, row] of (await this.#table.rows(names, { from, to })).entries()) found.set(from + i, row);
      }),
    );
    return places.flatMap((place) => {
      const row = found.get(place);
      return row === undefined ? [] : [{ run: this.run, ...row }];
    });
  }

  async group(id: string): Promise<LedgerRow[] | null> {
    const { rows } = await this.#readListed();
    const found = rows.find((row) => row.id === id);
    if (found === undefined) return null;
    const isOfGroup = (row: ListedRow): boolean => row.update === found.update && row.group === found.group;
    return this.rowsAt(rows.flatMap((row, place) => (isOfGroup(row) ? [place] : [])));
  }

  #readListed(): Promise<Listed> {
    if (this.#listed === null || this.#table.grows) {
      this.#listed = this.#read();
      this.#listed.catch(() => {
        this.#listed = null;
      });
    }
    return this.#listed;
  }

  async #read(): Promise<Listed> {
    const rows: ListedRow[] = [];
    for await (const block of this.#table.blocks(listedNames)) {
      for (const row of blockRows(block)) rows.push({ run: this.run, ...row });
    }
    const values = Object.entries(facetValues).map(([name, value]) => [name, rows.map(value)]);
    return { rows, facets: Object.fromEntries(values) };
  }

  async #find(query: RolloutQuery, limit: Limit): Promise<FoundPart> {
    const { rows, facets } = await this.#readListed();
    const isMatch = await this.#matches(query, rows.length, limit);
    const isWanted = wanted(rows, query);
    const places: number[] = [];
    const counts = new Map(facetNames.map((name) => [name, new Map<string, number>()]));
    const count = (name: string, place: number): void => {
      const value = facets[name][place];
      const all = counts.get(name);
      all?.set(value, (all.get(value) ?? 0) + 1);
    };
    for (let place = 0; place < rows.length; place++) {
      if (!isWanted(place) || !isMatch(place)) continue;
      const against = Object.keys(query.facets).filter((name) => facets[name][place] !== query.facets[name]);
      // A facet counts what the others leave, whatever it has chosen itself.
      if (against.length === 0) for (const name of facetNames) count(name, place);
      else if (against.length === 1) count(against[0], place);
      if (against.length === 0) places.push(place);
    }
    const rank = rankBy(rows, query.order);
    return {
      total: rows.length,
      places: Uint32Array.from(places),
      ranks: rank === null ? null : Float64Array.from(places, (place) => rank(rows[place]) ?? Number.NEGATIVE_INFINITY),
      facets: Object.fromEntries([...counts].map(([name, all]) => [name, Object.fromEntries(all)])),
    };
  }

  async #matches(query: RolloutQuery, length: number, limit: Limit): Promise<(place: number) => boolean> {
    const find = matcherOf(query);
    if (find === null) return () => true;
    const found = new Uint8Array(length);
    const prompts = new Map<string, boolean>();
    const isInPrompt = (prompt: string): boolean => {
      const known = prompts.get(prompt) ?? find(prompt) >= 0;
      prompts.set(prompt, known);
      return known;
    };
    for await (const { start, values } of this.#table.blocks(['prompt', 'completion'])) {
      limit(() =>
        values.completion.forEach((text, i) => {
          found[start + i] = Number(find(text) >= 0 || isInPrompt(values.prompt[i]));
        }),
      );
    }
    return (place) => found[place] === 1;
  }
}

function wanted(rows: readonly ListedRow[], { from, to, without }: RolloutQuery): (place: number) => boolean {
  if (rows.length > 0 && without.includes(facetValues['arm'](rows[0]))) return () => false;
  if (from === null && to === null) return () => true;
  const [first, last] = [from ?? 0, to ?? Number.POSITIVE_INFINITY];
  return (place) => rows[place].update >= first && rows[place].update <= last;
}

const near = 16;

function rangesOf(places: readonly number[]): [from: number, to: number][] {
  const ranges: [number, number][] = [];
  for (const place of places) {
    const last = ranges.at(-1);
    if (last !== undefined && place - last[1] < near) last[1] = place + 1;
    else ranges.push([place, place + 1]);
  }
  return ranges;
}

/**
 * How far the gate and the grader disagree about whether a rollout opened a loophole: the share of all scores of its run that lie between its score and the middle
 * of its cuts, above 0 on the wrong side. The target is the attempt, paid or not: that is what a gate can see. A share means the same in every run, however wide its scores are and however near its cuts. `scores` are
 * those of the run, sorted. Null where there are no cuts.
 */
export function surpriseOf(
  { attempt, score, low, high }: JudgedRollout<'attempt' | 'score' | 'low' | 'high'>,
  scores: Float64Array,
): number | null {
  if (score === null || low === null || high === null) return null;
  const between = halvesBelow(scores, (low + high) / 2) - halvesBelow(scores, score);
  return (attempt ? between : 0 - between) / (2 * scores.length);
}

/** Twice the count of sorted numbers below a value; those that equal it count half. */
function halvesBelow(sorted: Float64Array, value: number): number {
  const first = (isBeyond: (other: number) => boolean): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBeyond(sorted[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  return first((other) => other >= value) + first((other) => other > value);
}

function rankBy(rows: readonly ListedRow[], order: RolloutOrder): ((row: ListedRow) => number | null) | null {
  if (order === 'update') return null;
  if (order === 'surprise') {
    const scores = Float64Array.from(rows.flatMap(({ score }) => score ?? [])).sort();
    return (row) => surpriseOf(row, scores);
  }
  // The same order on every machine, which says nothing about the rollouts: the first of them are a fair sample.
  if (order === 'shuffled') return ({ run, id }) => murmur3(`${run} ${id}`);
  return (row) => row[order];
}
