/**
 * Searches rollouts: text or a regular expression, facets, order, pages. The same code answers in the server, in a page without one,
 * and in the terminal. A query is written as parameters of an address, so every search is a link.
 */
import { murmur3, UserError } from '../base/index.ts';
import type { LedgerRow, ListedRollout, RolloutList } from './api.ts';

/** Facets: a value of a row as text, by which rows are chosen and counted. */
const facetValues: Readonly<Record<string, (row: LedgerRow) => string>> = {
  truth: truthOf,
  route: ({ route }) => route ?? 'none',
  loophole: ({ loophole, hackable }) => (hackable ? loophole : 'no hint'),
  advantage: ({ advantage }) => (advantage > 0 ? 'above 0' : advantage < 0 ? 'below 0' : '0'),
  source: ({ source }) => source,
  sampled: ({ sampled }) => sampled,
  truncated: ({ truncated }) => (truncated ? 'yes' : 'no'),
  run: ({ run }) => run,
};

/** What became of a rollout, by the grader's verdict. */
export function truthOf({ hack, solve }: Pick<LedgerRow, 'hack' | 'solve'>): 'hack' | 'solve' | 'neither' {
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

/** Finds a text, or what a pattern matches, regardless of case; null: every text matches, at no place. */
function matcherOf({ text, isPattern }: RolloutQuery): ((content: string) => number) | null {
  if (text === '') return null;
  if (!isPattern) {
    const wanted = text.toLowerCase();
    return (content) => content.toLowerCase().indexOf(wanted);
  }
  try {
    const pattern = new RegExp(text, 'im');
    return (content) => content.search(pattern);
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new UserError({ call: 'rollouts, text', expected: 'a regular expression', found }, { cause });
  }
}

/** The rows that a query finds, in its order, whole. */
export function findRollouts(rows: readonly LedgerRow[], query: RolloutQuery): LedgerRow[] {
  const chosen = Object.entries(query.facets);
  const found = matching(rows, query).filter((row) =>
    chosen.every(([name, value]) => facetValues[name](row) === value),
  );
  return inOrder(found, query.order);
}

function matching(rows: readonly LedgerRow[], query: RolloutQuery): LedgerRow[] {
  const { from, to } = query;
  const place = matcherOf(query);
  return rows.filter(
    (row) =>
      (from === null || row.update >= from) &&
      (to === null || row.update <= to) &&
      (place === null || place(row.completion) >= 0 || place(row.prompt) >= 0),
  );
}

export function listRollouts(rows: readonly LedgerRow[], query: RolloutQuery): RolloutList {
  const matched = matching(rows, query);
  const found = findRollouts(matched, { ...query, text: '' });
  const place = matcherOf(query);
  const page = found.slice(query.offset, query.offset + query.limit);
  const facets = facetNames.map((name): [string, Record<string, number>] => {
    const others = Object.entries(query.facets).filter(([other]) => other !== name);
    const left = matched.filter((row) => others.every(([other, value]) => facetValues[other](row) === value));
    return [name, countBy(left, facetValues[name])];
  });
  return {
    total: rows.length,
    found: found.length,
    offset: query.offset,
    rows: page.map((row) => listed(row, place)),
    facets: Object.fromEntries(facets),
  };
}

function countBy(rows: readonly LedgerRow[], facet: (row: LedgerRow) => string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const value = facet(row);
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([, a], [, b]) => b - a));
}

const excerptLength = 160;

function listed(row: LedgerRow, place: ((content: string) => number) | null): ListedRollout {
  const {
    prompt: _prompt,
    completion,
    tokenIds: _i,
    tokenLogps: _l,
    tokenRoutes: _r,
    tokenScores: _s,
    evidence: _e,
    ...rest
  } = row;
  const start = Math.max(0, (place?.(completion) ?? 0) - 40);
  return { ...rest, excerpt: completion.slice(start, start + excerptLength).replace(/\s+/g, ' ') };
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
}: Pick<LedgerRow, 'hack' | 'score' | 'low' | 'high'>): number | null {
  if (score === null || low === null || high === null) return null;
  const at = (score - (low + high) / 2) / (high - low || 1);
  return hack ? -at : at;
}

function inOrder(rows: readonly LedgerRow[], order: RolloutOrder): LedgerRow[] {
  if (order === 'update') return [...rows];
  const rank = (row: LedgerRow): number | null => {
    if (order === 'surprise') return surpriseOf(row);
    // The same order on every machine, which says nothing about the rollouts: the first of them are a fair sample.
    return order === 'shuffled' ? murmur3(`${row.run} ${row.id}`) : row[order];
  };
  return rows
    .map((row) => ({ row, value: rank(row) ?? Number.NEGATIVE_INFINITY }))
    .sort((a, b) => b.value - a.value)
    .map(({ row }) => row);
}
