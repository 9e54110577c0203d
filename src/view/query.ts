/**
 * Searches rollouts: text or a regular expression, facets, order, pages. The same code answers in the server, in a page without one,
 * and in the terminal. A query is written as parameters of an address, so every search is a link.
 */
import { murmur3, UserError } from '../base/index.ts';
import { type ListedRollout, type RolloutList, rolloutDetails, type SearchRow } from './api.ts';
import { facetNames } from './facets.ts';
import { largestFirst } from './largest-first.ts';
import type { CodedColumn, PackedRows } from './packed-rows.ts';

export const rolloutOrders = ['update', 'surprise', 'score', 'advantage', 'reward', 'tokens', 'shuffled'] as const;
export type RolloutOrder = (typeof rolloutOrders)[number];

export interface RolloutQuery {
  readonly text: string;
  readonly isPattern: boolean;
  /** First and last update; null: no bound. */
  readonly from: number | null;
  readonly to: number | null;
  readonly facets: Readonly<Record<string, string>>;
  /** Arms whose rollouts are left out. */
  readonly without: readonly string[];
  readonly order: RolloutOrder;
  readonly offset: number;
  readonly limit: number;
}

const mostRows = 500;

export function parseQuery(parameters: URLSearchParams): RolloutQuery {
  const order = parameters.get('order') ?? 'update';
  const known = rolloutOrders.find((name) => name === order);
  if (known === undefined) {
    throw new UserError({ call: 'rollouts, order', expected: rolloutOrders.join(', '), found: order });
  }
  return {
    text: parameters.get('text') ?? '',
    isPattern: parameters.get('pattern') === '1',
    from: wholeOrNull(parameters, 'from'),
    to: wholeOrNull(parameters, 'to'),
    facets: Object.fromEntries(
      facetNames.flatMap((name) => {
        const value = parameters.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
    without: (parameters.get('without') ?? '').split(',').filter((arm) => arm !== ''),
    order: known,
    offset: wholeOrNull(parameters, 'offset') ?? 0,
    limit: Math.min(mostRows, wholeOrNull(parameters, 'limit') ?? 100),
  };
}

function wholeOrNull(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null || text === '') return null;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new UserError({ call: `rollouts, ${name}`, expected: 'a whole number of at least 0', found: text });
}

/** Where a text is found; below 0: nowhere. */
type Place = (content: string) => number;

/** Finds a text, or what a pattern matches, regardless of case; null: every text matches, at no place. */
function matcherOf({ text, isPattern }: RolloutQuery): Place | null {
  if (text === '') return null;
  try {
    const pattern = new RegExp(isPattern ? text : text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'im');
    return (content) => content.search(pattern);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: 'rollouts, text', expected: 'a regular expression', found }, { cause });
  }
}

/** What a query finds in some rows: their places, by what they are ordered (null: as they are), and the counts of its facets. */
export interface FoundPart {
  readonly total: number;
  readonly places: Uint32Array;
  readonly ranks: Float64Array | null;
  readonly facets: RolloutList['facets'];
}

export function findPart(rows: PackedRows, query: RolloutQuery): FoundPart {
  const places: number[] = [];
  const isMatch = matchOf(rows, query);
  const facets = Object.entries(rows.facets).map(([name, { values, codes }]) => {
    const wanted = query.facets[name];
    return {
      name,
      values,
      codes,
      chosen: wanted === undefined ? null : values.indexOf(wanted),
      others: [] as number[],
    };
  });
  const chosen = facets.filter((facet) => facet.chosen !== null);
  for (let place = 0; place < rows.length; place++) {
    if (!isMatch(place)) continue;
    const against = chosen.length === 0 ? chosen : chosen.filter((facet) => facet.codes[place] !== facet.chosen);
    if (against.length === 0) places.push(place);
    // A facet counts what the others leave, whatever it has chosen itself.
    else if (against.length === 1) against[0].others.push(place);
  }
  const rank = rankBy(rows, query.order);
  return {
    total: rows.length,
    places: Uint32Array.from(places),
    ranks: rank === null ? null : Float64Array.from(places, (place) => rank(place) ?? Number.NEGATIVE_INFINITY),
    facets: sumCounts(facets.map(({ name, others, ...column }) => ({ [name]: countValues(column, [places, others]) }))),
  };
}

function countValues({ values, codes }: CodedColumn, all: readonly (readonly number[])[]): Record<string, number> {
  const counts = new Uint32Array(values.length);
  for (const places of all) for (const place of places) counts[codes[place]] += 1;
  return Object.fromEntries(values.flatMap((value, i) => (counts[i] === 0 ? [] : [[String(value), counts[i]]])));
}

/** Counts of the same names added up, the largest first. */
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

/** What was found in several parts, in the order of the query: of each row its part and its place there. */
export interface JoinedParts {
  readonly total: number;
  readonly parts: Uint32Array;
  readonly places: Uint32Array;
  readonly facets: RolloutList['facets'];
}

