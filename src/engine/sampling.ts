/**
 * Drawing a token on the host: the definition of the `sample` kernel, used by every device whose memory the host sees.
 *
 * p = softmax(logits / temperature). In order of falling p (ties: the smaller id first) keep the first topK, then the fewest
 * whose sum reaches topP, then those with p ≥ minP · max p; the kept tokens, in order of id, share the unit interval by p.
 */
import { RandomStream, ShapeError } from '../base/index.ts';
import type { SampleOptions } from './kernels.ts';

export interface Draw {
  readonly token: number;
  /** log-probability among the kept tokens at the temperature; 0 when greedy. */
  readonly truncated: number;
  /** log-probability under softmax(logits). */
  readonly full: number;
}

/** Of the draw under way: a draw a row a step would else leave as many arrays outside of the heap, which are collected late. */
let scratch = new Float64Array(0);

export function drawToken(logits: Float32Array, uniform: number, options: SampleOptions): Draw {
  const { temperature } = options;
  const best = mostLikely(logits);
  const top = logits[best];
  const normaliser = top + Math.log(sumExp(logits, top));
  if (temperature === 0) return { token: best, truncated: 0, full: top - normaliser };
  const { topK } = options;
  // With a large vocabulary the exponentials take longest, and only those of the first topK are used.
  const kept = topK > 0 && topK < logits.length ? rankTop(logits, topK).sort((a, b) => a - b) : null;
  const size = kept?.length ?? logits.length;
  if (scratch.length !== size) scratch = new Float64Array(size);
  const weights = scratch;
  for (let i = 0; i < weights.length; i++) {
    weights[i] = Math.exp((logits[kept === null ? i : kept[i]] - top) / temperature);
  }
  truncate(weights, options, kept !== null);
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i];
  const place = tokenAt(weights, uniform * total);
  const token = kept === null ? place : kept[place];
  return { token, truncated: Math.log(weights[place] / total), full: logits[token] - normaliser };
}

/** The first token whose share of the interval ends beyond `place`. */
function tokenAt(weights: Float64Array, place: number): number {
  let rest = place;
  let last = 0;
  for (let id = 0; id < weights.length; id++) {
    if (weights[id] === 0) continue;
    rest -= weights[id];
    last = id;
    if (rest < 0) break;
  }
  return last;
}

/** Sets the weights of tokens that do not stay to 0. `weights` are proportional to p, the largest being 1; `few`: those of the first topK. */
function truncate(weights: Float64Array, { topP, minP }: SampleOptions, few: boolean): void {
  if (topP < 1) {
    const ranked = few ? rankTop(weights, weights.length) : rankLikely(weights, topP);
    const kept = ranked.slice(0, countToReach(weights, ranked, topP, few));
    const values = kept.map((id) => weights[id]);
    weights.fill(0);
    kept.forEach((id, rank) => {
      weights[id] = values[rank];
    });
  }
  if (minP <= 0) return;
  for (let id = 0; id < weights.length; id++) if (weights[id] < minP) weights[id] = 0;
}

/** The `count` heaviest tokens, heaviest first, of equal ones the smaller id: one pass, as `count` is small. */
function rankTop(weights: Float32Array | Float64Array, count: number): number[] {
  const ranked: number[] = [];
  for (let id = 0; id < weights.length; id++) {
    if (ranked.length === count && weights[id] <= weights[ranked[count - 1]]) continue;
    let place = ranked.length === count ? count - 1 : ranked.length;
    while (place > 0 && weights[ranked[place - 1]] < weights[id]) {
      ranked[place] = ranked[place - 1];
      place--;
    }
    ranked[place] = id;
  }
  return ranked;
}

/** Every token that may be needed to reach topP, heaviest first: those left out weigh less than 1 − topP together. */
function rankLikely(weights: Float64Array, topP: number): number[] {
  let total = 0;
  for (let id = 0; id < weights.length; id++) total += weights[id];
  const least = ((1 - topP) * total) / (2 * weights.length);
  const ids: number[] = [];
  for (let id = 0; id < weights.length; id++) if (weights[id] >= least) ids.push(id);
  return ids.sort((a, b) => weights[b] - weights[a] || a - b);
}

/** How many of the ranked tokens it takes to weigh topP of all (of the ranked ones, after topK). */
function countToReach(weights: Float64Array, ranked: readonly number[], topP: number, few: boolean): number {
  let all = 0;
  if (few) for (const id of ranked) all += weights[id];
  else for (let id = 0; id < weights.length; id++) all += weights[id];
  let sum = 0;
  const last = ranked.findIndex((id) => {
    sum += weights[id];
    return sum >= topP * all;
  });
  return last < 0 ? ranked.length : last + 1;
}

function mostLikely(logits: Float32Array): number {
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  return best;
}

function sumExp(logits: Float32Array, top: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id] - top);
  return sum;
}

export interface SampleArrays {
  readonly ids: Int32Array;
  readonly tokens: Int32Array;
  readonly logps: Float32Array;
  readonly logits: Float32Array;
  readonly slots: Int32Array;
  readonly rows: Int32Array;
  readonly counts: Int32Array;
  /** Key and step of each row, in place of those of the options. */
  readonly streams?: Int32Array;
}

export function sampleRows(arrays: SampleArrays, length: number, options: SampleOptions): void {
  const { ids, tokens, logps, logits, slots, rows, counts, streams } = arrays;
  const vocabulary = ids.length === 0 ? 0 : logits.length / ids.length;
  for (let b = 0; b < ids.length; b++) {
    const row = logits.subarray(b * vocabulary, (b + 1) * vocabulary);
    const key = streams === undefined ? options.key : ([streams[3 * b], streams[3 * b + 1]] as const);
    const step = streams?.[3 * b + 2] ?? options.step;
    const uniform = new RandomStream(key, step, rows[b]).uniformAt(counts[b]);
    const { token, truncated, full } = drawToken(row, uniform, options);
    if (!Number.isFinite(full)) {
      throw new ShapeError({ call: `sample row ${rows[b]}`, expected: 'finite logits', found: 'NaN or infinite ones' });
    }
    const at = slots[b] * length + counts[b];
    ids[b] = token;
    tokens[at] = token;
    logps[2 * at] = truncated;
    logps[2 * at + 1] = full;
  }
}
