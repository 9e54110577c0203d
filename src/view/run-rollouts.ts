/** The rollouts of one run as a search goes through them, in the page and in the terminal. */
import { murmur3 } from '../base/index.ts';
import { scoreOf } from '../measure/gate/rollout-words.ts';
import { type JudgedRollout, type ListedName, listedNames } from '../oracle/judged/columns.ts';
import type { JudgedTable } from '../oracle/judged/table.ts';
import { blockRows } from '../run/columns/index.ts';
import type { LedgerRow } from './api.ts';
import { KeptParts } from './kept-parts.ts';
import { type CodedColumn, type ColumnsOf, PackedRows, PackedTexts, packCodes, packedBytes } from './packed.ts';
import {
  type FacetedRollout,
  facetedNames,
  facetNames,
  facetValues,
  type RolloutOrder,
  type RolloutQuery,
} from './query.ts';
import { textSearch } from './text-search.ts';

/** What a query finds in a run: the places of the rows, by what they are ordered (null: as they are), and the counts of its facets. */
export interface FoundPart {
  readonly total: number;
  readonly places: Uint32Array;
  readonly ranks: Float64Array | null;
  readonly facets: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

type ListedRow = JudgedRollout<ListedName> & { readonly run: string };

/** What lists show of all rows, and the values of each facet. */
interface Listed {
  readonly rows: PackedRows<ListedRow>;
  readonly facets: Readonly<Record<string, CodedColumn>>;
  readonly bytes: number;
}

/** The texts of some rows, one after another. */
type TextBlock = { readonly start: number; readonly rows: number; readonly prompts: PackedTexts; readonly completions: PackedTexts }; // biome-ignore format: one line
type Texts = { readonly blocks: readonly TextBlock[]; readonly bytes: number };

export type Limit = <Value>(work: () => Value) => Value;

/** What is kept of runs that are over. Rows first: texts of few runs may need as much as the rows of a hundred. */
export class KeptRollouts {
  readonly listed: KeptParts<Listed>;
  readonly texts: KeptParts<Texts>;

  constructor(listedBytes: number, textBytes: number) {
    this.listed = new KeptParts(listedBytes);
    this.texts = new KeptParts(textBytes);
  }

  beginSearch(): void {
    this.listed.beginSearch();
    this.texts.beginSearch();
  }

  forget(run: RunRollouts): void {
    this.listed.forget(run);
    this.texts.forget(run);
  }
}

/** Where a run is read once, as in a terminal, texts are not kept. */
const keptOfOne = (): KeptRollouts => new KeptRollouts(Number.POSITIVE_INFINITY, 0);

export class RunRollouts {
  readonly run: string;
  readonly #table: JudgedTable;
  readonly #kept: KeptRollouts;
  #last: { readonly key: string; readonly part: Promise<FoundPart> } | null = null;

