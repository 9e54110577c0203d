/**
 * Packing: rows of different lengths laid end to end, no padding. A group is one prompt and its completions; the prompt
 * is computed once and every completion sees it. Token t of a completion is predicted by the token before it, the first
 * one by the prompt's last. On request completions of a group that begin alike have their beginning computed once too.
 */
import { ShapeError, UserError } from '../../base/index.ts';
import { type Scope, type Segment, Segments, type Tensor, tokenIds } from '../../engine/index.ts';
import type { DecoderConfig } from '../files/config.ts';
import type { TokenBatch } from './decoder.ts';

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
  /** Spans of all completions in the layout, in order of groups, then of completions. */
  readonly completions: readonly Span[];
  /** Where each completion's log-probabilities lie among the scored tokens. */
  readonly scored: readonly Span[];
  /** Index of the computed token that predicts each scored token, and the scored token's id, i32 [N] each. */
  readonly predictors: Tensor;
  readonly targets: Tensor;
}

export interface PackOptions {
  /** Whether beginnings that completions of a group share are computed once, where the device's rows are independent. */
  readonly merge?: boolean;
}

export function packGroups(
  scope: Scope,
  config: DecoderConfig,
  groups: readonly Group[],
  { merge = false }: PackOptions = {},
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

  const longest = merge ? longestMerged(scope, config) : 0;
  groups.forEach(({ prompt, completions: rows }, g) => {
    if (prompt.length === 0)
      throw new ShapeError({ call: `pack group ${g}`, expected: 'a prompt', found: 'no tokens' });
    expectFits(config, prompt.length, `prompt of group ${g}`);
    prompts.push({ start: ids.length, end: ids.length + prompt.length });
    const promptSpan = append(prompt, 0, { start: 0, end: 0 });
    const laidRows: { readonly row: Int32Array; readonly span: Span }[] = [];
    for (const row of rows) {
      expectFits(config, prompt.length + row.length, `completion of group ${g}`);
      const mergeable = row.length >= 2 && row.length <= longest;
      const alike = mergeable ? findLongestBeginning(row, laidRows) : { start: 0, end: 0 };
      const span = append(row, prompt.length, promptSpan, laid.slice(alike.start, alike.end));
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
  return {
    batch: {
      ids: tokenIds(scope, Int32Array.from(ids), config.vocabSize),
      positions: scope.from(Int32Array.from(positions), [total], 'positions'),
      segments: new Segments(scope, segments, total, places),
    },
    tokens: total,
    laid: total === places ? null : scope.from(Int32Array.from(laid), [places], 'laid tokens'),
    prompts,
    completions,
    scored,
    predictors: scope.from(Int32Array.from(predictors), [predictors.length], 'predictors'),
    targets: tokenIds(scope, Int32Array.from(targets), config.vocabSize),
  };
}

/** Longest completion that may be computed in part; 0 for none. */
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
