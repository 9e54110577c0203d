/**
 * Packing: rows of different lengths laid end to end, no padding. A group is one prompt and its completions; the prompt
 * is computed once and every completion sees it. Token t of a completion is predicted by the token before it, the first
 * one by the prompt's last; a completion's last token predicts nothing. On request completions of a group that begin alike have their
 * beginning computed once too, and what nobody asks for is left out.
 */
import { ShapeError, UserError } from '../../base/index.ts';
import { type Scope, type Segment, Segments, type SharedRows, type Tensor, tokenIds } from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { TokenBatch, WantedTokens } from './decoder.ts';

export interface Group {
  readonly prompt: Int32Array;
  readonly completions: readonly Int32Array[];
  /** A number for each completion, the same for those that have the same gradients in a pass that learns; default: all differ. */
  readonly alike?: readonly number[];
  /** Equal tokens of groups of one kind go through the same projection in the same way; without a kind nothing is known of them. */
  readonly kind?: string;
}

/** A run of packed tokens [start, end). */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface PackedGroups {
  /** The tokens that are computed, and how many they are. */
  readonly batch: TokenBatch;
  readonly tokens: number;
  /** The computed token at each place of the layout, i32 [places], where completions share some; null where every place has its own. */
  readonly laid: Tensor | null;
  /** Where each group's prompt lies among the computed tokens. */
  readonly prompts: readonly Span[];
  /** The tokens whose last states are computed, where not all are; predictors are counted among them. */
  readonly ends: PackedEnds | null;
  /** Where every token has its place but only some are computed: which those are, and which of them beyond attention in the last layer. */
  readonly shared: { readonly rows: SharedRows; readonly ends: SharedRows } | null;
  /** The computed tokens by kind and id, where groups have kinds and that makes them few. */
  readonly starts: SharedRows | null;
  /** Spans of all completions in the layout, in order of groups, then of completions. */
  readonly completions: readonly Span[];
  /** Where each completion's log-probabilities lie among the scored tokens. */
  readonly scored: readonly Span[];
  /** Index of the token that predicts each scored token, and the scored token's id, i32 [N] each. */
  readonly predictors: Tensor;
  readonly targets: Tensor;
}

/** Tokens of packed groups that go through all of the last layer, and where each prompt's lie among them. */
export interface PackedEnds extends WantedTokens {
  readonly tokens: number;
  readonly prompts: readonly Span[];
}

export interface PackOptions {
  /** Whether beginnings that completions of a group share are computed once, where the device's rows are independent. */
  readonly merge?: boolean;
  /**
   * Whether the last states of a prompt's tokens are left out, but for the last two, and the last token of a completion, on such a
   * device: nobody asks for them.
   */
  readonly trim?: boolean;
  /** Whether every token has its place all the same, as a pass that learns needs it: `shared` says what is computed. */
  readonly share?: boolean;
}

export function packGroups(
  scope: Scope,
  config: DecoderConfig,
  groups: readonly Group[],
  { merge = false, trim = false, share = false }: PackOptions = {},
): PackedGroups {
  const longest = longestMerged(scope, config);
  const { ids, positions, laid, segments, ends, predictors, kinds, ...layout } = layGroups(config, groups, longest, {
    merge: merge && !share,
    trim: trim && !share,
  });
  const [total, places] = [ids.length, laid.length];
  const packedEnds = ends.rows.length === total ? null : ends.pack(scope, places);
  const placeOf = packedEnds === null ? null : new Map(ends.rows.map((row, place) => [row, place]));
  const last = predictors.map((token) => placeOf?.get(token) ?? token);
  return {
    batch: {
      ids: tokenIds(scope, Int32Array.from(ids), config.vocabSize),
      positions: ints(scope, positions, 'positions'),
      segments: new Segments(scope, segments, total, places),
    },
    tokens: total,
    laid: total === places ? null : ints(scope, laid, 'laid tokens'),
    prompts: layout.prompts,
    ends: packedEnds,
    shared:
      share && longest > 0
        ? shareRows(scope, groups, layGroups(config, groups, longest, { merge: true, trim: true }))
        : null,
    starts: longest > 0 ? shareStarts(scope, ids, kinds) : null,
    completions: layout.completions,
    scored: layout.scored,
    predictors: ints(scope, last, 'predictors'),
    targets: tokenIds(scope, Int32Array.from(layout.targets), config.vocabSize),
  };
}

const ints = (scope: Scope, values: readonly number[], label: string): Tensor =>
  scope.from(Int32Array.from(values), [values.length], label);

type Layout = ReturnType<typeof layGroups>;