  constructor(run: string, table: JudgedTable, kept: KeptRollouts = keptOfOne()) {
    this.run = run;
    this.#table = table;
    this.#kept = kept;
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
    const known = this.#kept.listed.get(this);
    if (known === undefined && !this.#table.grows) return this.rowsAt(places, listedNames);
    const { rows } = known ?? (await this.#readListed());
    // A run that began again meanwhile may have fewer.
    return places.flatMap((place) => (place < rows.length ? rows.at(place) : []));
  }

  async completionsAt(places: readonly number[]): Promise<string[]> {
    const texts = this.#kept.texts.get(this);
    if (texts === undefined) return (await this.rowsAt(places, ['completion'])).map(({ completion }) => completion);
    return places.flatMap((place) => {
      const block = texts.blocks.find(({ start, rows }) => place >= start && place < start + rows);
      return block?.completions.at(place - block.start) ?? [];
    });
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

  async group(wanted: string): Promise<LedgerRow[] | null> {
    const { rows } = await this.#readListed();
    const [id, update, group] = [rows.column('id'), rows.column('update'), rows.column('group')];
    const places = Array.from({ length: rows.length }, (_, place) => place);
    const found = places.find((place) => id(place) === wanted);
    if (found === undefined) return null;
    return this.rowsAt(places.filter((place) => update(place) === update(found) && group(place) === group(found)));
  }

  async #readListed(): Promise<Listed> {
    const known = this.#kept.listed.get(this);
    if (known !== undefined) return known;
    const columns = Object.fromEntries(['run', ...listedNames].map((name) => [name, [] as unknown[]]));
    const facets = Object.fromEntries(facetNames.map((name) => [name, [] as string[]]));
    let length = 0;
    for await (const block of this.#table.blocks(listedNames)) {
      const run = new Array<string>(block.rows).fill(this.run);
      const values: Readonly<Record<string, readonly unknown[]>> = { ...block.values, run };
      for (const [name, column] of Object.entries(columns)) column.push(...values[name]);
      const faceted = Object.fromEntries(['run', ...facetedNames].map((name) => [name, values[name]]));
      const rows = blockRows<FacetedRollout>({ ...block, values: faceted as unknown as ColumnsOf<FacetedRollout> });
      for (const name of facetNames) facets[name].push(...rows.map(facetValues[name]));
      length += block.rows;
    }
    const rows = new PackedRows<ListedRow>(length, columns as unknown as ColumnsOf<ListedRow>);
    const coded = Object.entries(facets).map(([name, values]) => [name, packCodes(values)] as const);
    const bytes = coded.reduce((sum, [, column]) => sum + packedBytes(column), rows.bytes);
    const listed = { rows, facets: Object.fromEntries(coded), bytes };
    if (!this.#table.grows) this.#kept.listed.keep(this, listed);
    return listed;
  }

  /** The texts of all rows, some rows at a time; where all of them fit, they are kept for the next search. */
  async *#readTexts(): AsyncGenerator<TextBlock> {
    const known = this.#kept.texts.get(this);
    if (known !== undefined) {
      yield* known.blocks;
      return;
    }
    const blocks: TextBlock[] = [];
    let [bytes, fits] = [0, !this.#table.grows];
    for await (const { start, rows, values } of this.#table.utf8(['prompt', 'completion'])) {
      const [prompts, completions] = [new PackedTexts(values.prompt), new PackedTexts(values.completion)];
      bytes += prompts.bytes + completions.bytes;
      fits &&= this.#kept.texts.fits(bytes);
      if (fits) blocks.push({ start, rows, prompts, completions });
      // What does not fit is not held until its end is read.
      else blocks.length = 0;
      yield { start, rows, prompts, completions };
    }
    if (fits) this.#kept.texts.keep(this, { blocks, bytes });
  }

  async #find(query: RolloutQuery, limit: Limit): Promise<FoundPart> {
    const { rows, facets } = await this.#readListed();
    const isMatch = await this.#matches(query, rows.length, limit);
    const isWanted = wanted(rows, query);
    const columns = facetNames.map((name) => {
      const { values, codes } = facets[name];
      const asked = query.facets[name];
      // A facet counts what the others leave, whatever it has chosen itself.
      return {
        name,
        values,
        codes,
        chosen: asked === undefined ? null : values.indexOf(asked),
        others: [] as number[],
      };
    });
    const chosen = columns.filter((column) => column.chosen !== null);
    const found: number[] = [];
    for (let place = 0; place < rows.length; place++) {
      if (!isMatch(place) || !isWanted(place)) continue;
      let [against, last] = [0, 0];
      for (let i = 0; i < chosen.length; i++) {
        if (chosen[i].codes[place] === chosen[i].chosen) continue;
        against += 1;
        last = i;
      }
      if (against === 0) found.push(place);
      else if (against === 1) chosen[last].others.push(place);
    }
    const places = Uint32Array.from(found);
    const rank = rankBy(rows, query.order);
    const ranks = rank === null ? null : new Float64Array(places.length);
    for (let i = 0; i < places.length && rank !== null && ranks !== null; i++) {
      ranks[i] = rank(places[i]) ?? Number.NEGATIVE_INFINITY;
    }
    const counts = columns.map(({ name, others, ...column }) => [name, countValues(column, [places, others])] as const);
    return { total: rows.length, places, ranks, facets: Object.fromEntries(counts) };
  }

  async #matches(query: RolloutQuery, length: number, limit: Limit): Promise<(place: number) => boolean> {
    const search = textSearch(query);
    if (search === null) return () => true;
    const found = new Uint8Array(length);
    for await (const { start, rows, prompts, completions } of this.#readTexts()) {
      limit(() => {
        const [inPrompts, inCompletions] = [search(prompts), search(completions)];
        for (let row = 0; row < rows; row++) {
          found[start + row] = inCompletions[completions.code(row)] | inPrompts[prompts.code(row)];
        }
      });
    }
    return (place) => found[place] === 1;
  }
}

function countValues({ values, codes }: CodedColumn, all: readonly ArrayLike<number>[]): Record<string, number> {
  const counts = new Uint32Array(values.length);
  for (const places of all) for (let i = 0; i < places.length; i++) counts[codes[places[i]]] += 1;
  return Object.fromEntries(
    values.flatMap((value, code) => (counts[code] === 0 ? [] : [[String(value), counts[code]]])),
  );
}

function wanted(rows: PackedRows<ListedRow>, { from, to, without }: RolloutQuery): (place: number) => boolean {
  if (rows.length > 0 && without.includes(facetValues['arm'](rows.at(0)))) return () => false;
  if (from === null && to === null) return () => true;
  const [first, last] = [from ?? 0, to ?? Number.POSITIVE_INFINITY];
  const update = rows.column('update');
  return (place) => update(place) >= first && update(place) <= last;
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
  belowCuts = (middle: number): number => halvesBelow(scores, middle),
): number | null {
  if (score === null || low === null || high === null) return null;
  const between = belowCuts((low + high) / 2) - halvesBelow(scores, score);
  return (attempt ? between : 0 - between) / (2 * scores.length);
}

/** Twice the count of sorted numbers below a value; those that equal it count half. */
function halvesBelow(sorted: Float64Array, value: number): number {
  const below = countBelow(sorted, value, false);
  // Few scores occur twice, and most of what is asked for is one of them.
  if (sorted[below] !== value) return 2 * below;
  return below + (sorted[below + 1] === value ? countBelow(sorted, value, true) : below + 1);
}

/** How many of sorted numbers are below a value, or (`orEqual`) not above it. */
function countBelow(sorted: Float64Array, value: number, orEqual: boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value || (orEqual && sorted[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function rankBy(rows: PackedRows<ListedRow>, order: RolloutOrder): ((place: number) => number | null) | null {
  if (order === 'update') return null;
  if (order === 'surprise') {
    const [attempt, score] = [rows.column('attempt'), rows.column('score')];
    const [low, high] = [rows.column('low'), rows.column('high')];
    const all = Float64Array.from({ length: rows.length }, (_, place) => score(place) ?? Number.NaN).sort();
    // What is no number is sorted behind all numbers.
    const scores = all.subarray(0, all.findLastIndex((value) => !Number.isNaN(value)) + 1);
    // All rollouts of an update have the same cuts, and stand together.
    let [cuts, below] = [Number.NaN, 0];
    const belowCuts = (middle: number): number => {
      if (middle !== cuts) [cuts, below] = [middle, halvesBelow(scores, middle)];
      return below;
    };
    return (place) => {
      const row = { attempt: attempt(place), score: score(place), low: low(place), high: high(place) };
      return surpriseOf(row, scores, belowCuts);
    };
  }
  const [run, id] = [rows.column('run'), rows.column('id')];
  // The same order on every machine, which says nothing about the rollouts: the first of them are a fair sample.
  if (order === 'shuffled') return (place) => murmur3(`${run(place)} ${id(place)}`);
  if (order !== 'score') return rows.column(order);
  const [score, suspicion] = [rows.column('score'), rows.column('suspicion')];
  return (place) => scoreOf({ score: score(place), suspicion: suspicion(place) });
}
