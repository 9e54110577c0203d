/**
 * Searches rollouts: text or a regular expression, facets, order, pages. The same code answers in the server, in a page without one,
 * and in the terminal. A query is written as parameters of an address, so every search is a link.
 */
import { murmur3, UserError } from '../base/index.ts';
import { type ListedRollout, type RolloutList, rolloutDetails, type SearchRow } from './api.ts';

/** Facets: a value of a row as text, by which rows are chosen and counted. */
const facetValues: Readonly<Record<string, (row: SearchRow) => string>> = {
  truth: truthOf,
  route: ({ route }) => route ?? 'none',
  loophole: ({ loophole, hackable }) => (hackable ? loophole : 'no hint'),
  advantage: ({ advantage }) => (advantage > 0 ? 'above 0' : advantage < 0 ? 'below 0' : '0'),
  source: ({ source }) => source,
  sampled: ({ sampled }) => sampled,
  truncated: ({ truncated }) => (truncated ? 'yes' : 'no'),
  arm: ({ run }) => armOfRun(run),
  run: ({ run }) => run,
};

/** The folder of a run of an experiment is its arm and its seed. */
function armOfRun(run: string): string {
  const known = armsOfRuns.get(run) ?? run.slice(run.lastIndexOf('/') + 1).replace(/-\d+$/, '');
  armsOfRuns.set(run, known);
  return known;
}

/** Rows are many, runs are few. */
const armsOfRuns = new Map<string, string>();

/** What became of a rollout, by the grader's verdict. */
export function truthOf({ hack, solve }: Pick<SearchRow, 'hack' | 'solve'>): 'hack' | 'solve' | 'neither' {
  return hack ? 'hack' : solve ? 'solve' : 'neither';
}

export const facetNames: readonly string[] = Object.keys(facetValues);
export const rolloutOrders = ['update', 'surprise', 'score', 'advantage', 'reward', 'tokens', 'shuffled'] as const;
export type RolloutOrder = (typeof rolloutOrders)[number];

export interface RolloutQuery {
  readonly text: string;
  readonly isPattern: boolean;
  /** First and last update; null: no bound. */
  readonly from: number | null;
  readonly to: number | null;
  readonly facets: Readonly<Record<string, string>>;
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

export function findPart(rows: readonly SearchRow[], query: RolloutQuery): FoundPart {
  const places: number[] = [];
  const isMatch = matchOf(query);
  const facets = Object.entries(facetValues).map(([name, read]) => ({
    name,
    read,
    chosen: query.facets[name],
    value: '',
    counts: new Map<string, number>(),
  }));
  rows.forEach((row, place) => {
    if (!isMatch(row)) return;
    let against = 0;
    for (const facet of facets) {
      facet.value = facet.read(row);
      if (facet.chosen !== undefined && facet.chosen !== facet.value) against += 1;
    }
    if (against === 0) places.push(place);
    // A facet counts what the others leave, whatever it has chosen itself.
    if (against > 1) return;
    for (const { chosen, value, counts } of facets) {
      const isCounted = against === 0 || (chosen !== undefined && chosen !== value);
      if (isCounted) counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  });
  const rank = rankBy(query.order);
  return {
    total: rows.length,
    places: Uint32Array.from(places),
    ranks: rank === null ? null : Float64Array.from(places, (place) => rank(rows[place]) ?? Number.NEGATIVE_INFINITY),
    facets: sumCounts(facets.map(({ name, counts }) => ({ [name]: Object.fromEntries(counts) }))),
  };
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
  // Equal ranks stay in their order; two that are infinite have no difference.
  const order = new Uint32Array(count)
    .map((_, i) => i)
    .sort((a, b) => (ranks[a] === ranks[b] ? a - b : ranks[b] - ranks[a]));
  return { ...sums, parts: order.map((i) => parts[i]), places: order.map((i) => places[i]) };
}

/** What a query finds, in its order, with the counts of its facets. */
export interface FoundRollouts<Row extends SearchRow = SearchRow> {
  readonly total: number;
  readonly rows: readonly Row[];
  readonly facets: RolloutList['facets'];
}

export function findRollouts<Row extends SearchRow>(rows: readonly Row[], query: RolloutQuery): FoundRollouts<Row> {
  const { total, places, facets } = joinFound([findPart(rows, query)]);
  return { total, rows: Array.from(places, (place) => rows[place]), facets };
}

function matchOf(query: RolloutQuery): (row: SearchRow) => boolean {
  const { from, to } = query;
  const place = matcherOf(query);
  // Rollouts of a group follow each other and share their prompt.
  let last: { readonly prompt: string; readonly isFound: boolean } | null = null;
  const isInPrompt = (prompt: string): boolean => {
    if (last?.prompt !== prompt) last = { prompt, isFound: place !== null && place(prompt) >= 0 };
    return last.isFound;
  };
  return (row) =>
    (from === null || row.update >= from) &&
    (to === null || row.update <= to) &&
    (place === null || place(row.completion) >= 0 || isInPrompt(row.prompt));
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

/**
 * How far the gate and the grader disagree: the distance of the score from the middle of the cuts, on the wrong side, in
 * units of the distance between the cuts. Null where there are no cuts.
 */
export function surpriseOf({
  hack,
  score,
  low,
  high,
}: Pick<SearchRow, 'hack' | 'score' | 'low' | 'high'>): number | null {
  if (score === null || low === null || high === null) return null;
  const at = (score - (low + high) / 2) / (high - low || 1);
  return hack ? -at : at;
}

/** By what the rows of an order are sorted, the largest first; null: they stay as they are. */
function rankBy(order: RolloutOrder): ((row: SearchRow) => number | null) | null {
  if (order === 'update') return null;
  if (order === 'surprise') return surpriseOf;
  // The same order on every machine, which says nothing about the rollouts: the first of them are a fair sample.
  if (order === 'shuffled') return (row) => murmur3(`${row.run} ${row.id}`);
  return (row) => row[order];
}