function layGroups(
  config: DecoderConfig,
  groups: readonly Group[],
  longest: number,
  { merge, trim }: { readonly merge: boolean; readonly trim: boolean },
) {
  const ids: number[] = [];
  const kinds: (string | undefined)[] = [];
  const positions: number[] = [];
  const laid: number[] = [];
  const segments: Segment[] = [];
  const prompts: Span[] = [];
  const completions: Span[] = [];
  const scored: Span[] = [];
  const predictors: number[] = [];
  const targets: number[] = [];

  /** Lays tokens down, of which those before `known.length` and from `end` on are not computed; the latter get what the one before them has. */
  const append = (tokens: Int32Array, from: number, prefix: Span, known: readonly number[], end: number): Segment => {
    const [start, queryStart] = [laid.length, ids.length];
    laid.push(...known);
    for (let t = known.length; t < end; t++) {
      laid.push(ids.length);
      ids.push(tokens[t]);
      positions.push(from + t);
    }
    while (laid.length < start + tokens.length) laid.push(laid[laid.length - 1]);
    const [prefixStart, prefixEnd] = [prefix.start, prefix.end];
    const segment = { queryStart, queryEnd: ids.length, prefixStart, prefixEnd, keyStart: start, keyEnd: start + end };
    segments.push(segment);
    return segment;
  };

  const ends = new Ends(trim ? longest : 0);
  groups.forEach(({ prompt, completions: rows, kind }, g) => {
    if (prompt.length === 0)
      throw new ShapeError({ call: `pack group ${g}`, expected: 'a prompt', found: 'no tokens' });
    expectFits(config, prompt.length, `prompt of group ${g}`);
    prompts.push({ start: ids.length, end: ids.length + prompt.length });
    const promptSpan = { start: laid.length, end: laid.length + prompt.length };
    ends.addPrompt(append(prompt, 0, { start: 0, end: 0 }, [], prompt.length));
    const laidRows: { readonly row: Int32Array; readonly start: number }[] = [];
    for (const row of rows) {
      expectFits(config, prompt.length + row.length, `completion of group ${g}`);
      const span = { start: laid.length, end: laid.length + row.length };
      const read = trim && row.length > 2 && row.length <= longest ? row.subarray(0, row.length - 1) : row;
      const mergeable = merge && read.length >= 2 && read.length <= longest;
      const alike = mergeable ? findLongestBeginning(read, laidRows) : { start: 0, end: 0 };
      ends.add(append(row, prompt.length, promptSpan, laid.slice(alike.start, alike.end), read.length));
      if (mergeable) laidRows.push({ row: read, start: span.start });
      completions.push(span);
      const first = targets.length;
      row.forEach((token, t) => {
        predictors.push(laid[t === 0 ? promptSpan.end - 1 : span.start + t - 1]);
        targets.push(token);
      });
      scored.push({ start: first, end: targets.length });
    }
    while (kinds.length < ids.length) kinds.push(kind);
  });
  return { ids, kinds, positions, laid, segments, prompts, completions, scored, predictors, targets, ends };
}

/** Most of the tokens that may be computed for the sharing of their results to pay. */
const fewEnough = 0.9;

function shareStarts(scope: Scope, ids: readonly number[], kinds: readonly (string | undefined)[]): SharedRows | null {
  const distinct = [...new Set(kinds)];
  if (distinct.includes(undefined)) return null;
  const starts = findEqual(ids.map((id, token) => id * distinct.length + distinct.indexOf(kinds[token])));
  return starts.first.length > fewEnough * ids.length ? null : placesIn(scope, starts);
}

/** What a layout that leaves tokens out computes, for places that all have a token of their own. */
function shareRows(
  scope: Scope,
  groups: readonly Group[],
  { ids, laid, segments, predictors, completions }: Layout,
): PackedGroups['shared'] {
  if (ids.length > fewEnough * laid.length) return null;
  const asked = findEqual(predictors);
  const rowOf = new Int32Array(ids.length).fill(-1);
  for (const [i, row] of asked.of.entries()) rowOf[predictors[i]] = row;
  const { first: places } = findEqual(laid);
  // The last token of a completion that was left out lies at a place that is not the first of its row: no gradient comes back to it.
  const silent = new Set(
    completions.flatMap(({ start, end }) => (end - start > 1 && laid[end - 1] === laid[end - 2] ? [end - 1] : [])),
  );
  const sources = equalCompletions(groups, completions, laid.length);
  const gradients = (isSilent: (place: number) => boolean) =>
    placesIn(scope, findEqual(sources.map((source, place) => (isSilent(place) ? -1 : source))));
  return {
    rows: {
      first: ints(scope, places, 'computed tokens'),
      of: ints(scope, laid, 'laid tokens'),
      segments: new Segments(scope, segments, ids.length, laid.length),
      gradients: gradients((place) => silent.has(place)),
    },
    // A token that predicts nothing gets what another has, and no gradient comes back to it either.
    ends: {
      first: ints(
        scope,
        asked.first.map((i) => places[predictors[i]]),
        'predicting tokens',
      ),
      of: ints(
        scope,
        laid.map((token) => Math.max(0, rowOf[token])),
        'laid tokens that predict',
      ),
      gradients: gradients((place) => silent.has(place) || rowOf[laid[place]] < 0),
    },
  };
}