export function joinFound(all: readonly FoundPart[]): JoinedParts {
  const count = all.reduce((sum, { places }) => sum + places.length, 0);
  const [parts, places] = [new Uint32Array(count), new Uint32Array(count)];
  const ranks = all.some((part) => part.ranks !== null) ? new Float64Array(count) : null;
  let at = 0;
  all.forEach((part, i) => {
    parts.fill(i, at, at + part.places.length);
    places.set(part.places, at);
    if (part.ranks !== null) ranks?.set(part.ranks, at);
    at += part.places.length;
  });
  const sums = {
    total: all.reduce((sum, { total }) => sum + total, 0),
    facets: sumCounts(all.map((part) => part.facets)),
  };
  if (ranks === null) return { ...sums, parts, places };
  const order = largestFirst(ranks);
  return { ...sums, parts: order.map((i) => parts[i]), places: order.map((i) => places[i]) };
}

/** Whether the text, the updates and the arms of a query are those of a row. */
function matchOf(rows: PackedRows, query: RolloutQuery): (place: number) => boolean {
  const { from, to } = query;
  const find = matcherOf(query);
  const isBounded = from !== null || to !== null;
  const arms = rows.facets['arm'];
  const leftOutArms = new Set(query.without.map((arm) => arms.values.indexOf(arm)));
  const isTimely = (place: number): boolean => {
    if (leftOutArms.size > 0 && leftOutArms.has(arms.codes[place])) return false;
    if (!isBounded) return true;
    const update = rows.value('update', place);
    return (from === null || update >= from) && (to === null || update <= to);
  };
  if (find === null) return isTimely;
  const { values, codes } = rows.prompts;
  const prompts = new Map<number, boolean>();
  const isInPrompt = (place: number): boolean => {
    const known = prompts.get(codes[place]) ?? find(values[codes[place]] as string) >= 0;
    prompts.set(codes[place], known);
    return known;
  };
  return (place) => isTimely(place) && (find(rows.completion(place)) >= 0 || isInPrompt(place));
}

/** A page of what was found: `rows` are those of the page. Each has the place in its text that was searched for. */
export function listRollouts(
  found: Omit<RolloutList, 'rows' | 'offset'>,
  rows: readonly SearchRow[],
  query: RolloutQuery,
): RolloutList {
  const place = matcherOf(query);
  return { ...found, offset: query.offset, rows: rows.map((row) => listed(row, place)) };
}

const excerptLength = 160;
const leftOut: ReadonlySet<string> = new Set(['prompt', 'completion', ...rolloutDetails]);

function listed(row: SearchRow, place: Place | null): ListedRollout {
  const { completion } = row;
  const start = Math.max(0, (place?.(completion) ?? 0) - 40);
  const rest = Object.fromEntries(Object.entries(row).filter(([name]) => !leftOut.has(name)));
  const excerpt = completion.slice(start, start + excerptLength).replace(/\s+/g, ' ');
  return { ...(rest as Omit<ListedRollout, 'excerpt'>), excerpt };
}

type ScoredRow = Pick<SearchRow, 'hack' | 'score' | 'low' | 'high'>;

/**
 * How far the gate and the grader disagree about a rollout: the share of all scores of its run that lie between its score and the middle
 * of its cuts, above 0 on the wrong side. A share means the same in every run, however wide its scores are and however near its cuts. `scores` are
 * those of the run, sorted. Null where there are no cuts.
 */
export function surpriseOf({ hack, score, low, high }: ScoredRow, scores: Float64Array): number | null {
  if (score === null || low === null || high === null) return null;
  const between = halvesBelow(scores, (low + high) / 2) - halvesBelow(scores, score);
  return (hack ? between : 0 - between) / (2 * scores.length);
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

/** All scores of each run, sorted. */
function scoresOf(rows: PackedRows): ReadonlyMap<string, Float64Array> {
  const found = new Map<string, number[]>();
  for (let place = 0; place < rows.length; place++) {
    const [run, score] = [rows.value('run', place), rows.value('score', place)];
    const own = found.get(run) ?? [];
    if (score !== null) own.push(score);
    found.set(run, own);
  }
  return new Map([...found].map(([run, own]) => [run, Float64Array.from(own).sort()]));
}

/** By what the rows of an order are sorted, the largest first; null: they stay as they are. */
function rankBy(rows: PackedRows, order: RolloutOrder): ((place: number) => number | null) | null {
  if (order === 'update') return null;
  if (order === 'surprise') {
    const scores = scoresOf(rows);
    return (place) => {
      const [hack, score] = [rows.value('hack', place), rows.value('score', place)];
      const own = scores.get(rows.value('run', place)) ?? new Float64Array(0);
      return surpriseOf({ hack, score, low: rows.value('low', place), high: rows.value('high', place) }, own);
    };
  }
  // The same order on every machine, which says nothing about the rollouts: the first of them are a fair sample.
  if (order === 'shuffled') return (place) => murmur3(`${rows.value('run', place)} ${rows.value('id', place)}`);
  return (place) => rows.value(order, place);
}
