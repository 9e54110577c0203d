/**
 * Packing: rows of different lengths laid end to end, no padding. A group is one prompt and its completions; the prompt
 * is computed once and every completion sees it. Token t of a completion is predicted by the token before it, the first
 * one by the prompt's last.
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
  readonly batch: TokenBatch;
  readonly tokens: number;
  /** Where each group's prompt and completions lie among the packed tokens. */
  readonly prompts: readonly Span[];
  /** Spans of all completions, in order of groups, then of completions. */
  readonly completions: readonly Span[];
  /** Where each completion's log-probabilities lie among the scored tokens. */
  readonly scored: readonly Span[];
  /** Index of the packed token that predicts each scored token, and the scored token's id, i32 [N] each. */
  readonly predictors: Tensor;
  readonly targets: Tensor;
}

export function packGroups(scope: Scope, config: DecoderConfig, groups: readonly Group[]): PackedGroups {
  const ids: number[] = [];
  const positions: number[] = [];
  const segments: Segment[] = [];
  const prompts: Span[] = [];
  const completions: Span[] = [];
  const scored: Span[] = [];
  const predictors: number[] = [];
  const targets: number[] = [];

  const append = (tokens: Int32Array, from: number, prefix: Span): Span => {
    const start = ids.length;
    tokens.forEach((token, t) => {
      ids.push(token);
      positions.push(from + t);
    });
    const end = ids.length;
    segments.push({
      queryStart: start,
      queryEnd: end,
      prefixStart: prefix.start,
      prefixEnd: prefix.end,
      keyStart: start,
      keyEnd: end,
    });
    return { start, end };
  };

  groups.forEach(({ prompt, completions: rows }, g) => {
    if (prompt.length === 0)
      throw new ShapeError({ call: `pack group ${g}`, expected: 'a prompt', found: 'no tokens' });
    expectFits(config, prompt.length, `prompt of group ${g}`);
    const promptSpan = append(prompt, 0, { start: 0, end: 0 });
    prompts.push(promptSpan);
    for (const row of rows) {
      expectFits(config, prompt.length + row.length, `completion of group ${g}`);
      const span = append(row, prompt.length, promptSpan);
      completions.push(span);
      const first = targets.length;
      row.forEach((token, t) => {
        predictors.push(t === 0 ? promptSpan.end - 1 : span.start + t - 1);
        targets.push(token);
      });
      scored.push({ start: first, end: targets.length });
    }
  });

  const total = ids.length;
  return {
    batch: {
      ids: tokenIds(scope, Int32Array.from(ids), config.vocabSize),
      positions: scope.from(Int32Array.from(positions), [total], 'positions'),
      segments: new Segments(scope, segments, total, total),
    },
    tokens: total,
    prompts,
    completions,
    scored,
    predictors: scope.from(Int32Array.from(predictors), [predictors.length], 'predictors'),
    targets: tokenIds(scope, Int32Array.from(targets), config.vocabSize),
  };
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