/** For each place the first that has the same gradient: that of the same token in a completion that is alike. */
function equalCompletions(groups: readonly Group[], completions: readonly Span[], places: number): number[] {
  const sources = Array.from({ length: places }, (_, place) => place);
  let next = 0;
  for (const { completions: rows, alike } of groups) {
    const firsts = new Map<number, Span>();
    rows.forEach((_, i) => {
      const { start, end } = completions[next++];
      const first = firsts.get(alike?.[i] ?? -1);
      if (alike === undefined) return;
      if (first === undefined) firsts.set(alike[i], { start, end });
      else for (let place = start; place < end; place++) sources[place] = first.start + place - start;
    });
  }
  return sources;
}

/** The first place of each distinct key, and which of the distinct ones each place has. */
function findEqual(keys: readonly number[]): { readonly first: readonly number[]; readonly of: readonly number[] } {
  const rowOf = new Map<number, number>();
  const first: number[] = [];
  const of = keys.map((key, place) => {
    const known = rowOf.get(key);
    if (known !== undefined) return known;
    rowOf.set(key, first.length);
    return first.push(place) - 1;
  });
  return { first, of };
}

const placesIn = (scope: Scope, { first, of }: ReturnType<typeof findEqual>): SharedRows => ({
  first: ints(scope, first, 'distinct places'),
  of: ints(scope, of, 'distinct place of each'),
});

/** Collects the tokens whose last states are wanted; of prompts no longer than `longest` these are the last two. */
class Ends {
  readonly rows: number[] = [];
  readonly #longest: number;
  readonly #segments: Segment[] = [];
  readonly #prompts: Span[] = [];

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** A single query may differ in its bytes from one in company: a prompt of two tokens or more keeps two. */
  addPrompt(segment: Segment): void {
    const length = segment.queryEnd - segment.queryStart;
    const kept = length <= this.#longest ? Math.min(2, length) : length;
    this.#prompts.push({ start: this.rows.length, end: this.rows.length + kept });
    this.add({ ...segment, queryStart: segment.queryEnd - kept });
  }

  add(segment: Segment): void {
    const queryStart = this.rows.length;
    for (let row = segment.queryStart; row < segment.queryEnd; row++) this.rows.push(row);
    this.#segments.push({ ...segment, queryStart, queryEnd: this.rows.length });
  }

  pack(scope: Scope, keys: number): PackedEnds {
    const tokens = this.rows.length;
    const rows = scope.from(Int32Array.from(this.rows), [tokens], 'wanted tokens');
    return { rows, segments: new Segments(scope, this.#segments, tokens, keys), tokens, prompts: this.#prompts };
  }
}

/** Longest row that may be computed in part; 0 for none. */
function longestMerged({ device }: Scope, { heads, kvHeads }: DecoderConfig): number {
  return Math.floor(((device.independentRows ?? 0) * kvHeads) / heads);
}

/**
 * The longest beginning that a row has in common with one laid before: the whole row, or all but two tokens at most, for a single query
 * may differ in its bytes.
 */
function findLongestBeginning(
  row: Int32Array,
  before: readonly { readonly row: Int32Array; readonly start: number }[],
): Span {
  let best: Span = { start: 0, end: 0 };
  for (const { row: other, start } of before) {
    const alike = row.findIndex((token, t) => token !== other[t]);
    const count = alike < 0 ? row.length : Math.min(alike, row.length - 2);
    if (count > best.end - best.start) best = { start, end: start + count };
  }
  return best;
}

/** Packs whole rows, each attending to itself. */
export function packRows(scope: Scope, config: DecoderConfig, rows: readonly Int32Array[]): TokenBatch {
  return packGroups(
    scope,
    config,
    rows.map((prompt) => ({ prompt, completions: [] })),
  ).batch;
}

export function expectFits({ maxPositions }: DecoderConfig, tokens: number, what: string): void {
  if (tokens <= maxPositions) return;
  throw new UserError({
    call: what,
    expected: `at most ${maxPositions} tokens (the model's context)`,
    found: `${tokens}`,
    fix: 'Shorten the prompt or lower the number of new tokens.',
  });
}
