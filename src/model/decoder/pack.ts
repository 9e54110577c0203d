/**
 * Packing: rows of different lengths laid end to end, no padding. A group is one prompt and its completions; the prompt
 * is computed once and every completion sees it. Token t of a completion is predicted by the token before it, the first
 * one by the prompt's last. On request completions of a group that begin alike have their beginning computed once too.
 */
import { ShapeError, UserError } from '../../base/index.ts';
import { type Scope, type Segment, Segments, type Tensor, tokenIds } from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { TokenBatch, WantedTokens } from './decoder.ts';

export interface Group {
  readonly prompt: Int32Array;
  readonly completions: readonly Int32Array[];
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
  /** Whether the last states of a prompt's tokens are left out, but for the last two, on such a device: nobody asks for them. */
  readonly trim?: boolean;
}

export function packGroups(
  scope: Scope,
  config: DecoderConfig,
  groups: readonly Group[],
  { merge = false, trim = false }: PackOptions = {},
): PackedGroups {
  const ids: number[] = [];
  const positions: number[] = [];
  const laid: number[] = [];
  const segments: Segment[] = [];
  const prompts: Span[] = [];
  const completions: Span[] = [];
  const scored: Span[] = [];
  const predictors: number[] = [];
  const targets: number[] = [];

  /** Lays tokens down, the first of which are known already: the places of those that are. */
  const append = (tokens: Int32Array, from: number, prefix: Span, known: readonly number[] = []): Span => {
    const [start, queryStart] = [laid.length, ids.length];
    laid.push(...known);
    for (let t = known.length; t < tokens.length; t++) {
      laid.push(ids.length);
      ids.push(tokens[t]);
      positions.push(from + t);
    }
    const span = { start, end: laid.length };
    const [prefixStart, prefixEnd] = [prefix.start, prefix.end];
    segments.push({ queryStart, queryEnd: ids.length, prefixStart, prefixEnd, keyStart: start, keyEnd: span.end });
    return span;
  };

  const longest = longestMerged(scope, config);
  const ends = new Ends(trim ? longest : 0);
  groups.forEach(({ prompt, completions: rows }, g) => {
    if (prompt.length === 0)
      throw new ShapeError({ call: `pack group ${g}`, expected: 'a prompt', found: 'no tokens' });
    expectFits(config, prompt.length, `prompt of group ${g}`);
    prompts.push({ start: ids.length, end: ids.length + prompt.length });
    const promptSpan = append(prompt, 0, { start: 0, end: 0 });
    ends.addPrompt(segments[segments.length - 1]);
    const laidRows: { readonly row: Int32Array; readonly span: Span }[] = [];
    for (const row of rows) {
      expectFits(config, prompt.length + row.length, `completion of group ${g}`);
      const mergeable = merge && row.length >= 2 && row.length <= longest;
      const alike = mergeable ? findLongestBeginning(row, laidRows) : { start: 0, end: 0 };
      const span = append(row, prompt.length, promptSpan, laid.slice(alike.start, alike.end));
      ends.add(segments[segments.length - 1]);
      if (mergeable) laidRows.push({ row, span });
      completions.push(span);
      const first = targets.length;
      row.forEach((token, t) => {
        predictors.push(laid[t === 0 ? promptSpan.end - 1 : span.start + t - 1]);
        targets.push(token);
      });
      scored.push({ start: first, end: targets.length });
    }
  });

  const [total, places] = [ids.length, laid.length];
  const packedEnds = ends.rows.length === total ? null : ends.pack(scope, places);
  const placeOf = packedEnds === null ? null : new Map(ends.rows.map((row, place) => [row, place]));
  const last = predictors.map((token) => placeOf?.get(token) ?? token);
  return {
    batch: {
      ids: tokenIds(scope, Int32Array.from(ids), config.vocabSize),
      positions: scope.from(Int32Array.from(positions), [total], 'positions'),
      segments: new Segments(scope, segments, total, places),
    },
    tokens: total,
    laid: total === places ? null : scope.from(Int32Array.from(laid), [places], 'laid tokens'),
    prompts,
    ends: packedEnds,
    completions,
    scored,
    predictors: scope.from(Int32Array.from(last), [last.length], 'predictors'),
    targets: tokenIds(scope, Int32Array.from(targets), config.vocabSize),
  };
}

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

/** The longest beginning that a row has in common with one laid before. At least two tokens stay: a single query may differ in its bytes. */
function findLongestBeginning(
  row: Int32Array,
  before: readonly { readonly row: Int32Array; readonly span: Span }[],
): Span {
  let best: Span = { start: 0, end: 0 };
  for (const { row: other, span } of before) {
    const most = Math.min(row.length - 2, other.length);
    let count = 0;
    while (count < most && row[count] === other[count]) count++;
    if (count > best.end - best.start) best = { start: span.start, end: span.start + count };
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
